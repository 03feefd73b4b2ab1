//! What can be set, or said by the application, so that a request is answered from the store the next time.

#[cfg(test)]
mod tests;

use crate::admin::{Answer, Judged};

const SETTLE_COOKIES: (&str, &str) = (
    "`bypass.cookies = [\"session\"]`, with the names that make an answer one user's, or `key.drop_cookies = true`",
    "before-a-graphql-api.md#before-a-graphql-api",
);

const GIVE_LIFETIME: (&str, &str) = (
    "`ttl = \"1m\"`, or by status `ttl = { \"404\" = \"10s\" }`, only if everybody may get the same: where signed-in users get \
                 pages of their own, with `bypass.cookies = [\"session\"]`",
    "storing.md#lifetime",
);

/// What changes a reason for asking the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The cookie is removed from what is stored.
    StripCookie,
    /// The site says what cookies mean.
    SettleCookies,
    /// The site gives a lifetime, where the application gives none.
    GiveLifetime,
    /// The site gives a lifetime whatever the application says.
    ForceLifetime,
    /// One or the other: it is not known whether the application says anything.
    GiveOrForceLifetime,
    /// The site gives a lifetime to this status.
    NameStatus,
    /// The site gives a lifetime to errors.
    KeepErrors,
    /// The application says that everybody may get the answer.
    SayPublic,
    /// The application says what the answer varies by.
    NameVarying,
    /// Larger bodies are stored.
    StoreLarger,
    /// A stale answer is sent meanwhile.
    SendStale,
    /// Clients do not force a fetch.
    IgnoreClients,
    /// The route stores.
    Store,
    /// Fewer cookies bypass the store.
    PassCookies,
    /// Fewer header fields do.
    PassHeaders,
    /// Fewer paths do.
    PassPaths,
    /// Fewer parameters of the query do.
    PassQuery,
    /// Fewer methods do.
    PassMethods,
}

impl Remedy {
    /// Returns what changes the reason why the request is not answered from the store now.
    pub(super) fn now(answer: &Answer) -> Option<Self> {
        let detail = answer.detail.as_deref()?;
        Some(match (answer.why.as_str(), detail) {
            ("bypass", "route") => Self::Store,
            ("bypass", "cookie") => Self::PassCookies,
            ("bypass", "header") => Self::PassHeaders,
            ("bypass", "path") => Self::PassPaths,
            ("bypass", "query") => Self::PassQuery,
            ("bypass", "method") => Self::PassMethods,
            ("stale" | "request", "request-no-cache" | "request-age") => Self::IgnoreClients,
            ("stale" | "request", "no-cache") => Self::ForceLifetime,
            ("stale", "expired") => return never_fresh(selected(answer)?),
            _ => return None,
        })
    }

    /// Returns what changes the reason, by its token, why the last answer was not stored.
    pub(super) fn last(why: &str) -> Option<Self> {
        Some(match why {
            "set-cookie" => Self::StripCookie,
            "cookies" => Self::SettleCookies,
            "no-freshness" => Self::GiveOrForceLifetime,
            "no-store" | "private" => Self::ForceLifetime,
            "status" => Self::NameStatus,
            "failed" => Self::KeepErrors,
            "authorization" => Self::SayPublic,
            "vary-star" => Self::NameVarying,
            "too-large" => Self::StoreLarger,
            _ => return None,
        })
    }

    /// Returns what lets requests wait for each other again, where no other remedy does: answers that are past their
    /// lifetime when they come are of use to none that waits.
    pub(super) fn apart(answer: &Answer) -> Option<Self> {
        let selected = selected(answer)?;
        let is_late = answer.hit_for_miss
            && answer.not_stored.is_none()
            && answer.detail.as_deref() == Some("expired")
            && selected.lifetime > 0.0;
        is_late.then_some(Self::SendStale)
    }

    /// Returns the sentence about it.
    pub(super) fn sentence(self) -> String {
        let (what, page) = self.words();
        let of_preset = match self {
            Self::PassCookies | Self::PassHeaders | Self::PassPaths | Self::PassQuery => {
                "; those of a preset only in its plain configuration, which `larder check --explain` prints"
            }
            _ => "",
        };
        format!("To change this: {what}{of_preset} (docs/{page}).")
    }

    /// What to write, and the page that tells more.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::StripCookie => (
                "`set_cookie = \"strip\"`, if nobody needs the cookie and `bypass.sets` does not name it",
                "storing.md#cookies-and-authorization",
            ),
            Self::SettleCookies => SETTLE_COOKIES,
            Self::GiveLifetime => GIVE_LIFETIME,
            Self::ForceLifetime => (
                "`ttl = \"1m\"` with `ttl_mode = \"override\"`, only if everybody may get the same",
                "storing.md#lifetime",
            ),
            Self::GiveOrForceLifetime => (
                "`ttl = \"1m\"`, or by status `ttl = { \"404\" = \"10s\" }`, with `bypass.cookies = [\"session\"]` where signed-in users get \
                 pages of their own; where the application says `no-cache` or \
                 `max-age=0`, with `ttl_mode = \"override\"`, only if everybody may get the same; a path that ends as a file's needs the \
                 `Content-Type` of one",
                "storing.md#lifetime",
            ),
            Self::NameStatus => (
                "the status by its number, as in `ttl = { \"400\" = \"5s\" }` (416, 426, 428, 429, 431 and 511 are never stored)",
                "storing.md#stale-answers",
            ),
            Self::KeepErrors => (
                "`ttl = { \"5xx\" = \"1s\" }`, to spare the application",
                "storing.md#stale-answers",
            ),
            Self::SayPublic => (
                "no setting does; the application can say `Cache-Control: public`, if everybody may get the same",
                "storing.md#cookies-and-authorization",
            ),
            Self::NameVarying => (
                "no setting does; the application can name in `Vary` the header fields of the request that it reads",
                "storing.md#variants",
            ),
            Self::StoreLarger => (
                "`largest_body = \"256MiB\"`, beside a `[disk]` or a `memory.size` that can hold it",
                "disk.md#what-is-kept-there",
            ),
            Self::SendStale => (
                "`stale.while_revalidate = \"10s\"`, if it takes longer to make than it lasts",
                "storing.md#lifetime",
            ),
            Self::IgnoreClients => (
                "`client_may_force = false`, for all clients but those that may purge",
                "storing.md#requests",
            ),
            Self::Store => ("`cache = true` on its route", "configuration.md#defaults"),
            Self::PassCookies => (
                "fewer names in `bypass.cookies` or `bypass.misses_with`",
                "storing.md#cookies-and-authorization",
            ),
            Self::PassHeaders => ("fewer names in `bypass.headers`", BYPASS),
            Self::PassPaths => ("fewer patterns in `bypass.paths`", BYPASS),
            Self::PassQuery => ("fewer names in `bypass.query`", BYPASS),
            Self::PassMethods => ("fewer names in `bypass.methods`", BYPASS),
        }
    }
}

/// The page about `bypass`.
const BYPASS: &str = "configuration.md#defaultsbypass";

fn selected(answer: &Answer) -> Option<&Judged> {
    answer.stored.iter().find(|stored| stored.selected)
}

/// Returns what gives a lifetime to a response that had none when it came.
fn never_fresh(stored: &Judged) -> Option<Remedy> {
    match stored.source.as_str() {
        _ if stored.lifetime > 0.0 => None,
        "soft-purge" | "clock-set-back" => None,
        "none" => Some(Remedy::GiveLifetime),
        _ => Some(Remedy::ForceLifetime),
    }
}
