//! Who is interested in a fill, and what becomes of one in which nobody is.

use super::{Fill, state::FillState};
use std::sync::Arc;

/// Who is interested in what is still to come of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interested {
    /// Somebody waits for it or reads it. Or it goes on for later requests ([`Interest::keep`]), and its end is known.
    /// Or everything that was announced has arrived: a reader that has read it all may be gone before the writer has
    /// finished.
    Somebody,
    /// It goes on for later requests alone, and nobody knows whether it will ever end.
    Later,
    /// Nobody, or the fill was [given up](super::Writer::give_up). It has failed then, so that nobody joins what the
    /// writer is about to leave.
    Nobody,
}

/// The interest of somebody who waits for this fill. The fetch goes on while any is held.
#[derive(Debug)]
pub struct Interest {
    pub(super) fill: Arc<Fill>,
}

impl Interest {
    /// Lets the fill go on to its end although nobody may read it: the client has its answer and did not leave. A fill
    /// that is spilled, or only [serves readers](super::Writer::serve_readers), would be of no use to anybody then, and
    /// does not go on. Its writer may [let it go](super::Writer::let_go).
    pub fn keep(self) {
        self.fill.lock().keep();
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        let mut state = self.fill.lock();
        state.interested -= 1;
        let writer = if state.interested == 0 {
            state.writer.take()
        } else {
            None
        };
        drop(state);
        if let Some(writer) = writer {
            writer.wake();
        }
    }
}

/// What happens to a fill when nobody is interested in it any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deserted {
    /// It is abandoned.
    Ends,
    /// It goes on to its end ([`Interest::keep`]).
    GoesOn,
    /// It is abandoned, even if somebody asked to keep it: it is spilled, or only [serves
    /// readers](super::Writer::serve_readers).
    AlwaysEnds,
}

impl FillState {
    /// Who is interested in what is still to come.
    pub fn interested(&self) -> Interested {
        if self.given_up {
            return Interested::Nobody;
        }
        let received = self.held.received();
        if self.interested > 0 || self.length.is_some_and(|length| received >= length) {
            return Interested::Somebody;
        }
        match (self.deserted, self.length) {
            (Deserted::GoesOn, Some(_)) => Interested::Somebody,
            (Deserted::GoesOn, None) => Interested::Later,
            (Deserted::Ends | Deserted::AlwaysEnds, _) => Interested::Nobody,
        }
    }

    /// See [`Interest::keep`].
    pub fn keep(&mut self) {
        if self.deserted == Deserted::Ends {
            self.deserted = Deserted::GoesOn;
        }
    }

    /// See [`Writer::let_go`](super::Writer::let_go).
    pub fn let_go(&mut self) {
        if self.deserted == Deserted::GoesOn {
            self.deserted = Deserted::Ends;
        }
    }
}
