//! Stored responses as bytes, for the tiers below memory: one version byte, then the head. The body lies beside it, in
//! a form that each tier chooses.
//!
//! All numbers are little-endian. Everything that has a length or a count is preceded by it (`u32`):
//!
//! ```text
//! u8 version | key | u16 status | u16 flags | u8 source | u64 response time, date, initial age, lifetime (ms)
//! | u32 stale-while-revalidate, stale-if-error (s, each only if flagged) | u64 checked, uses | fields as packed
//! | fields that are not sent, packed (only if flagged) | nominated names, variant key (only if flagged) | tags | u8 layout, u64 length, parts as u64 first, u64 length
//! ```

mod bytes;
pub mod label;
mod view;

use crate::{Body, Fields, Stored, Variant, purge::Tags};
use ::bytes::Bytes;
use bytes::Out;
use http::StatusCode;
use rules::{freshness::Facts, partial::Spans};

pub(crate) use view::View;

/// The first byte of a head. Bytes that begin with another one were written by another version of the program.
pub const VERSION: u8 = 3;

/// The bytes are not a head of ours, or have a version that we do not know. The tier drops them without asking anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the head of a stored response")]
pub struct Malformed;

/// How the bytes beside a head make up the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The whole body, of this length.
    Whole(u64),
    /// Parts of a representation of `length` bytes, one after the other. Each has its offset and its length.
    Parts {
        /// Length of the whole representation.
        length: u64,
        /// Sorted, not overlapping, none of them empty.
        parts: Vec<(u64, u64)>,
    },
}

impl Layout {
    /// The layout of `body`; `None` while it is on its way in.
    pub fn of(body: &Body) -> Option<Self> {
        match body {
            Body::Filling(_) => None,
            Body::Parts(parts) if parts.is_coming() => None,
            Body::Parts(parts) => Some(Self::Parts {
                length: parts.length,
                parts: lengths(&parts.spans()),
            }),
            whole => whole.length().map(Self::Whole),
        }
    }

    /// The number of bytes that lie beside the head.
    pub fn stored(&self) -> u64 {
        match self {
            Self::Whole(length) => *length,
            // They are sorted and lie within `length`, so that the sum does not overflow.
            Self::Parts { parts, .. } => parts.iter().map(|(_, length)| length).sum(),
        }
    }
}

fn lengths(spans: &Spans) -> Vec<(u64, u64)> {
    let all = spans.iter();
    all.map(|span| (span.first, span.length())).collect()
}

/// A head that was read.
#[derive(Debug)]
pub struct Head {
    /// The whole cache key, to be compared with the one asked for.
    pub key: Box<[u8]>,
    /// How the bytes beside it make up the body.
    pub layout: Layout,
    rest: Rest,
}

/// The part of a head that only the stored response needs.
#[derive(Debug)]
struct Rest {
    status: StatusCode,
    facts: Facts,
    checked: u64,
    uses: u64,
    fields: Fields,
    unsent: Option<Box<Fields>>,
    variant: Option<Box<Variant>>,
    tags: Vec<Box<str>>,
}

/// Writes the head of `stored`, kept under `key`. `None` while its body is on its way in, or if something is too long.
pub fn encode(key: &[u8], stored: &Stored) -> Option<Vec<u8>> {
    let layout = Layout::of(&stored.body)?;
    let mut out = Out::with_capacity(key.len() + stored.fields.len() + 128);
    out.u8(VERSION);
    out.run(key)?;
    out.u16(stored.status.as_u16());
    let beside = view::Beside {
        variant: stored.variant.is_some(),
        unsent: stored.unsent.is_some(),
    };
    view::write_facts(&mut out, &stored.facts, beside);
    out.u64(stored.checked());
    out.u64(stored.uses());
    out.run(stored.fields.packed())?;
    if let Some(unsent) = &stored.unsent {
        out.run(unsent.packed())?;
    }
    if let Some(variant) = &stored.variant {
        out.count(variant.nominated.len())?;
        for name in &variant.nominated {
            out.run(name.as_str().as_bytes())?;
        }
        out.run(&variant.key)?;
    }
    let tags = stored.marks.as_deref();
    out.count(tags.map_or(0, |marks| marks.texts().count()))?;
    for text in tags.into_iter().flat_map(crate::purge::Marks::texts) {
        out.run(text.as_bytes())?;
    }
    view::write_layout(&mut out, &layout)?;
    Some(out.done())
}

impl Head {
    /// Reads a head. Whatever the bytes, this neither panics nor allocates more than a few times their length.
    ///
    /// # Errors
    /// The bytes are not what [`encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let view = View::parse(bytes)?;
        let fields = Fields::from_packed(Bytes::copy_from_slice(view.fields)).ok_or(Malformed)?;
        let unsent = view.unsent()?;
        Ok(Self {
            key: view.key.into(),
            rest: Rest {
                status: view.status,
                facts: view.facts,
                checked: view.checked,
                uses: view.uses,
                fields,
                unsent,
                variant: view.variant,
                tags: view.tags.into_iter().map(Into::into).collect(),
            },
            layout: view.layout,
        })
    }

    /// The number up to which no purge covered it when it was written, in the log of the node that wrote it.
    pub fn checked(&self) -> u64 {
        self.rest.checked
    }

    /// The tags by which it is purged.
    pub fn tags(&self) -> &[Box<str>] {
        &self.rest.tags
    }

    /// Makes the stored response over `body`, which has this layout. `checked` is the number of this node's log up to
    /// which no purge covers it, if the tier knows better than what was written.
    pub fn stored(self, body: Body, checked: Option<u64>, tags: &Tags) -> Stored {
        let rest = self.rest;
        let checked = checked.unwrap_or(rest.checked);
        Stored::new(
            checked,
            rest.status,
            rest.fields,
            rest.facts,
            rest.variant,
            tags.marks(rest.tags, checked),
            body,
        )
        .with_unsent(rest.unsent)
        .with_uses(rest.uses)
    }
}

#[cfg(test)]
mod tests;
