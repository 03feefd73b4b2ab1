//! What a scripted origin does with one request.

mod play;

pub(crate) use play::Played;

use crate::Gate;
use std::fmt::Write as _;

/// The script of one answer. Steps that come before the head ([`Reply::interim`], [`Reply::hold_head`]) happen in the
/// order in which they were added, and so do those of the body ([`Reply::body`], [`Reply::hold`], [`Reply::cut`]…).
///
/// Without a word on framing the body has a `Content-Length`, and the connection is kept.
#[derive(Clone, Debug)]
pub struct Reply {
    start: String,
    fields: Vec<(String, String)>,
    trailers: Vec<(String, String)>,
    before: Vec<Step>,
    content: Vec<Step>,
    framing: Framing,
    dated: bool,
}

#[derive(Clone, Debug)]
enum Step {
    Bytes(Vec<u8>),
    Hold(Gate),
    Cut,
    Endless(Vec<u8>),
    UntilClientLeaves,
    Echo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(Option<usize>),
    Chunked,
    UntilClose,
    Raw,
}

impl Reply {
    /// 200.
    pub fn ok() -> Self {
        Self::status(200)
    }

    /// Any status.
    pub fn status(status: u16) -> Self {
        Self {
            start: format!("HTTP/1.1 {status} Scripted"),
            fields: Vec::new(),
            trailers: Vec::new(),
            before: Vec::new(),
            content: Vec::new(),
            framing: Framing::Length(None),
            dated: true,
        }
    }

    /// These bytes in place of a head, whatever they are; then what body steps say; then the connection is closed.
    pub fn raw(bytes: impl AsRef<[u8]>) -> Self {
        let reply = Self {
            framing: Framing::Raw,
            ..Self::ok()
        };
        reply.body(bytes)
    }

    /// Closes the connection without an answer.
    pub fn close() -> Self {
        Self::raw("")
    }

    /// 101 to this protocol, then sends back every byte that comes until the other side ends.
    pub fn upgrade(protocol: &str) -> Self {
        let mut reply = Self::status(101)
            .header("Connection", "upgrade")
            .header("Upgrade", protocol);
        reply.content.push(Step::Echo);
        reply.framing = Framing::UntilClose;
        reply
    }

    /// Adds a field.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.fields
            .push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Adds a `Cache-Control` line.
    #[must_use]
    pub fn cache(self, value: &str) -> Self {
        self.header("Cache-Control", value)
    }

    /// Leaves out `Date`, which is otherwise now.
    #[must_use]
    pub fn undated(mut self) -> Self {
        self.dated = false;
        self
    }

    /// Adds to the body; each addition is a write of its own, and a chunk of its own.
    #[must_use]
    pub fn body(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.content.push(Step::Bytes(bytes.as_ref().to_vec()));
        self
    }

    /// Announces this length, whatever the body has.
    #[must_use]
    pub fn length(mut self, length: usize) -> Self {
        self.framing = Framing::Length(Some(length));
        self
    }

    /// Frames the body in chunks.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.framing = Framing::Chunked;
        self
    }

    /// Adds a trailer field, and frames the body in chunks.
    #[must_use]
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        self.trailers.push((name.to_owned(), value.to_owned()));
        self.chunked()
    }

    /// Gives no length: the body ends with the connection.
    #[must_use]
    pub fn until_close(mut self) -> Self {
        self.framing = Framing::UntilClose;
        self
    }

    /// An interim response before the head.
    #[must_use]
    pub fn interim(mut self, status: u16, fields: &[(&str, &str)]) -> Self {
        let mut head = format!("HTTP/1.1 {status} Interim\r\n");
        for (name, value) in fields {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        self.before.push(Step::Bytes(head.into_bytes()));
        self
    }

    /// Stops at the gate before the head.
    #[must_use]
    pub fn hold_head(mut self, gate: &Gate) -> Self {
        self.before.push(Step::Hold(gate.clone()));
        self
    }

    /// Stops at the gate here in the body. What was written before has been sent.
    #[must_use]
    pub fn hold(mut self, gate: &Gate) -> Self {
        self.content.push(Step::Hold(gate.clone()));
        self
    }

    /// Closes the connection here in the body.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.content.push(Step::Cut);
        self
    }

    /// Sends these bytes again and again until the other side goes away: in chunks unless told otherwise, as it has no
    /// length.
    #[must_use]
    pub fn endless(mut self, bytes: impl AsRef<[u8]>) -> Self {
        if self.framing == Framing::Length(None) {
            self.framing = Framing::Chunked;
        }
        self.content.push(Step::Endless(bytes.as_ref().to_vec()));
        self
    }

    /// Sends nothing more, and waits until the other side goes away (see `Origin::abandoned`).
    #[must_use]
    pub fn until_client_leaves(mut self) -> Self {
        self.content.push(Step::UntilClientLeaves);
        self
    }

    /// As [`Reply::until_client_leaves`], before the head.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.before.push(Step::UntilClientLeaves);
        self
    }
}
