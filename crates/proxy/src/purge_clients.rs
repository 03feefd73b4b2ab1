//! How the clients people already use ask a cache to forget: one wish out of many wire formats.
//!
//! [`recognise`] reads a request's head. What it finds is the application's ([`Spoken::Nothing`]), a [`Command`], or calls for
//! the request's content ([`Spoken::Content`]). A command names what is to be purged in the client's words; [`resolve`] turns them
//! into purges of this site, and [`answer`] says what came of it as the client expects.
//!
//! | module | speaks to |
//! |---|---|
//! | [`varnish`] | what was made for Varnish, nginx's `cache_purge`, Symfony's cache: `PURGE`, `BAN`, `PURGEKEYS`, `PURGETAGS` |
//! | [`api`] | clients of Fastly's and Cloudflare's API, and of Souin's |
//! | [`expression`], [`mod@tag_set`] | regular expressions, and the sets of tags they mean |

pub mod answer;
pub mod api;
mod expression;
pub mod resolve;
mod tag_set;
mod varnish;

use crate::{policy::PurgePolicy, target::Target};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header, header::AsHeaderName};
use rules::{key, surrogate};
use std::{borrow::Cow, net::IpAddr};
use store::purge::BadPattern;

pub use tag_set::tag_set;

/// What a client wants purged, and in whose words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// All of it, or none.
    pub wishes: Vec<Wish>,
    /// Stale from now on instead of gone.
    pub soft: bool,
    /// How it wants to be answered.
    pub dialect: Dialect,
}

/// What is to be purged, as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// One URL with all its variants.
    Url {
        /// With a port or without, as it came.
        host: String,
        /// Path and query.
        target: String,
    },
    /// Everything on a host that begins so.
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
        /// Whether the client says that it is one. What is none, and was not said to be, is the place alone beside which it stands.
        is_said: bool,
    },
    /// One host.
    Host(String),
    /// Whatever carries one of these tags.
    Tags(Vec<String>),
    /// Whatever all of the expressions given match.
    Matching(Box<Matching>),
    /// Everything.
    Everything,
}

/// Regular expressions; `None`: anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// On the host.
    pub host: Option<String>,
    /// On path and query.
    pub target: Option<String>,
    /// On `Content-Type`.
    pub content_type: Option<String>,
    /// On the tags, joined by commas.
    pub tags: Option<String>,
    /// On what Souin would name it.
    pub souin: Option<String>,
    /// On the pool of servers that it came from.
    pub pool: Option<String>,
}

/// In which form a client is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A status and a line of text, for whom that is enough.
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

/// The kind of what was done, in the words of `Cache-Purge-Result`.
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
    /// The word.
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
    /// What kind of purge it is; of several kinds the widest.
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

/// A purge that cannot be understood; the client's fault, nothing was purged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Nothing says what is to be purged.
    #[error("nothing says what to purge: {0}")]
    Nothing(&'static str),
    /// A field that limits what is banned, in words that are not known here.
    #[error(
        "`{0}` is not known here, and without it more would be purged than was meant: send `X-Url`, `X-Host` or `X-Cache-Tags`"
    )]
    Limit(String),
    /// A host that is none.
    #[error("`{0}` is not a host")]
    Host(String),
    /// A URL that is none.
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

/// Beyond that not all of them are read ([`surrogate::fits`]).
const TOO_MANY_TAGS: Malformed =
    Malformed::NotOffered("more than 64 KiB of tags in one request: purge in several");

/// A request's head, as far as purging is concerned.
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

/// What a request says of purging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// Nothing: it is the application's.
    Nothing,
    /// It may not.
    Denied,
    /// It is a GET that wants what is stored to be fetched anew.
    Refresh,
    /// A command, or why it is none.
    Command(Result<Command, Malformed>),
    /// The content says what.
    Content(api::Expected),
    /// It is a GET of the list that Souin's API has of what is stored.
    List,
}

