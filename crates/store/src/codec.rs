//! Stored responses as bytes, for the tiers below memory: one version byte, then the head. The body lies beside it, in a
//! form that is each tier's own.

use crate::{Body, Stored, purge::Tags};

/// Bytes that are no head of ours, or of a version we do not know. The tier drops them; nobody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the head of a stored response")]
pub struct Malformed;

/// How the bytes that lie beside a head make up the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The whole body, of this length.
    Whole(u64),
    /// Parts of a representation of `length` bytes, one after the other: where each begins, and its length.
    Parts {
        /// Length of the whole representation.
        length: u64,
        /// Sorted, not overlapping, none of them empty.
        parts: Vec<(u64, u64)>,
    },
}

/// A head that was read.
#[derive(Debug)]
pub struct Head {
    /// The whole cache key, to be compared.
    pub key: Box<[u8]>,
    /// What lies beside it.
    pub layout: Layout,
}

/// Writes the head of `stored`, kept under `key`. `None` where its body is still on its way.
pub fn encode(key: &[u8], stored: &Stored) -> Option<Vec<u8>> {
    let _ = (key, stored);
    None
}

impl Head {
    /// Reads a head; whatever the bytes, this neither panics nor allocates more than a few times their length.
    ///
    /// # Errors
    /// The bytes are not what [`encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let _ = bytes;
        Err(Malformed)
    }

    /// The stored response over `body`, which has this layout. `checked`: the number of this node's log up to which no purge
    /// covers it, where the tier knows better than what was written.
    pub fn stored(self, body: Body, checked: Option<u64>, tags: &Tags) -> Stored {
        let _ = (self, body, checked, tags);
        unimplemented!()
    }
}
