//! The place of a value that the page may reach in several ways: through one branch of `choose` or another, through a
//! side of `try`, through a value or its default.

use super::{elements::OpenElement, html::Html};
use crate::{
    escape::{EscapeContext, Part},
    variable::Variable,
};
use memchr::memchr;

/// The greatest number of ways that are told apart. If there are more, those are followed on which values are escaped
/// most.
const MOST_WAYS: usize = 8;

/// Follows the page's own text that is sent on each way that may lead to the current place.
#[derive(Clone, Debug)]
pub(super) struct Forks {
    /// The ways; never empty, and no two alike.
    ways: Vec<Html>,
    /// The open elements of which one part is sent.
    open: Vec<Fork>,
}

/// An element of which one part is sent.
#[derive(Clone, Debug)]
struct Fork {
    begin: Vec<Html>,
    /// The ways at the end of the `when` branches, or of the attempt.
    first: Option<Vec<Html>>,
    /// The ways at the end of what is sent instead of them.
    instead: Option<Vec<Html>>,
    is_instead: bool,
}

impl Fork {
    /// The ways at the end of parts like the open one.
    const fn end(&mut self) -> &mut Option<Vec<Html>> {
        if self.is_instead {
            &mut self.instead
        } else {
            &mut self.first
        }
    }
}

impl Default for Forks {
    fn default() -> Self {
        Self {
            ways: vec![Html::default()],
            open: Vec::new(),
        }
    }
}

impl Forks {
    /// Adds the next text of the page.
    pub(super) fn text(&mut self, text: &[u8]) {
        read(&mut self.ways, text);
    }

    /// Whether `<!--` begins a comment here.
    pub(super) fn is_markup(&self) -> bool {
        self.likely().next().is_some() && self.likely().all(Html::is_markup)
    }

    /// Whether this is within a comment or `CDATA`.
    pub(super) fn is_skipped(&self) -> bool {
        self.likely().any(Html::is_skipped)
    }

    /// Whether the value of an attribute begins here on each way.
    pub(super) fn is_before_value(&self) -> bool {
        !self.ways.is_empty() && self.ways.iter().all(Html::is_before_value)
    }

    fn likely(&self) -> impl Iterator<Item = &Html> {
        self.ways.iter().filter(|way| !way.is_aside)
    }

    /// Places `variable` here. Returns how to escape it, so that it stays a value on each way.
    pub(super) fn value(&mut self, variable: &Variable) -> EscapeContext {
        let mut instead = if variable.is_always_sent() {
            Vec::new()
        } else {
            self.ways.clone()
        };
        let places = self.ways.iter_mut().map(|way| variable.place(way.value()));
        let place = places.reduce(strictest).unwrap_or_default();
        // What comes behind a value without a default may stand where the value would.
        read(&mut instead, variable.default().as_bytes());
        join(&mut self.ways, instead);
        place
    }

    /// Opens an element or a part. `is_instead` says that it is sent if the earlier part of its element is not.
    pub(super) fn enter(&mut self, open: OpenElement, is_instead: bool) {
        match (open, self.open.last_mut()) {
            (OpenElement::Choose | OpenElement::Try, _) => self.open.push(Fork {
                begin: self.ways.clone(),
                first: None,
                instead: None,
                is_instead: false,
            }),
            (OpenElement::Branch | OpenElement::Side, Some(fork)) => {
                fork.is_instead = is_instead;
                let before = match open {
                    // An attempt in several parts is one attempt.
                    OpenElement::Side => fork.end().take(),
                    _ => None,
                };
                self.ways = before.unwrap_or_else(|| fork.begin.clone());
            }
            (OpenElement::Branch | OpenElement::Side, None) => {}
        }
    }

    /// Closes the element or part that was opened last.
    pub(super) fn leave(&mut self, open: OpenElement) {
        match open {
            OpenElement::Branch | OpenElement::Side => {
                if let Some(fork) = self.open.last_mut() {
                    let begin = fork.begin.clone();
                    let ways = std::mem::replace(&mut self.ways, begin);
                    join(fork.end().get_or_insert_default(), ways);
                }
            }
            OpenElement::Choose | OpenElement::Try => {
                if let Some(fork) = self.open.pop() {
                    // If a part is absent, nothing is sent in its place.
                    self.ways.clear();
                    for end in [fork.first, fork.instead] {
                        join(&mut self.ways, end.unwrap_or_else(|| fork.begin.clone()));
                    }
                }
            }
        }
    }
}

/// Reads text on all ways. They go side by side from one `>` to the next, behind which one way may become two: so ways
/// that meet again become one before they part again.
fn read(ways: &mut Vec<Html>, text: &[u8]) {
    let mut rest = text;
    while !rest.is_empty() {
        let end = memchr(b'>', rest).map_or(rest.len(), |at| at + 1);
        let (part, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        rest = after;
        for way in ways.iter_mut() {
            way.text(part);
        }
        let others: Vec<_> = ways.iter_mut().filter_map(Html::other).collect();
        if ways.len() + others.len() > 1 {
            let all = std::mem::take(ways).into_iter().chain(others);
            join(ways, all);
        }
    }
}

/// Adds `more` to `ways`.
fn join(ways: &mut Vec<Html>, more: impl IntoIterator<Item = Html>) {
    for way in more {
        match ways.iter_mut().find(|known| known.is_like(&way)) {
            Some(known) => known.is_aside &= way.is_aside,
            None => ways.push(way),
        }
    }
    if ways.len() > MOST_WAYS {
        ways.sort_by_cached_key(|way| std::cmp::Reverse(strictness(way.clone().value())));
        ways.truncate(MOST_WAYS);
    }
}

/// How to escape a value that may be in either place.
fn strictest(one: EscapeContext, other: EscapeContext) -> EscapeContext {
    let (less, more) = if strictness(one) < strictness(other) {
        (one, other)
    } else {
        (other, one)
    };
    match (less, more) {
        (less, more) if less == more => more,
        (EscapeContext::Text, more) => more,
        (_, EscapeContext::Nothing) => EscapeContext::Nothing,
        // A backslash is a slash in an address, and what is code in one is decoded first.
        (
            EscapeContext::Address(_),
            EscapeContext::Style | EscapeContext::StyleSlash | EscapeContext::Script,
        )
        | (_, EscapeContext::Address(Part::Code)) => EscapeContext::Address(Part::Code),
        // The part that lets nothing through.
        (EscapeContext::Name, EscapeContext::Document) | (_, EscapeContext::Address(_)) => {
            EscapeContext::Address(Part::Any)
        }
        (_, more) => more,
    }
}

/// The strictness of a place. A value escaped for a place stays a value in all places that are less strict.
const fn strictness(place: EscapeContext) -> u8 {
    match place {
        EscapeContext::Text => 0,
        EscapeContext::Name => 1,
        EscapeContext::Document => 2,
        EscapeContext::Address(Part::Code) => 7,
        EscapeContext::Address(_) => 3,
        EscapeContext::Style => 4,
        EscapeContext::StyleSlash => 5,
        EscapeContext::Script => 6,
        EscapeContext::Nothing => 8,
    }
}
