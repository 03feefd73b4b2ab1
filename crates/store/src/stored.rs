//! One stored response.

mod near;
mod place;
mod successor;
mod variant;
mod weight;

use crate::{Body, Fields, Forms, Ticket, purge::Marks};
use http::{HeaderMap, HeaderName, StatusCode, header};
use rules::{coding, freshness::Facts, surrogate};
use std::{
    any::Any,
    fmt::Debug,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{AcqRel, Acquire, Relaxed},
        },
    },
};

pub use variant::Variant;
pub(crate) use weight::weight_of;

/// What was made of a body once and is good for as long as the body: kept in memory beside it, and weighed with it.
pub trait Derived: Any + Debug + Send + Sync {
    /// Bytes of memory it takes.
    fn weight(&self) -> u64;
}

/// With this field applications have the cache before them say in `X-Cache` whether it hit (`FOSHttpCache`).
pub const X_CACHE_DEBUG: HeaderName = HeaderName::from_static("x-cache-debug");

/// A stored response: immutable, shared. Freshening makes a new one over the same body.
#[derive(Clone, Debug)]
pub struct Stored {
    id: u64,
    content: u64,
    checked: Mark,
    uses: Mark,
    /// The [number](Ticket::number) of the fetch that brought it; 0 where none did.
    fetch: u64,
    /// The set of chunks in which the shared tier has the body; 0 where it is not known to have it so.
    chunks: Mark,
    below: Flag,
    is_esi: bool,
    debugged: bool,
    pub(crate) derived: Option<Arc<dyn Derived>>,
    /// The status to answer with.
    pub status: StatusCode,
    /// The fields to answer with, ready but for `Age`.
    pub fields: Fields,
    /// Fields that decide about it and that nobody is answered with: what the origin said to us alone, and what it had kept from
    /// later requests. Whoever judges it anew reads them too. `None` for most.
    pub unsent: Option<Box<Fields>>,
    /// What judgement needs.
    pub facts: Facts,
    /// `None`: any request matches.
    pub variant: Option<Box<Variant>>,
    /// The tags it may be purged by; `None` for most.
    pub marks: Option<Arc<Marks>>,
    /// The content.
    pub body: Body,
    /// The same content in codings that were made here.
    pub forms: Forms,
    /// Whether it came in a content coding.
    pub is_coded: bool,
}

impl Stored {
    /// A stored response with an identity of its own, whose fetch began when the log of purges stood at `log_at`. A small body is copied
    /// to where it belongs (`place`).
    pub fn new(
        log_at: u64,
        status: StatusCode,
        fields: Fields,
        facts: Facts,
        variant: Option<Box<Variant>>,
        marks: Option<Arc<Marks>>,
        body: Body,
    ) -> Self {
        let id = next_id();
        let said = PresentFields::by(&fields);
        let (fields, body) = place::placed(fields, body);
        Self {
            id,
            content: id,
            checked: Mark::at(log_at),
            uses: Mark::at(0),
            fetch: 0,
            chunks: Mark::at(0),
            below: Flag::default(),
            is_esi: false,
            debugged: said.debugged,
            derived: None,
            status,
            is_coded: said.coded && coding::is_coded(fields.iter()),
            fields,
            unsent: None,
            facts,
            variant,
            marks,
            body,
            forms: Forms::default(),
        }
    }

    /// The same response with fields that [decide](Self::unsent) about it.
    #[must_use]
    pub fn with_unsent(self, unsent: Option<Box<Fields>>) -> Self {
        let says_so = |fields: &Fields| surrogate::wants_esi(&fields.unpack(0));
        Self {
            is_esi: unsent.as_deref().is_some_and(says_so),
            unsent,
            ..self
        }
    }

    /// The same response as what the fetch of `ticket` has brought. What has no fetch, as it comes from a lower tier, is earlier than any.
    #[must_use]
    pub fn fetched_by(self, ticket: Ticket) -> Self {
        let fetch = ticket.number;
        Self { fetch, ..self }
    }

    /// The same response as what the fetch of `old` has brought.
    #[must_use]
    pub fn fetched_as(self, old: &Self) -> Self {
        let fetch = old.fetch;
        Self { fetch, ..self }
    }

    /// Whether the fetch that brought it began after that of `ticket`.
    pub fn is_later_than(&self, ticket: Ticket) -> bool {
        self.fetch > ticket.number
    }

    /// Whether the fetch that brought it began after that of `other`, whichever of the two came first.
    pub(crate) fn is_of_later_fetch(&self, other: &Self) -> bool {
        self.fetch > other.fetch
    }

