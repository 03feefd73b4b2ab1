//! The segments of a page that are read but not sent yet.

use super::{
    context::Context,
    fragment::{Fate, Fragment},
    texts::{Text, Texts},
};
use std::{collections::VecDeque, rc::Rc, task};

/// Segments in the order in which they are sent.
pub type Segments = VecDeque<Segment>;

/// A piece of a page.
#[derive(Debug)]
pub enum Segment {
    /// Text that is sent as it is, up to the next segment of another kind.
    Text(Texts),
    /// A fragment, which is sent in this place. It takes several times as much as other segments.
    Include(Box<Fragment>),
    /// One of two sides is sent, once it is known which.
    Try(Box<Try>),
}

/// An attempt, and what is sent in its place if it fails.
#[derive(Debug, Default)]
pub struct Try {
    /// Sent if all of it can be had.
    pub attempt: Segments,
    /// What is sent in its place otherwise.
    pub except: Segments,
    /// The side that is being read.
    pub side: Option<Side>,
}

/// A side of a [`Try`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `esi:attempt`.
    Attempt,
    /// `esi:except`.
    Except,
}

/// Adds `text` to `segments`: to the text at their end, if there is any.
pub fn push_text(segments: &mut Segments, text: Text) {
    match segments.back_mut() {
        Some(Segment::Text(texts)) => texts.push(text),
        _ => segments.push_back(Segment::Text(text.into())),
    }
}

/// How much is buffered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// The number of segments, including those inside others. Each piece of text counts as one. Each has a cost of its
    /// own.
    pub segments: usize,
    /// Bytes of their text. Fragments do not count.
    pub bytes: usize,
    /// Those bytes that were made here.
    pub made: usize,
}

impl Buffered {
    /// Returns what `segments` hold, with both sides of each attempt.
    pub fn of(segments: &Segments) -> Self {
        segments.iter().fold(Self::default(), |buffered, segment| {
            let buffered = buffered.with(Self::one(segment));
            match segment {
                Segment::Text(_) | Segment::Include(_) => buffered,
                Segment::Try(both) => buffered
                    .with(Self::of(&both.attempt))
                    .with(Self::of(&both.except)),
            }
        })
    }

    /// Returns the size of one segment, without those inside it.
    pub fn one(segment: &Segment) -> Self {
        match segment {
            Segment::Text(texts) => texts.buffered(),
            Segment::Include(_) | Segment::Try(_) => Self {
                segments: 1,
                ..Self::default()
            },
        }
    }

    /// Adds `more`.
    pub const fn with(self, more: Self) -> Self {
        Self {
            segments: self.segments + more.segments,
            bytes: self.bytes + more.bytes,
            made: self.made + more.made,
        }
    }

    /// Subtracts `less`.
    pub const fn without(self, less: Self) -> Self {
        Self {
            segments: self.segments.saturating_sub(less.segments),
            bytes: self.bytes.saturating_sub(less.bytes),
            made: self.made.saturating_sub(less.made),
        }
    }
}

impl Try {
    /// Returns where the segments now being read belong.
    pub fn reading(&mut self) -> Option<&mut Segments> {
        match self.side? {
            Side::Attempt => Some(&mut self.attempt),
            Side::Except => Some(&mut self.except),
        }
    }

    /// Whether the attempt succeeded: every include in it that must not fail is good.
    pub fn fate(&self) -> Fate {
        fate(&self.attempt)
    }

    /// Whether the side that is sent is good.
    fn sent_fate(&self) -> Fate {
        match self.fate() {
            Fate::Missing => fate(&self.except),
            known => known,
        }
    }
}

/// Returns what is known of all of `segments` together.
fn fate(segments: &Segments) -> Fate {
    let mut fate = Fate::Good;
    for segment in segments {
        let one = match segment {
            Segment::Text(_) => Fate::Good,
            Segment::Include(fragment) => fragment.fate(),
            Segment::Try(inner) => inner.sent_fate(),
        };
        match one {
            Fate::Missing => return Fate::Missing,
            Fate::Open => fate = Fate::Open,
            Fate::Good => {}
        }
    }
    fate
}

