//! From tokens to what is sent, for one request.

use crate::{Address, Request, Span, Token};

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These bytes of the body are sent.
    Text(Span),
    /// This is sent.
    Value(String),
    /// What this names is sent.
    Include(Address),
    /// An attempt and what is sent if it fails; ends with [`Step::End`].
    Try,
    /// The attempt; ends with [`Step::End`]. It fails where an include in it fails that may not.
    Attempt,
    /// What is sent in its place; ends with [`Step::End`].
    Except,
    /// The end of what began last.
    End,
}

/// Where a run stands. Tokens are given to it in their order.
#[derive(Debug, Default)]
pub struct Run(Vec<Frame>);

#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: Kind,
    /// Whether it was to be sent when it was opened.
    live: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Alternatives; whether one was taken.
    Choose(bool),
    Branch,
    Try,
    Side,
}

impl Run {
    /// At the beginning of a body.
    pub fn new() -> Self {
        Self::default()
    }

    /// What this token comes to for `request`; `None`: nothing.
    pub fn step(&mut self, token: &Token, request: &dyn Request) -> Option<Step> {
        let sends = self.is_sent();
        match token {
            Token::Text(span) => sends.then_some(Step::Text(*span)),
            Token::Value(variable, place) => {
                let mut value = String::new();
                match variable.sent(request).filter(|_| sends) {
                    Some(theirs) => place.escape(&theirs, &mut value),
                    None if sends => value.push_str(variable.default()),
                    None => {}
                }
                (!value.is_empty()).then_some(Step::Value(value))
            }
            Token::Include(include) => sends.then(|| Step::Include(include.address(request))),
            Token::Choose => self.open(Kind::Choose(false), sends),
            Token::When(test) => {
                let holds = self.may_take() && test.holds(request);
                self.take(holds)
            }
            Token::Otherwise => {
                let is_left = self.may_take();
                self.take(is_left)
            }
            Token::Try => {
                self.open(Kind::Try, sends);
                sends.then_some(Step::Try)
            }
            Token::Attempt => self.side(Step::Attempt),
            Token::Except => self.side(Step::Except),
            Token::End => {
                let frame = self.0.pop()?;
                let shown = matches!(frame.kind, Kind::Try | Kind::Side);
                (shown && frame.live).then_some(Step::End)
            }
        }
    }

    /// Whether content here is sent: what stands in `choose` and `try` themselves, beside their parts, is not.
    fn is_sent(&self) -> bool {
        self.0
            .last()
            .is_none_or(|frame| frame.live && matches!(frame.kind, Kind::Branch | Kind::Side))
    }

    /// A side of `try`.
    fn side(&mut self, step: Step) -> Option<Step> {
        let live = self.0.last().is_some_and(|frame| frame.live);
        self.open(Kind::Side, live);
        live.then_some(step)
    }

    fn open(&mut self, kind: Kind, live: bool) -> Option<Step> {
        self.0.push(Frame { kind, live });
        None
    }

    fn may_take(&self) -> bool {
        self.0
            .last()
            .is_some_and(|frame| frame.live && matches!(frame.kind, Kind::Choose(false)))
    }

    fn take(&mut self, holds: bool) -> Option<Step> {
        if let Some(Frame {
            kind: Kind::Choose(done),
            ..
        }) = self.0.last_mut()
        {
            *done |= holds;
        }
        self.open(Kind::Branch, holds)
    }
}
