//! How existing clients ask a cache to purge: one model for many wire formats.
//!
//! [`recognise`] reads a request's head. The request is for the application ([`Spoken::Nothing`]), is a [`Command`], or
//! needs its content to be read ([`Spoken::Content`]). A command names what to purge in the client's terms. [`resolve`]
//! turns them into purges of this site, and [`answer`] reports the result in the form that the client expects.
//!
//! | module | serves |
//! |---|---|
//! | [`varnish`] | clients for Varnish, nginx's `cache_purge`, Symfony's cache: `PURGE`, `BAN`, `PURGEKEYS`, `PURGETAGS` |
//! | [`fos`] | `FOSHttpCache`'s bans by several expressions |
//! | [`api`] | clients of the APIs of Fastly, Cloudflare and Souin |
//! | [`expression`], [`mod@tag_set`] | regular expressions, and the sets of tags they mean |

pub mod answer;
pub mod api;
mod expression;
mod fos;
pub mod resolve;
mod tag_set;
mod varnish;

use crate::{
    policy::{PurgePolicy, Unadmitted},
    target::Target,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header, header::AsHeaderName};
use rules::{key, surrogate};
use std::{borrow::Cow, net::IpAddr};
use store::purge::BadPattern;

pub use tag_set::tag_set;

/// What a client wants purged, and the form in which it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What to purge: all of it, or nothing.
    pub wishes: Vec<Wish>,
    /// Makes responses stale from now on instead of gone.
    pub soft: bool,
    /// The form of the answer.
    pub dialect: Dialect,
}

/// What to purge, in the terms of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// One URL with all its variants.
    Url {
        /// With or without a port, as it came.
        host: String,
        /// Path and query.
        target: String,
    },
    /// Everything on a host whose path and query begin so.
    Prefix {
        /// As in `Url`.
        host: String,
        /// The beginning of path and query.
        path: String,
    },
    /// Everything on a host whose path and query an expression matches.
    Expression {
        /// As in `Url`.
        host: String,
        /// The expression.
        target: String,
        /// Whether the client says that it is an expression. If not, and it is not a valid one, only the place that is
        /// purged with it counts.
        is_said: bool,
    },
    /// One host.
    Host(String),
    /// Everything that carries one of these tags.
    Tags(Vec<String>),
    /// Everything that all of the given expressions match.
    Matching(Box<Matching>),
    /// Everything.
    Everything,
}

/// Regular expressions; `None`: anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// Matched with the host.
    pub host: Option<String>,
    /// Matched with path and query.
    pub target: Option<String>,
    /// Matched with `Content-Type`.
    pub content_type: Option<String>,
    /// Matched with the tags, joined by commas.
    pub tags: Option<String>,
    /// Matched with the name that Souin would give it.
    pub souin: Option<String>,
    /// Matched with the pool of servers that it came from.
    pub pool: Option<String>,
}

/// The form in which a client is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A status and a line of text, for clients that need no more.
    Plain,
    /// Varnish's xkey: `Purged N objects, expired M objects`.
    Xkey,
    /// Magento's extensions: `{"invalidated": N}`.
    Magento,
    /// Fastly's API: `{"status": "ok"}`.
    Fastly,
    /// Cloudflare's API, for this zone: `{"success": true, …}`.
    Cloudflare(String),
    /// Souin's API: 204.
    Souin,
}

/// The kind of purge, in the terms of `Cache-Purge-Result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// URLs.
    Exact,
    /// Tags.
    Tags,
    /// Prefixes, expressions, hosts.
    Wildcard,
    /// Everything.
    All,
}

impl Operation {
    /// Returns the word for the field.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Tags => "tags",
            Self::Wildcard => "wildcard",
            Self::All => "all",
        }
    }
}

impl Command {
    /// Returns the kind of purge; of several kinds, the widest.
    pub fn operation(&self) -> Operation {
        let kinds = self.wishes.iter().map(|wish| match wish {
            Wish::Url { .. } => Operation::Exact,
            Wish::Tags(_) => Operation::Tags,
            Wish::Prefix { .. } | Wish::Expression { .. } | Wish::Matching(_) | Wish::Host(_) => {
                Operation::Wildcard
            }
            Wish::Everything => Operation::All,
        });
        kinds
            .max_by_key(|kind| *kind as u8)
            .unwrap_or(Operation::Exact)
    }

    fn plain(wish: Wish) -> Self {
        Self {
            wishes: vec![wish],
            soft: false,
            dialect: Dialect::Plain,
        }
    }
}

/// A purge that cannot be understood: the client's fault. Nothing was purged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Nothing says what to purge.
    #[error("nothing says what to purge: {0}")]
    Nothing(&'static str),
    /// A field that limits what is banned, but is not known here.
    #[error(
        "`{0}` is not known here, and without it more would be purged than was meant: send `X-Url`, `X-Host` or `X-Cache-Tags`"
    )]
    Limit(String),
    /// A host that is not valid.
    #[error("`{0}` is not a host")]
    Host(String),
    /// A URL that is not valid.
    #[error("`{0}` is not a URL that could be stored: write scheme, host and path")]
    Url(String),
    /// An expression that cannot be used.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// Content that is not the JSON of the dialect.
    #[error("the content is not what this API takes: {0}")]
    Json(String),
    /// Something that is not offered.
    #[error("{0}")]
    NotOffered(&'static str),
}

/// With more tags than this, some would not be read ([`surrogate::fits`]).
const TOO_MANY_TAGS: Malformed =
    Malformed::NotOffered("more than 64 KiB of tags in one request: purge in several");