/// Which segments of a page [`forward`] takes care of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchPriority {
    /// The segments that are sent from their beginning. A fragment counts until it is at hand.
    Next,
    /// The segments after those.
    Later,
    /// An attempt for which everything else waits. A fragment counts until its head is there, since no content is read
    /// before all heads are.
    Attempt,
}

/// Asks for includes in order, as long as `most` allows, and polls those that were asked for. An include for which
/// everything else waits is asked for in any case.
pub fn forward(
    segments: &mut Segments,
    context: &Rc<Context>,
    task: &mut task::Context<'_>,
    most: &mut usize,
    priority: FetchPriority,
) {
    for (index, segment) in segments.iter_mut().enumerate() {
        let in_any_case = priority == FetchPriority::Next && index == 0;
        match segment {
            Segment::Text(_) => {}
            Segment::Include(fragment) => {
                if fragment.is_idle() && (*most > 0 || in_any_case) {
                    fragment.begin(context);
                }
                fragment.poll_head(context, task);
                let counts = match priority {
                    FetchPriority::Attempt => fragment.is_awaiting_head(),
                    FetchPriority::Next | FetchPriority::Later => fragment.is_under_way(),
                };
                *most = most.saturating_sub(usize::from(counts));
            }
            Segment::Try(both) => {
                let priority = match priority {
                    FetchPriority::Next if in_any_case => FetchPriority::Attempt,
                    FetchPriority::Attempt => FetchPriority::Attempt,
                    FetchPriority::Next | FetchPriority::Later => FetchPriority::Later,
                };
                forward(&mut both.attempt, context, task, most, priority);
                // The one that is sent next is replaced by its exception instead.
                if !in_any_case && both.fate() == Fate::Missing {
                    forward(&mut both.except, context, task, most, priority);
                }
            }
        }
    }
}

/// Reads ahead up to `left` bytes that have begun to come for the includes of `segments`: unread content holds turns at
/// the origin.
pub fn read_ahead<'a>(
    segments: impl IntoIterator<Item = &'a mut Segment>,
    context: &Context,
    task: &mut task::Context<'_>,
    left: &mut u64,
) {
    for segment in segments {
        match segment {
            Segment::Text(_) => {}
            Segment::Include(fragment) => fragment.read_ahead(context, task, left),
            Segment::Try(both) => {
                read_ahead(&mut both.attempt, context, task, left);
                read_ahead(&mut both.except, context, task, left);
            }
        }
    }
}

/// Returns the bytes of `segments`' fragments that are [read ahead](Fragment::read_ahead).
pub fn ahead(segments: &Segments) -> u64 {
    let each = segments.iter().map(|segment| match segment {
        Segment::Text(_) => 0,
        Segment::Include(fragment) => fragment.ahead(),
        Segment::Try(both) => ahead(&both.attempt) + ahead(&both.except),
    });
    each.sum()
}

/// Returns the sum of what `bytes` says of each include of `segments`.
pub fn sum(segments: &Segments, bytes: fn(&Fragment) -> u64) -> u64 {
    let each = segments.iter().map(|segment| match segment {
        Segment::Text(_) => 0,
        Segment::Include(fragment) => bytes(fragment),
        Segment::Try(both) => sum(&both.attempt, bytes) + sum(&both.except, bytes),
    });
    each.sum()
}

/// Lets each fragment of `segments` [read little](Fragment::read_little_if).
pub fn read_little_if(segments: &mut Segments, short: bool) {
    for segment in segments {
        match segment {
            Segment::Text(_) => {}
            Segment::Include(fragment) => fragment.read_little_if(short),
            Segment::Try(both) => {
                read_little_if(&mut both.attempt, short);
                read_little_if(&mut both.except, short);
            }
        }
    }
}

/// Returns the bytes of `segments`' fragments that may wait [unread](Fragment::unread).
pub fn unread(segments: &Segments) -> u64 {
    let each = segments.iter().map(|segment| match segment {
        Segment::Text(_) => 0,
        Segment::Include(fragment) => fragment.unread(),
        Segment::Try(both) => unread(&both.attempt) + unread(&both.except),
    });
    each.sum()
}
