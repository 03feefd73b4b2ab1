//! One stored response.

mod near;
mod notes;
mod place;
mod successor;
mod variant;
mod weight;

use crate::{Body, Fields, Forms, Ticket, purge::Marks};
use http::{HeaderMap, HeaderName, StatusCode, header};
use notes::{Flag, Notes};
use rules::{coding, freshness::Facts, surrogate};
use std::{
    any::Any,
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

pub use variant::Variant;
pub(crate) use weight::weight_of;

/// What was made of a body once and is good as long as the body is: kept in memory beside it, and weighed with it.
pub trait Derived: Any + Debug + Send + Sync {
    /// The bytes of memory that it takes.
    fn weight(&self) -> u64;
}

/// With this field, applications (`FOSHttpCache`) ask the cache before them to say in `X-Cache` whether it hit.
pub const X_CACHE_DEBUG: HeaderName = HeaderName::from_static("x-cache-debug");

/// A stored response: shared, and immutable except for what is noted of it (`notes`). Freshening makes a new one over the
/// same body.
#[derive(Clone, Debug)]
pub struct Stored {
    id: u64,
    content: u64,
    /// The [number](Ticket::number) of the fetch that brought it; 0 if none did.
    fetch: u64,
    notes: Notes,
    /// Whether a tier below memory has it, or has been asked to take it. Beside the notes it takes no room.
    below: Flag,
    is_esi: bool,
    debugged: bool,
    pub(crate) derived: Option<Arc<dyn Derived>>,
    /// The status to answer with.
    pub status: StatusCode,
    /// The fields to answer with, complete except for `Age`.
    pub fields: Fields,
    /// Fields that decide about the response and are not sent: what the origin said to us alone, and what it withheld
    /// from later requests. They are read again when the response is judged anew. `None` for most.
    pub unsent: Option<Box<Fields>>,
    /// What is needed to judge the response.
    pub facts: Facts,
    /// What selects the response; `None` if any request matches.
    pub variant: Option<Box<Variant>>,
    /// The tags by which it may be purged; `None` for most.
    pub marks: Option<Arc<Marks>>,
    /// The content.
    pub body: Body,
    /// The same content in codings that were made here.
    pub forms: Forms,
    /// Whether it came in a content coding.
    pub is_coded: bool,
}

impl Stored {
    /// Makes a stored response with an identity of its own. Its fetch began when the log of purges stood at `log_at`. A
    /// small body is copied to its place (`place`).
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
            fetch: 0,
            notes: Notes::new(log_at),
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

    /// The same response as brought by the fetch of `ticket`. A response without a fetch, read from a lower tier,
    /// counts as earlier than any.
    #[must_use]
    pub fn fetched_by(self, ticket: Ticket) -> Self {
        let fetch = ticket.number;
        Self { fetch, ..self }
    }

    /// The same response as brought by the fetch of `old`.
    #[must_use]
    pub fn fetched_as(self, old: &Self) -> Self {
        let fetch = old.fetch;
        Self { fetch, ..self }
    }

    /// The number of the fetch that brought it; 0 if it was read from a lower tier.
    pub fn fetch(&self) -> u64 {
        self.fetch
    }

    /// Whether the fetch that brought it began after that of `ticket`.
    pub fn is_later_than(&self, ticket: Ticket) -> bool {
        self.fetch > ticket.number
    }

    /// Whether the fetch that brought it began after that of `other`, whichever response came first.
    pub(crate) fn is_of_later_fetch(&self, other: &Self) -> bool {
        self.fetch > other.fetch
    }

    /// Whether it was read from a lower tier, so that nobody knows when it was asked for.
    pub fn is_reading(&self) -> bool {
        self.fetch == 0
    }

    /// Whether it is out of date if `old` is: it is `old`, or was read from a lower tier in place of `old` and is no
    /// newer. Each reading has an identity of its own, and no fetch.
    ///
    /// Validators do not matter here, because an earlier version has others. If another node has fetched the reading
    /// later than its clock says, that is lost, and has to be fetched again.
    pub fn goes_with(&self, old: &Self) -> bool {
        let is_in_its_place = self.is_reading() && self.variant == old.variant;
        let is_no_newer = self.facts.response_time <= old.facts.response_time;
        self.id == old.id || (is_in_its_place && is_no_newer)
    }

    /// Whether a 304 that confirms `old` confirms it too: it [goes with](Self::goes_with) `old`, and has the same
    /// validators. The clocks of nodes differ, and a reading with others may be newer although it seems to be older.
    pub fn stands_for(&self, old: &Self) -> bool {
        let validators = [header::ETAG, header::LAST_MODIFIED];
        let are_same = || {
            let mut all = validators.iter();
            all.all(|name| self.fields.get_bytes(name) == old.fields.get_bytes(name))
        };
        self.id == old.id || (self.goes_with(old) && are_same())
    }

    /// The field lines that decide whether its content may be coded: all that is kept of what the origin said about it.
    pub fn lines(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let unsent = self.unsent.iter().flat_map(|unsent| unsent.iter());
        self.fields.iter().chain(unsent)
    }

    /// All fields that are kept of what the origin sent, with room for `more`.
    pub fn all_fields(&self, more: usize) -> HeaderMap {
        let mut all = self.fields.unpack(more);
        if let Some(unsent) = &self.unsent {
            for (name, value) in &unsent.unpack(0) {
                all.append(name, value.clone());
            }
        }
        all
    }

    /// The identity. A response that replaces this one when its body is complete keeps it; a freshened one does not.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The identity of the content. A freshened response keeps it, so that work on the body goes on undisturbed.
    /// Content that is fetched anew has another, even if its bytes are the same.
    pub fn content(&self) -> u64 {
        self.content
    }

    /// Its body, and those of its forms.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Body> {
        let forms = self.forms.as_slice().iter();
        let forms = forms.filter_map(|form| form.stored.as_ref());
        std::iter::once(&self.body).chain(forms.map(|form| &form.body))
    }

    /// Whether the origin said that its content is written in ESI.
    pub fn is_esi(&self) -> bool {
        self.is_esi
    }

    /// Whether it carries [`X_CACHE_DEBUG`].
    pub fn is_debugged(&self) -> bool {
        self.debugged
    }

    /// What was made of its body, if that is a `T`.
    pub fn derived<T: Derived>(&self) -> Option<&T> {
        let derived: &dyn Any = &**self.derived.as_ref()?;
        derived.downcast_ref()
    }

    /// Whether its nominated fields match `request`.
    pub fn matches(&self, request: &HeaderMap, scratch: &mut Vec<u8>) -> bool {
        self.variant
            .as_ref()
            .is_none_or(|variant| variant.matches(request, scratch))
    }
}

/// Whether fields are present that are asked about at each use. One look finds all of them, because most are absent.
#[derive(Default)]
struct PresentFields {
    debugged: bool,
    /// `Content-Encoding` is present.
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

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

#[cfg(test)]
mod tests;
