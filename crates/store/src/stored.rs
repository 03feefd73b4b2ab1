//! One stored response.

use crate::{Body, Fields, Marks, body::allocated};
use http::{HeaderMap, HeaderName, StatusCode};
use rules::{freshness::Facts, vary};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// The largest body that is kept in one allocation with its head.
const BESIDE_HEAD: usize = 16 << 10;

/// What selects a stored response among the variants of its key (RFC 9111 section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The nominated fields, sorted.
    pub nominated: Box<[HeaderName]>,
    /// Their normalised values in the request that was answered (`rules::vary::variant_key`).
    pub key: Box<[u8]>,
}

impl Variant {
    /// Whether `request` has the same nominated values.
    pub fn matches(&self, request: &HeaderMap, scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        vary::variant_key(&self.nominated, request, scratch);
        **scratch == *self.key
    }
}

/// A stored response: immutable, shared. Freshening makes a new one over the same body.
#[derive(Clone, Debug)]
pub struct Stored {
    id: u64,
    /// The status to answer with.
    pub status: StatusCode,
    /// The fields to answer with, ready but for `Age`.
    pub fields: Fields,
    /// What judgement needs.
    pub facts: Facts,
    /// `None`: any request matches.
    pub variant: Option<Box<Variant>>,
    /// What invalidations may name it by, besides its key; `None` for most.
    pub marks: Option<Arc<Marks>>,
    /// The content.
    pub body: Body,
}

impl Stored {
    /// A stored response with an identity of its own.
    pub fn new(
        status: StatusCode,
        fields: Fields,
        facts: Facts,
        variant: Option<Box<Variant>>,
        marks: Option<Arc<Marks>>,
        body: Body,
    ) -> Self {
        Self {
            id: next_id(),
            status,
            fields,
            facts,
            variant,
            marks,
            body,
        }
    }

    /// Identity: a response that takes this one's place when its body is whole keeps it, a freshened one does not.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The same response with its body in another form. A small body moves beside the head.
    #[must_use]
    pub fn with_body(&self, body: Body) -> Self {
        let (fields, body) = match body {
            Body::Whole(bytes) if bytes.len() <= BESIDE_HEAD => {
                let (fields, bytes) = self.fields.beside(&bytes);
                (fields, Body::Whole(bytes))
            }
            other => (self.fields.clone(), other),
        };
        Self {
            fields,
            body,
            ..self.clone()
        }
    }

    /// Whether it answers `request`, as far as nominated fields go.
    pub fn matches(&self, request: &HeaderMap, scratch: &mut Vec<u8>) -> bool {
        self.variant
            .as_ref()
            .is_none_or(|variant| variant.matches(request, scratch))
    }

    /// Bytes of memory it takes, as the allocator rounds them.
    pub(crate) fn weight(&self) -> u64 {
        /// The shared header of each `Bytes`, once it has been cloned.
        const SHARED: u64 = 32;
        let variant = self.variant.as_ref().map_or(0, |variant| {
            allocated(variant.key.len())
                + allocated(variant.nominated.len() * size_of::<HeaderName>())
                + 48
        });
        allocated(size_of::<Self>() + 16)
            + allocated(self.fields.len())
            + self.body.weight()
            + 2 * SHARED
            + variant
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}
