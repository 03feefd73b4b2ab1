//! Purges: what must not be answered any more although it may still be found, in any tier.
//!
//! A purge is an entry of a totally ordered [`Log`], not a deletion. Each stored response has the number up to which it
//! was [checked](crate::Stored::checked): at first, the number of the log when its *fetch began*. At lookup, one
//! comparison shows that nothing was purged since. Otherwise the later purges are tested ([`Log::standing`]), and the
//! response's number moves on. So a purge costs the same whatever it covers, holds from the moment it is acknowledged,
//! and covers lower tiers and fills in flight.

mod address;
mod carried;
mod counts;
mod entry;
pub mod journal;
mod label;
mod last;
mod log;
mod name;
mod pattern;
mod pool;
mod position;
mod positions;
mod recent;
mod standing;
mod subject;
mod table;
mod tags;
mod text;

#[cfg(test)]
mod tests;

pub use address::Address;
pub use carried::Carried;
pub use counts::{KINDS, Statistics};
pub use entry::{Entry, Journal};
pub use journal::{FileJournal, Remembered};
pub use label::Label;
pub use log::Log;
pub use pattern::{BadPattern, On, Pattern};
pub use pool::{of_pool, pool};
pub use position::{NotAPosition, Position};
pub use recent::{Cursor, NotACursor, Since};
pub use standing::{Applied, Standing};
pub use table::TooMany;
pub use tags::{Marks, Tags};
pub use text::Malformed;

/// What to forget, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The stored responses that it covers.
    pub what: What,
    /// Makes responses stale from now on instead of gone: `stale-while-revalidate` and `stale-if-error` still work.
    pub soft: bool,
}

/// The stored responses that a purge covers. Schemes are not told apart: a site's pages over `http` and `https` are
/// purged together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// One URL with all its variants, in each form in which routes may have keyed it: `//host/path?query`
    /// ([`Address::text`]).
    Url(Vec<String>),
    /// Everything whose path and query begin with `path`; on every host if `host` is `None`.
    Prefix {
        /// The host as it is keyed, with the port if it is not the scheme's default.
        host: Option<String>,
        /// The beginning of path and query, normalised.
        path: String,
    },
    /// Everything that carries one of these tags.
    Tags(Vec<String>),
    /// One host, as it is keyed.
    Host(String),
    /// Everything that a regular expression matches.
    Pattern(Box<Pattern>),
    /// Everything.
    Everything,
}

impl Purge {
    /// A hard purge.
    pub const fn hard(what: What) -> Self {
        Self { what, soft: false }
    }

    /// A purge of nothing: an entry that only has a position in the log. No key has an address without a target.
    pub fn nothing() -> Self {
        Self::soft(What::Url(vec!["//".to_owned()]))
    }

    /// A soft purge.
    pub const fn soft(what: What) -> Self {
        Self { what, soft: true }
    }

    /// The bytes of memory that it takes, roughly.
    pub(crate) fn weight(&self) -> usize {
        let texts: usize = match &self.what {
            What::Url(texts) | What::Tags(texts) => texts.iter().map(|text| text.len() + 24).sum(),
            What::Prefix { host, path } => host.as_ref().map_or(0, String::len) + path.len(),
            What::Host(host) => host.len(),
            // The size of a compiled expression is limited; most are far smaller.
            What::Pattern(pattern) => pattern
                .expressions()
                .map(|(_, text)| text.len() + 4096)
                .sum(),
            What::Everything => 0,
        };
        texts + 128
    }
}
