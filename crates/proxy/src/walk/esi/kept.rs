//! What a stored page was read to be, kept beside it: whoever gets it next reads nothing.

use crate::cache::{Cache, Worker};
use bytes::Bytes;
use esi::{Page, Token, Tokens};
use std::{fmt, sync::Arc};
use store::{Body, Derived, Memory, Reservation, Stored};

/// The most that is kept of one page: bytes of memory that its tokens take, and bytes of content that came coded.
const MOST: u64 = 1 << 20;

/// Room is taken of the budget in steps of so many bytes.
const STEP: u64 = 16 << 10;

/// What takes no more is read without asking for room, as a page with nothing in it is: it is less than what a connection has for
/// its own.
const FEW: u64 = 1 << 10;

/// What a stored page was read to be.
#[derive(Clone, Debug)]
pub struct ReadPage {
    pub(super) page: Arc<Page>,
    /// The content, where it is stored in a coding.
    pub(super) decoded: Option<Bytes>,
    is_plain: bool,
}

impl Derived for ReadPage {
    fn weight(&self) -> u64 {
        self.page.weight() + self.decoded.as_ref().map_or(0, |all| all.len() as u64)
    }
}

impl ReadPage {
    /// Reads a body that is all there, of `stored`, which lies under `key`, and keeps what was read beside it. `None` where there is
    /// something to be done in it and memory has no room to keep that: it is to be read while it is sent.
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
        // Where it has been replaced or evicted since, whoever finds what is there now reads that.
        let is_kept = memory.add_derived(key, stored.content(), &Arc::new(kept.clone()));
        (is_kept || is_plain).then_some(kept)
    }

    /// Whether the body, which it was read from, is sent as it is.
    pub const fn is_plain(&self) -> bool {
        self.is_plain
    }
}

/// Whether there is room for tokens of this weight, and so much beside them.
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

/// Keeps what a stored page is read to be while it is sent. What it holds counts as in flight.
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
    /// For `stored`, which lies under `key`; `None` where memory does not hold it. `decodes`: it is stored in a coding, and read
    /// without.
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

    /// The next piece of the content. False where there is no room to keep anything.
    pub fn piece(&mut self, piece: &[u8]) -> bool {
        self.length += piece.len() as u64;
        match &mut self.decoded {
            Some(all) if (all.len() + piece.len()) as u64 <= MOST => all.extend_from_slice(piece),
            // It is decoded again each time, but not read.
            _ => self.decoded = None,
        }
        self.has_room()
    }

    /// The next token. False where there is no room to keep anything.
    pub fn token(&mut self, token: Token) -> bool {
        self.tokens.push(token);
        self.has_room()
    }

    /// The tokens so far.
    pub fn tokens(&self) -> &[Token] {
        self.tokens.as_slice()
    }

    fn has_room(&mut self) -> bool {
        let decoded = self.decoded.as_ref().map_or(0, Vec::capacity) as u64;
        let (tokens, memory) = (self.tokens.weight(), &self.cache.memory);
        has_room(&mut self.room, memory, tokens, decoded)
    }

    /// Nothing more is kept. The tokens so far are for those who have still to get them, and count as long as they are here.
    pub fn stop(&mut self) {
        self.decoded = None;
        self.tokens.shrink();
        self.room.shrink_to(self.tokens.weight());
    }

    /// All of it was read. Where it has been replaced or evicted since, whoever finds what is there now reads that; what was read is then
    /// for those who get it now, and comes with the room that it takes.
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