/// The part of a request's head that matters for purging.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target.
    pub target: &'a Target,
    /// The fields.
    pub fields: &'a HeaderMap,
    /// Whether one of them is [`X_REFRESH`].
    pub refreshes: bool,
    /// The client, after the PROXY protocol.
    pub peer: Option<IpAddr>,
}

/// What a request says about purging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// Nothing: it is for the application.
    Nothing,
    /// A request to the cache by a client that may not make it, and why.
    Denied(Unadmitted),
    /// A GET that wants the stored response to be fetched again.
    Refresh,
    /// A command, or why it is not valid.
    Command(Result<Command, Malformed>),
    /// A purge whose content says what to purge.
    Content(api::Expected),
    /// A GET of Souin's list of what is stored.
    List,
}

/// The method that asks for a page to be fetched again.
pub const REFRESH: &str = "REFRESH";

/// With `1` in this field, `FOSHttpCache` asks for a page to be fetched again.
pub static X_REFRESH: HeaderName = HeaderName::from_static("x-refresh");

/// Reads a request's head. On the path of a hit: a GET's fields are looked up only if they are present.
pub fn recognise(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    match *head.method {
        Method::GET => get(policy, head),
        Method::POST => api::post(policy, head),
        _ if !is_ours(head.method) => Spoken::Nothing,
        _ => match head.admitted(policy) {
            Ok(()) => own(policy, head),
            Err(why) => Spoken::Denied(why),
        },
    }
}

/// Reads a request with a method that is only for caches.
fn own(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    if head.method.as_str() == REFRESH {
        return Spoken::Refresh;
    }
    if !surrogate::fits(head.fields) {
        return Spoken::Command(Err(TOO_MANY_TAGS));
    }
    let command = api::souin(policy, head);
    Spoken::Command(command.unwrap_or_else(|| varnish::command(policy, head)))
}

/// Whether the method is only for caches, never for an application.
pub fn is_ours(method: &Method) -> bool {
    ["PURGE", "BAN", "PURGEKEYS", "PURGETAGS", REFRESH].contains(&method.as_str())
}

fn get(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    if let Some(target) = prefixed(policy, head) {
        let host = || head.authority().into_owned();
        return match head.admitted(policy) {
            Ok(()) => Spoken::Command(Ok(Command::plain(varnish::named(host(), target)))),
            Err(why) => Spoken::Denied(why),
        };
    }
    if names_list(policy, head) {
        let admitted = head.admitted(policy);
        return admitted.map_or_else(Spoken::Denied, |()| Spoken::List);
    }
    if !head.refreshes || head.text(&X_REFRESH).is_none_or(|value| value != "1") {
        return Spoken::Nothing;
    }
    let is_for_another = || PurgePolicy::is_for_another(head.target, head.fields);
    match head.admitted(policy) {
        Ok(()) => Spoken::Refresh,
        // A site's visitors' browsers may send the field to the application.
        Err(_) if is_for_another() || !policy.admits_anybody() => Spoken::Nothing,
        Err(why) => Spoken::Denied(why),
    }
}

/// What a GET is for the cache itself by its path, from any client: a client that may not is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByPath {
    /// A purge of the path after a prefix.
    Purge,
    /// The list of what is stored.
    List,
}

/// Returns what a GET is by its path.
pub fn by_path(policy: &PurgePolicy, head: Head<'_>) -> Option<ByPath> {
    if prefixed(policy, head).is_some() {
        return Some(ByPath::Purge);
    }
    names_list(policy, head).then_some(ByPath::List)
}

/// Whether the path is that of Souin's list.
fn names_list(policy: &PurgePolicy, head: Head<'_>) -> bool {
    policy.souin.as_deref() == Some(head.target.path())
}

/// Returns the target after the prefix that means purging, with its query.
fn prefixed(policy: &PurgePolicy, head: Head<'_>) -> Option<String> {
    let prefix = policy.get_prefix.as_deref()?;
    let target = key::normalize(head.path_and_query());
    let rest = target.strip_prefix(prefix)?;
    rest.starts_with('/').then(|| rest.to_owned())
}

impl<'a> Head<'a> {
    /// Whether its client may purge, and why not.
    fn admitted(self, policy: &PurgePolicy) -> Result<(), Unadmitted> {
        policy.admit(self.peer, self.target, self.fields)
    }

    /// Returns path and query.
    fn path_and_query(self) -> &'a str {
        self.target.path_and_query().unwrap_or("/")
    }

    /// Returns the authority: of the target if it has one, otherwise of `Host` (RFC 9112 section 3.3); empty without
    /// either.
    fn authority(self) -> Cow<'a, str> {
        let named = self.target.authority().map(Cow::from);
        let field = || {
            let field = self.fields.get(header::HOST).map(HeaderValue::as_bytes);
            field.map_or(Cow::Borrowed(""), String::from_utf8_lossy)
        };
        named.unwrap_or_else(field)
    }

    /// Returns a field's first line; `None` if it is absent or blank.
    fn text(self, name: impl AsHeaderName) -> Option<Cow<'a, str>> {
        let line = self.fields.get(name)?.as_bytes().trim_ascii();
        (!line.is_empty()).then(|| String::from_utf8_lossy(line))
    }

    /// Whether a field has more than one line.
    fn repeats(self, name: &str) -> bool {
        self.fields.get_all(name).iter().nth(1).is_some()
    }

    fn has(self, name: &'static str) -> bool {
        self.fields.contains_key(name)
    }
}

#[cfg(test)]
mod tests;
