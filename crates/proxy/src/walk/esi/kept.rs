//! What reading a stored page has found, kept beside the page, so that the next request for it need not read it.

use crate::cache::{Cache, Worker};
use bytes::Bytes;
use esi::{Page, Token, Tokens};
use std::{fmt, sync::Arc};
use store::{Body, Derived, Memory, Reservation, Stored};

/// The most that is kept of one page: bytes of memory for its tokens, and bytes of content that came in a coding.
const MOST: u64 = 1 << 20;

/// Room is taken from the budget in steps of this many bytes.
const STEP: u64 = 16 << 10;

/// Up to this many bytes are read without asking for room, as for a page with nothing in it. That is less than what a
/// connection has for itself.
const FEW: u64 = 1 << 10;

/// What reading a stored page has found.
#[derive(Clone, Debug)]
pub struct ReadPage {
    pub(super) page: Arc<Page>,
    /// The content without its coding, if it is stored in one.
    pub(super) decoded: Option<Bytes>,
    is_plain: bool,
}

impl Derived for ReadPage {
    fn weight(&self) -> u64 {
        self.page.weight() + self.decoded.as_ref().map_or(0, |all| all.len() as u64)
    }
}

impl ReadPage {
    /// Reads the complete body of `stored`, whose key is `key`, and keeps what it finds beside it. Returns `None` if
    /// there is something to be done in the page and memory has no room to keep that. Then the page is to be read while
    /// it is sent.
    pub fn read(worker: &Worker, key: &[u8], stored: &Stored, body: &Bytes) -> Option<Self> {
        let memory = &worker.cache.memory;
        let mut room = memory.budget().reservation();
        let page = Page::read(body, |tokens| has_room(&mut room, memory, tokens, 0))?;
        let is_plain = page.is_plain(body.len() as u64);
        let kept = Self {
            is_plain,
            page: Arc::new(page),
            decoded: None,
        };
        // If the response has been replaced or evicted since, the next request reads what is there then.
        let is_kept = memory.add_derived(key, stored.content(), &Arc::new(kept.clone()));
        (is_kept || is_plain).then_some(kept)
    }

    /// Whether the body that was read is sent as it is.
    pub const fn is_plain(&self) -> bool {
        self.is_plain
    }
}

/// Whether there is room for tokens of this weight and `beside` bytes besides.
fn has_room(room: &mut Reservation, memory: &Memory, tokens: u64, beside: u64) -> bool {
    let all = tokens + beside;
    if all <= FEW.max(room.bytes()) {
        return true;
    }
    let more = (all - room.bytes()).max(STEP);
    let has_room = tokens <= MOST && room.grow(more);
    memory.make_room();
    has_room
}

/// Keeps what is found in a stored page that is read while it is sent. What it holds counts as in flight.
pub struct Keeper {
    cache: Arc<Cache>,
    key: Box<[u8]>,
    content: u64,
    tokens: Tokens,
    decoded: Option<Vec<u8>>,
    length: u64,
    room: Reservation,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("content", &self.content)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

impl Keeper {
    /// Begins for `stored`, whose key is `key`; `None` if memory does not hold it. `decodes` says that it is stored in
    /// a coding and is read without it.
    pub fn begin(worker: &Worker, key: &[u8], stored: &Stored, decodes: bool) -> Option<Self> {
        let cache = worker.cache.clone();
        let held = cache.memory.peek(key)?;
        let mut all = held.as_slice().iter();
        all.find(|held| held.content() == stored.content())?;
        let is_in_memory = !matches!(stored.body, Body::Disk(_) | Body::Parts(_));
        Some(Self {
            key: key.into(),
            content: stored.content(),
            tokens: Tokens::default(),
            decoded: (decodes && is_in_memory).then(Vec::new),
            length: 0,
            room: cache.memory.budget().reservation(),
            cache,
        })
    }

    /// Takes the next piece of the content. Returns `false` if there is no room to keep anything.
    pub fn piece(&mut self, piece: &[u8]) -> bool {
        self.length += piece.len() as u64;
        match &mut self.decoded {
            Some(all) if (all.len() + piece.len()) as u64 <= MOST => all.extend_from_slice(piece),
            // The page will be decoded again each time, but not read.
            _ => self.decoded = None,
        }
        self.has_room()
    }

    /// Takes the next token. Returns `false` if there is no room to keep anything.
    pub fn token(&mut self, token: Token) -> bool {
        self.tokens.push(token);
        self.has_room()
    }

    /// Returns the tokens so far.
    pub fn tokens(&self) -> &[Token] {
        self.tokens.as_slice()
    }

    fn has_room(&mut self) -> bool {
        let decoded = self.decoded.as_ref().map_or(0, Vec::capacity) as u64;
        let (tokens, memory) = (self.tokens.weight(), &self.cache.memory);
        has_room(&mut self.room, memory, tokens, decoded)
    }

    /// Stops keeping. The tokens so far are for the requests that still need them, and count as long as they are here.
    pub fn stop(&mut self) {
        self.decoded = None;
        self.tokens.shrink();
        self.room.shrink_to(self.tokens.weight());
    }

    /// Keeps the page, all of which was read. If the response has been replaced or evicted since, the next request
    /// reads what is there then. In that case the page is only for the requests that are getting it now, and comes with
    /// the room that it takes.
    pub fn keep(mut self) -> (Arc<Page>, Option<Reservation>) {
        let page = Page::from(self.tokens);
        let is_plain = page.is_plain(self.length);
        let decoded = self.decoded.filter(|_| !is_plain);
        let page = Arc::new(page);
        let kept = ReadPage {
            page: page.clone(),
            decoded: decoded.map(|all| Bytes::from(all.into_boxed_slice())),
            is_plain,
        };
        self.room.shrink_to(page.weight());
        let memory = &self.cache.memory;
        let is_kept = memory.add_derived(&self.key, self.content, &Arc::new(kept));
        (page, (!is_kept).then_some(self.room))
    }
}