/// The method that asks for a page to be fetched anew.
pub const REFRESH: &str = "REFRESH";

/// With `1` in this field `FOSHttpCache` asks for a page to be fetched anew.
pub static X_REFRESH: HeaderName = HeaderName::from_static("x-refresh");

/// Reads a request's head. On the path of a hit: none of a GET's fields is looked for unless it is there.
pub fn recognise(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    match *head.method {
        Method::GET => get(policy, head),
        Method::POST => api::post(policy, head),
        _ if !is_ours(head.method) => Spoken::Nothing,
        _ if !policy.admits(head.peer, head.fields) => Spoken::Denied,
        _ if head.method.as_str() == REFRESH => Spoken::Refresh,
        _ if !surrogate::fits(head.fields) => Spoken::Command(Err(TOO_MANY_TAGS)),
        _ => Spoken::Command(
            api::souin(policy, head).unwrap_or_else(|| varnish::command(policy, head)),
        ),
    }
}

/// Methods that are for caches and never for an application.
pub fn is_ours(method: &Method) -> bool {
    ["PURGE", "BAN", "PURGEKEYS", "PURGETAGS", REFRESH].contains(&method.as_str())
}

fn get(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    if let Some(target) = prefixed(policy, head) {
        if !policy.admits(head.peer, head.fields) {
            return Spoken::Denied;
        }
        let host = head.authority().into_owned();
        return Spoken::Command(Ok(Command::plain(varnish::named(host, target, false))));
    }
    if names_list(policy, head) {
        let may = policy.admits(head.peer, head.fields);
        return if may { Spoken::List } else { Spoken::Denied };
    }
    if !head.refreshes || head.text(&X_REFRESH).is_none_or(|value| value != "1") {
        return Spoken::Nothing;
    }
    if policy.admits(head.peer, head.fields) {
        Spoken::Refresh
    } else if PurgePolicy::is_for_another(head.fields) || !policy.admits_anybody() {
        // A site may have its visitors' browsers say so to the application.
        Spoken::Nothing
    } else {
        Spoken::Denied
    }
}

/// What a GET is for the cache itself by its path, whoever sends it: from who may not, it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByPath {
    /// A purge of what stands behind a prefix.
    Purge,
    /// The list of what is stored.
    List,
}

/// What a GET says by its path.
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

/// The target behind the prefix that means purging, with its query.
fn prefixed(policy: &PurgePolicy, head: Head<'_>) -> Option<String> {
    let target = key::normalize(head.path_and_query());
    let rest = target.strip_prefix(policy.get_prefix.as_deref()?)?;
    rest.starts_with('/').then(|| rest.to_owned())
}

impl<'a> Head<'a> {
    /// Path and query.
    fn path_and_query(self) -> &'a str {
        self.target.path_and_query().unwrap_or("/")
    }

    /// The authority: of the target where it has one, otherwise of `Host` (RFC 9112 section 3.3); empty without either.
    fn authority(self) -> Cow<'a, str> {
        let named = self.target.authority().map(Cow::from);
        let field = || {
            let field = self.fields.get(header::HOST).map(HeaderValue::as_bytes);
            field.map_or(Cow::Borrowed(""), String::from_utf8_lossy)
        };
        named.unwrap_or_else(field)
    }

    /// A field's first line; `None` where it is absent or blank.
    fn text(self, name: impl AsHeaderName) -> Option<Cow<'a, str>> {
        let line = self.fields.get(name)?.as_bytes().trim_ascii();
        (!line.is_empty()).then(|| String::from_utf8_lossy(line))
    }

    /// Whether a field stands in more than one line.
    fn repeats(self, name: &str) -> bool {
        self.fields.get_all(name).iter().nth(1).is_some()
    }

    fn has(self, name: &'static str) -> bool {
        self.fields.contains_key(name)
    }
}

#[cfg(test)]
mod tests;
