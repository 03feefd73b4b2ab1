//! Content codings (RFC 9110 sections 8.4.1 and 12.5.3): which one answers a request, what may be coded, and the fields
//! of a coded form.
//!
//! A *form* is the same content in another coding, made here from what an origin sent.

mod accept;
mod form;
mod tag;
mod untouched;

pub use accept::{Accepted, Choice, choose};
pub use form::{FormProvenance, describe, describe_as, varies_by_coding, vary_by_coding};
pub use tag::{for_origin, form_tag, is_dated_range, matches_form, range_form, understood};
pub use untouched::{
    DEFAULT_TYPES, TypePattern, Untouched, decodable, forbids, is_coded, is_meant, is_readable,
    judge, to_decode,
};

use std::fmt;

/// A coding that can be made and read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// `br` (RFC 7932).
    Brotli,
    /// `zstd` (RFC 8878).
    Zstd,
    /// `gzip` (RFC 1952).
    Gzip,
}

impl Coding {
    /// All codings, in our order of preference.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// The coding's name in `Accept-Encoding` and `Content-Encoding`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// Parses the name of a coding, in any case; `x-gzip` is `gzip` (RFC 9110 section 8.4.1.3).
    pub fn parse(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"x-gzip") {
            return Some(Self::Gzip);
        }
        let mut all = Self::ALL.into_iter();
        all.find(|coding| name.eq_ignore_ascii_case(coding.token().as_bytes()))
    }

    /// The coding's index in [`ALL`](Self::ALL), for tables.
    pub const fn index(self) -> usize {
        match self {
            Self::Brotli => 0,
            Self::Zstd => 1,
            Self::Gzip => 2,
        }
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

#[cfg(test)]
mod tests;
