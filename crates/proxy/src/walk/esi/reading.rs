//! Reading a stored page while it is sent: whoever is ahead reads for all.

use super::kept::Keeper;
use crate::cache::Worker;
use bytes::Bytes;
use esi::{Page, Parser, Span, Token};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use store::{Reservation, Stored};

/// Pages that are being read, by the identity of their content. Asked only where a page was not read yet.
#[derive(Debug, Default)]
pub struct Readings(Mutex<HashMap<u64, Weak<Reading>>>);

/// A page that is being read by all who get it. Each brings the content as it comes to them, and what nobody has brought before is
/// read: a slow client holds up nobody, and one that leaves is not missed.
#[derive(Debug)]
pub struct Reading(Mutex<ReadingState>);

#[derive(Debug)]
struct ReadingState {
    parser: Parser,
    /// `None` when all is kept.
    keeper: Option<Keeper>,
    /// The length of what was brought.
    brought: u64,
    standing: Standing,
}

#[derive(Debug)]
enum Standing {
    Reading,
    /// All of it was read.
    Read {
        page: Arc<Page>,
        /// What it takes, where memory did not keep it.
        _room: Option<Reservation>,
    },
    /// There is no room for more: each reads on alone.
    Stopped,
}

/// Who reads a page.
pub enum Begun {
    /// It begins with the caller.
    First(Arc<Reading>),
    /// It is under way.
    UnderWay(Arc<Reading>),
    /// Nobody for others: what is read cannot be kept.
    Alone,
}

/// What comes next for one who gets the page.
#[derive(Debug)]
pub enum Next {
    /// A token other than text.
    Token(Token),
    /// Text, from what was given of it on.
    Text(Span),
    /// The text that was given is all of this token.
    Passed,
    /// The page's end.
    End,
    /// Nothing before somebody brings more. What comes before this offset is no text any more.
    More(u64),
    /// Nobody reads for others any more: a parser to go on with, which has been given so many bytes.
    Stopped(Box<Parser>, u64),
}

impl Readings {
    /// Who reads `stored`, which lies under `key`. `decodes`: it is stored in a coding, and read without.
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
            standing: Standing::Reading,
        })));
        all.retain(|_, reading| reading.strong_count() > 0);
        all.insert(stored.content(), Arc::downgrade(&reading));
        Begun::First(reading)
    }
}

impl Reading {
    /// A piece of the content, which begins at `offset`. Each who gets the page brings all of it, in its order.
    pub fn bring(&self, offset: u64, piece: &Bytes) {
        let mut state = self.lock();
        let known = state.brought.saturating_sub(offset);
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        if known < piece.len() && matches!(state.standing, Standing::Reading) {
            state.push(piece.slice(known..));
        }
    }

    /// The content has ended.
    pub fn finish(&self) {
        let mut state = self.lock();
        if matches!(state.standing, Standing::Reading) {
            state.parser.finish();
            state.read();
            state.end();
        }
    }

    /// What comes after so many tokens, and after the text up to `given`.
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
            last => match &state.standing {
                Standing::Reading => Next::More(state.parser.position()),
                Standing::Read { .. } if last.is_some() => Next::Passed,
                Standing::Read { .. } => Next::End,
                Standing::Stopped => Next::Stopped(Box::new(state.parser.clone()), state.brought),
            },
        }
    }

    fn is_stopped(&self) -> bool {
        matches!(self.lock().standing, Standing::Stopped)
    }

    fn lock(&self) -> MutexGuard<'_, ReadingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadingState {
    fn tokens(&self) -> &[Token] {
        match (&self.standing, &self.keeper) {
            (Standing::Read { page, .. }, _) => page.tokens(),
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

    /// Reads what is at hand, as far as there is room to keep it.
    fn read(&mut self) {
        while let Some(token) = self.parser.next() {
            if !self.keeper.as_mut().is_some_and(|all| all.token(token)) {
                self.stop();
                return;
            }
        }
    }

    fn stop(&mut self) {
        self.standing = Standing::Stopped;
        if let Some(keeper) = &mut self.keeper {
            keeper.stop();
        }
    }

    /// All was read, if there was room.
    fn end(&mut self) {
        if matches!(self.standing, Standing::Reading)
            && let Some(keeper) = self.keeper.take()
        {
            let (page, room) = keeper.keep();
            self.standing = Standing::Read { page, _room: room };
        }
    }
}