    /// Whether it is `old`, or what was read of a lower tier in that one's place and is no newer: each reading has an identity of its own,
    /// and no fetch.
    pub fn stands_for(&self, old: &Self) -> bool {
        let is_reading = self.fetch == 0 && self.variant == old.variant;
        let is_no_newer = self.facts.response_time <= old.facts.response_time;
        self.id == old.id || (is_reading && is_no_newer)
    }

    /// The lines that decide whether its content may be coded: all that is kept of what the origin said of it.
    pub fn lines(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let unsent = self.unsent.iter().flat_map(|unsent| unsent.iter());
        self.fields.iter().chain(unsent)
    }

    /// All that is kept of what the origin said of it, with room for `more` fields.
    pub fn all_fields(&self, more: usize) -> HeaderMap {
        let mut all = self.fields.unpack(more);
        if let Some(unsent) = &self.unsent {
            for (name, value) in &unsent.unpack(0) {
                all.append(name, value.clone());
            }
        }
        all
    }

    /// Identity: a response that takes this one's place when its body is whole keeps it, a freshened one does not.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Identity of the content: what is freshened keeps it, so that whoever makes something of the body is not disturbed. What comes
    /// anew has another, even where its bytes are the same.
    pub fn content(&self) -> u64 {
        self.content
    }

    /// Its body, and those of its forms.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Body> {
        let forms = self.forms.as_slice().iter();
        let forms = forms.filter_map(|form| form.stored.as_ref());
        std::iter::once(&self.body).chain(forms.map(|form| &form.body))
    }

    /// The number of the log up to which no purge covers it.
    pub fn checked(&self) -> u64 {
        self.checked.0.load(Acquire)
    }

    /// It was checked from `from` up to `to`.
    pub(crate) fn check(&self, from: u64, to: u64) {
        // Where another was faster, its mark is as good.
        let checked = &self.checked.0;
        let _ = checked.compare_exchange(from, to, AcqRel, Relaxed);
    }

    /// Whether its origin said that its content is written in ESI.
    pub fn is_esi(&self) -> bool {
        self.is_esi
    }

    /// Whether it carries [`X_CACHE_DEBUG`].
    pub fn is_debugged(&self) -> bool {
        self.debugged
    }

    /// What was made of its body, if that was a `T`.
    pub fn derived<T: Derived>(&self) -> Option<&T> {
        let derived: &dyn Any = &**self.derived.as_ref()?;
        derived.downcast_ref()
    }

    /// Counts a use; how many there were before. Uses at the same moment may count once: it is no more than a measure of demand.
    pub fn used(&self) -> u64 {
        let uses = self.uses.0.load(Relaxed);
        self.uses.0.store(uses + 1, Relaxed);
        uses
    }

    /// How often it was used.
    pub fn uses(&self) -> u64 {
        self.uses.0.load(Relaxed)
    }

    /// The set of chunks in which the shared tier has its body; `None`: it is not known to have it so.
    pub(crate) fn chunks(&self) -> Option<u64> {
        Some(self.chunks.0.load(Relaxed)).filter(|set| *set != 0)
    }

    /// The shared tier has its body in chunks of `set`.
    pub(crate) fn set_chunks(&self, set: u64) {
        self.chunks.0.store(set, Relaxed);
    }

    /// Whether a tier below memory has it, or has been asked to take it.
    pub fn is_below(&self) -> bool {
        self.below.0.load(Relaxed)
    }

    /// A tier below memory has it.
    pub fn set_below(&self) {
        self.below.0.store(true, Relaxed);
    }

    pub(crate) fn set_uses(&self, uses: u64) {
        self.uses.0.store(uses, Relaxed);
    }

    /// Whether it answers `request`, as far as nominated fields go.
    pub fn matches(&self, request: &HeaderMap, scratch: &mut Vec<u8>) -> bool {
        self.variant
            .as_ref()
            .is_none_or(|variant| variant.matches(request, scratch))
    }
}

/// Which fields are there that are asked about with each use: found in one look, since most are not.
#[derive(Default)]
struct PresentFields {
    debugged: bool,
    /// Something is said of content codings.
    coded: bool,
}

impl PresentFields {
    fn by(fields: &Fields) -> Self {
        let mut said = Self::default();
        for (name, _) in fields.iter() {
            said.debugged |= name == X_CACHE_DEBUG.as_str().as_bytes();
            said.coded |= name == header::CONTENT_ENCODING.as_str().as_bytes();
        }
        said
    }
}

/// A number that changes while the response is shared.
#[derive(Debug)]
struct Mark(AtomicU64);

impl Mark {
    fn at(number: u64) -> Self {
        Self(AtomicU64::new(number))
    }
}

impl Clone for Mark {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Acquire)))
    }
}

/// What becomes true while the response is shared.
#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Clone for Flag {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.0.load(Acquire)))
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

#[cfg(test)]
mod tests;
