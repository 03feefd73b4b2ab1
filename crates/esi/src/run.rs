//! Turns tokens into what is sent, for one request.

use crate::{Address, Request, Span, Token};

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send these bytes of the body.
    Text(Span),
    /// Send this.
    Value(String),
    /// Send what this names.
    Include(Address),
    /// An attempt, and what to send if it fails. Ends with [`Step::End`].
    Try,
    /// The attempt. It fails if an include in it fails that may not. Ends with [`Step::End`].
    Attempt,
    /// What to send instead of a failed attempt. Ends with [`Step::End`].
    Except,
    /// The end of the step that began last.
    End,
}

/// The state of a run. It is given the tokens in their order.
#[derive(Debug, Default)]
pub struct Run(Vec<Frame>);

#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: Kind,
    /// Whether its content was to be sent when it was opened.
    live: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Alternatives, and whether one was taken.
    Choose(bool),
    Branch,
    Try,
    Side,
}

impl Run {
    /// Creates a run at the beginning of a body.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the step that this token means for `request`; `None` if it means nothing.
    pub fn step(&mut self, token: &Token, request: &dyn Request) -> Option<Step> {
        let sends = self.is_sent();
        match token {
            Token::Text(span) => sends.then_some(Step::Text(*span)),
            Token::Value(variable, place) => {
                let mut value = String::new();
                if let Some(theirs) = variable.sent(request).filter(|_| sends) {
                    place.escape(&theirs, &mut value);
                }
                // Nothing may be left of what was sent.
                if sends && value.is_empty() {
                    value.push_str(variable.default());
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

    /// Whether content is sent here. Content directly in `choose` and `try`, outside their parts, is not.
    fn is_sent(&self) -> bool {
        self.0
            .last()
            .is_none_or(|frame| frame.live && matches!(frame.kind, Kind::Branch | Kind::Side))
    }

    /// Opens a side of `try`.
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
