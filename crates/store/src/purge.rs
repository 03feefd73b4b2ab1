//! Purging: what must not be answered any more although it may still be found, in whatever tier.
//!
//! A purge is an entry of a totally ordered [`Log`], not a deletion: each stored response knows the number up to which
//! it was [checked](crate::Stored::checked), at first the one at which its *fetch began*. At lookup, one comparison says
//! that nothing was purged since; otherwise what was purged since is tested ([`Log::standing`]) and the mark moves on.
//! So a purge costs the same whatever it covers, holds from the moment it is acknowledged, and covers lower tiers and
//! fills in flight.

mod address;
mod carried;
mod counts;
mod entry;
pub mod journal;
mod label;
mod log;
mod mark;
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

/// What is to be forgotten, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// Which stored responses.
    pub what: What,
    /// Stale from now on instead of gone: `stale-while-revalidate` and `stale-if-error` still work.
    pub soft: bool,
}

/// Which stored responses a purge is for. Schemes are not told apart: a site's pages over `http` and `https` go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// One URL with all its variants, in each form in which routes may have keyed it: `//host/path?query`
    /// ([`Address::text`]).
    Url(Vec<String>),
    /// Everything whose path and query begin with `path`; on every host where `host` is `None`.
    Prefix {
        /// The host as it is keyed, with port where that is not the scheme's own.
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

    /// A purge of nothing: an entry that only has a place in the log. No key has an address without a target.
    pub fn nothing() -> Self {
        Self::soft(What::Url(vec!["//".to_owned()]))
    }

    /// A soft purge.
    pub const fn soft(what: What) -> Self {
        Self { what, soft: true }
    }

    /// Bytes of memory that it takes, roughly.
    pub(crate) fn weight(&self) -> usize {
        let texts: usize = match &self.what {
            What::Url(texts) | What::Tags(texts) => texts.iter().map(|text| text.len() + 24).sum(),
            What::Prefix { host, path } => host.as_ref().map_or(0, String::len) + path.len(),
            What::Host(host) => host.len(),
            // What a compiled expression may take is bounded; most are far smaller.
            What::Pattern(pattern) => pattern
                .expressions()
                .map(|(_, text)| text.len() + 4096)
                .sum(),
            What::Everything => 0,
        };
        texts + 128
    }
}
