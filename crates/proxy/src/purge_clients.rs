//! How existing clients ask a cache to purge: one model for many wire formats.
//!
//! [`recognise()`] reads a request's head. The request is for the application ([`Spoken::Nothing`]), is a [`Command`], or
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
mod recognise;
pub mod resolve;
mod tag_set;
mod varnish;

use recognise::{TOO_MANY_TAGS, prefixed};
use store::purge::BadPattern;

pub use recognise::{ByPath, Head, REFRESH, Spoken, X_REFRESH, by_path, is_ours, recognise};
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

#[cfg(test)]
mod tests;
