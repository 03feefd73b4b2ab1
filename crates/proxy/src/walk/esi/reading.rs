//! Reads a stored page while it is sent: the request that is furthest ahead reads for all.

use super::kept::Keeper;
use crate::cache::Worker;
use bytes::Bytes;
use esi::{Page, Parser, Span, Token};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use store::{Reservation, Stored};

/// Pages that are being read, by the identity of their content. Looked up only if a page has not been read yet.
#[derive(Debug, Default)]
pub struct Readings(Mutex<HashMap<u64, Weak<Reading>>>);

/// A page that is being read for all requests that get it. Each brings the content as it comes, and the part that no
/// other has brought yet is read. So a slow client delays no other, and one that leaves is not missed.
#[derive(Debug)]
pub struct Reading(Mutex<ReadingState>);

#[derive(Debug)]
struct ReadingState {
    parser: Parser,
    /// `None` once all is kept.
    keeper: Option<Keeper>,
    /// The length of the content that was brought.
    brought: u64,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    Reading,
    /// All of it was read.
    Read {
        page: Arc<Page>,
        /// What the page takes, if memory did not keep it.
        _room: Option<Reservation>,
    },
    /// There is no room for more: each request reads on alone.
    Stopped,
}

/// Who reads a page.
pub enum Begun {
    /// The caller is the first to read it.
    First(Arc<Reading>),
    /// Another has begun.
    UnderWay(Arc<Reading>),
    /// The caller reads for itself alone, since what it reads cannot be kept.
    Alone,
}

/// What comes next for a request that gets the page.
#[derive(Debug)]
pub enum Next {
    /// A token other than text.
    Token(Token),
    /// Text, from the end of what was already given.
    Text(Span),
    /// The text given so far is all of this token.
    Passed,
    /// The page's end.
    End,
    /// Nothing until a request brings more. Later text begins at this offset or after it.
    More(u64),
    /// Reading for all has stopped. This parser reads on; it has been given this many bytes.
    Stopped(Box<Parser>, u64),
}

impl Readings {
    /// Says who reads `stored`, whose key is `key`. `decodes` says that it is stored in a coding and is read without
    /// it.
    pub fn begin(&self, worker: &Worker, key: &[u8], stored: &Stored, decodes: bool) -> Begun {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let under_way = all.get(&stored.content()).and_then(Weak::upgrade);
        if let Some(reading) = under_way.filter(|reading| !reading.is_stopped()) {
            return Begun::UnderWay(reading);
        }
        let Some(keeper) = Keeper::begin(worker, key, stored, decodes) else {
            return Begun::Alone;
        };
        let reading = Arc::new(Reading(Mutex::new(ReadingState {
            parser: Parser::new(),
            keeper: Some(keeper),
            brought: 0,
            progress: Progress::Reading,
        })));
        all.retain(|_, reading| reading.strong_count() > 0);
        all.insert(stored.content(), Arc::downgrade(&reading));
        Begun::First(reading)
    }
}

impl Reading {
    /// Brings a piece of the content, which begins at `offset`. Each request that gets the page brings all of it, in
    /// order.
    pub fn bring(&self, offset: u64, piece: &Bytes) {
        let mut state = self.lock();
        let known = state.brought.saturating_sub(offset);
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        if known < piece.len() && matches!(state.progress, Progress::Reading) {
            state.push(piece.slice(known..));
        }
    }

    /// Says that the content has ended.
    pub fn finish(&self) {
        let mut state = self.lock();
        if matches!(state.progress, Progress::Reading) {
            state.parser.finish();
            state.read();
            state.end();
        }
    }

    /// Returns what comes after the first `at` tokens, and after the text up to `given`.
    pub fn next(&self, at: usize, given: u64) -> Next {
        let state = self.lock();
        let tokens = state.tokens();
        match tokens.get(at) {
            Some(Token::Text(span)) if span.end > given => {
                let start = span.start.max(given);
                Next::Text(Span { start, ..*span })
            }
            // The last one may grow.
            Some(Token::Text(_)) if at + 1 < tokens.len() => Next::Passed,
            Some(token) if !matches!(token, Token::Text(_)) => Next::Token(token.clone()),
            last => match &state.progress {
                Progress::Reading => Next::More(state.parser.position()),
                Progress::Read { .. } if last.is_some() => Next::Passed,
                Progress::Read { .. } => Next::End,
                Progress::Stopped => Next::Stopped(Box::new(state.parser.clone()), state.brought),
            },
        }
    }

    fn is_stopped(&self) -> bool {
        matches!(self.lock().progress, Progress::Stopped)
    }

    fn lock(&self) -> MutexGuard<'_, ReadingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadingState {
    fn tokens(&self) -> &[Token] {
        match (&self.progress, &self.keeper) {
            (Progress::Read { page, .. }, _) => page.tokens(),
            (_, Some(keeper)) => keeper.tokens(),
            (_, None) => &[],
        }
    }

    fn push(&mut self, piece: Bytes) {
        self.brought += piece.len() as u64;
        let has_room = self.keeper.as_mut().is_some_and(|all| all.piece(&piece));
        self.parser.push(piece);
        if has_room {
            self.read();
        } else {
            self.stop();
        }
    }

    /// Reads what is at hand, as long as there is room to keep it.
    fn read(&mut self) {
        while let Some(token) = self.parser.next() {
            if !self.keeper.as_mut().is_some_and(|all| all.token(token)) {
                self.stop();
                return;
            }
        }
    }

    fn stop(&mut self) {
        self.progress = Progress::Stopped;
        if let Some(keeper) = &mut self.keeper {
            keeper.stop();
        }
    }

    /// Keeps the page, if there was room for all of it.
    fn end(&mut self) {
        if matches!(self.progress, Progress::Reading)
            && let Some(keeper) = self.keeper.take()
        {
            let (page, room) = keeper.keep();
            self.progress = Progress::Read { page, _room: room };
        }
    }
}
