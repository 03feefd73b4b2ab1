//! What of a page is read and not sent yet.

use super::{
    context::Context,
    fragment::{Fate, Fragment},
};
use bytes::Bytes;
use std::{collections::VecDeque, rc::Rc, task};

/// Segments in the order in which they are sent.
pub type Segments = VecDeque<Segment>;

#[derive(Debug)]
pub enum Segment {
    Text(Bytes),
    Include(Fragment),
    Try(Box<Try>),
}

/// An attempt, and what is sent in its place where it fails.
#[derive(Debug, Default)]
pub struct Try {
    pub attempt: Segments,
    pub except: Segments,
    /// The side that is being read.
    pub side: Option<Side>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Attempt,
    Except,
}

/// How much is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub segments: usize,
    pub bytes: usize,
}

impl Held {
    pub fn of(segments: &Segments) -> Self {
        segments
            .iter()
            .fold(Self::default(), |held, segment| match segment {
                Segment::Text(text) => held.with(1, text.len()),
                Segment::Include(_) => held.with(1, 0),
                Segment::Try(both) => {
                    let (attempt, except) = (Self::of(&both.attempt), Self::of(&both.except));
                    held.with(1 + attempt.segments, attempt.bytes)
                        .with(except.segments, except.bytes)
                }
            })
    }

    pub fn with(self, segments: usize, bytes: usize) -> Self {
        Self {
            segments: self.segments + segments,
            bytes: self.bytes + bytes,
        }
    }
}

impl Try {
    /// Where what is read now belongs.
    pub fn reading(&mut self) -> Option<&mut Segments> {
        match self.side? {
            Side::Attempt => Some(&mut self.attempt),
            Side::Except => Some(&mut self.except),
        }
    }

    /// Whether the attempt succeeded: every include in it that may not fail is good.
    pub fn fate(&self) -> Fate {
        let mut fate = Fate::Good;
        for segment in &self.attempt {
            match segment {
                Segment::Text(_) => {}
                Segment::Include(fragment) => match fragment.fate() {
                    Fate::Missing => return Fate::Missing,
                    Fate::Open => fate = Fate::Open,
                    Fate::Good => {}
                },
                // Whichever way it goes, it goes.
                Segment::Try(inner) => {
                    if inner.fate() == Fate::Open {
                        fate = Fate::Open;
                    }
                }
            }
        }
        fate
    }
}

/// Asks for includes in their order as long as `most` allows, and looks after those that are asked for. `first`: whether what
/// comes first is asked for in any case, since everything waits for it.
pub fn forward(
    segments: &mut Segments,
    context: &Rc<Context>,
    task: &mut task::Context<'_>,
    most: &mut usize,
    first: bool,
) {
    for (index, segment) in segments.iter_mut().enumerate() {
        let in_any_case = first && index == 0;
        match segment {
            Segment::Text(_) => {}
            Segment::Include(fragment) => {
                if fragment.is_idle() && (*most > 0 || in_any_case) {
                    fragment.begin(context);
                }
                fragment.poll_head(context, task);
                if fragment.is_under_way() {
                    *most = most.saturating_sub(1);
                }
            }
            Segment::Try(both) if in_any_case => {
                let mut all = usize::MAX;
                forward(&mut both.attempt, context, task, &mut all, true);
            }
            Segment::Try(both) => forward(&mut both.attempt, context, task, most, false),
        }
    }
}
