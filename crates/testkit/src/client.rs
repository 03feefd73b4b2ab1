//! The raw-byte client.

use crate::{
    Address, BOUND,
    stream::Stream,
    wire::{Head, Wire},
};
use std::{
    borrow::BorrowMut,
    fmt::Write as _,
    io::{self, Write as _},
    net::Shutdown,
    ops::Deref,
};

/// One connection to whatever is tested.
///
/// [`Client::get`] and [`Client::ask`] write well-formed requests; [`Client::send`] writes any bytes. Reading fails the
/// test when nothing comes within [`BOUND`], and says what had come until then.
#[derive(Debug)]
pub struct Client {
    wire: Wire,
    /// Whether the last request was HEAD, whose answer has no content.
    head_only: bool,
}

/// A final response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The status line and fields; a response derefs to it, so `response.header("age")` works.
    pub head: Head,
    /// The content, without transfer coding.
    pub body: Vec<u8>,
    /// Trailer fields.
    pub trailers: Vec<(String, String)>,
    /// Interim (1xx) responses that came before, 101 excepted: that one is final.
    pub interim: Vec<Head>,
    /// Whether the content came to its announced end.
    pub complete: bool,
}

impl Response {
    /// The content as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Every value of this field, joined with `, `; empty if it is absent.
    pub fn joined(&self, name: &str) -> String {
        self.headers(name).join(", ")
    }
}

impl Deref for Response {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

impl Client {
    /// Connects.
    pub fn connect(address: impl Into<Address>) -> Self {
        let address = address.into();
        let stream = Stream::connect(&address)
            .unwrap_or_else(|error| panic!("cannot connect to {address:?}: {error}"));
        Self {
            wire: Wire::new(stream),
            head_only: false,
        }
    }

    /// A GET request for this target.
    pub fn get(&mut self, target: &str) -> Ask<&mut Self> {
        self.ask("GET", target)
    }

    /// A request with this method and target.
    pub fn ask(&mut self, method: &str, target: &str) -> Ask<&mut Self> {
        Ask::new(self, method, target)
    }

    /// Writes these bytes. The other side may have closed already; then what it said before can still be read.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        if bytes.windows(9).any(|part| part == b" HTTP/1.1") {
            self.head_only = bytes.starts_with(b"HEAD ");
        }
        if let Err(error) = self.wire.stream.write_all(bytes) {
            let gone = matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            );
            assert!(gone, "cannot send {} bytes: {error}", bytes.len());
        }
    }

    /// Writes these bytes one by one, each in a write of its own.
    pub fn send_bytewise(&mut self, bytes: impl AsRef<[u8]>) {
        for byte in bytes.as_ref() {
            self.send([*byte]);
        }
    }

    /// Ends our side of the connection; reading goes on.
    pub fn end(&self) {
        self.wire.stream.shutdown(Shutdown::Write);
    }

    /// As [`read`](Self::read), of one answer among several that were asked for at once: to a HEAD or not.
    pub fn read_one(&mut self, head_only: bool) -> Response {
        self.head_only = head_only;
        self.read()
    }

    /// Reads one response: interim ones, the head, and the content.
    pub fn read(&mut self) -> Response {
        let mut response = self.read_head();
        self.read_content(&mut response);
        response
    }

    /// Reads up to the end of a final response's head.
    pub fn read_head(&mut self) -> Response {
        self.try_read_head()
            .unwrap_or_else(|| panic!("the connection was closed without a response"))
    }

    /// As [`Client::read_head`]; `None` if the connection is closed before.
    pub fn try_read_head(&mut self) -> Option<Response> {
        let mut interim = Vec::new();
        loop {
            let head = self.wire.head();
            let head = self.bounded("a response's head", head)?;
            let status = head
                .word(1)
                .parse()
                .unwrap_or_else(|_| panic!("not a status line: {:?}", head.start));
            if (100..200).contains(&status) && status != 101 {
                interim.push(head);
                continue;
            }
            return Some(Response {
                status,
                head,
                body: Vec::new(),
                trailers: Vec::new(),
                interim,
                complete: false,
            });
        }
    }

    /// Whether anything has come that was not read, or the connection has been closed. Waits a few milliseconds at most.
    pub fn has_answer(&mut self) -> bool {
        !self.wire.pending().is_empty() || self.wire.poll()
    }

    /// Reads one interim response's head.
    pub fn read_interim(&mut self) -> Head {
        let head = self.wire.head();
        let head = self
            .bounded("an interim response", head)
            .expect("an interim response before the end");
        assert!(
            head.word(1).starts_with('1'),
            "not an interim response: {:?}",
            head.start
        );
        head
    }

    /// Reads the content of a response whose head has been read; what is in `response.body` already counts.
    pub fn read_content(&mut self, response: &mut Response) {
        let bodiless =
            self.head_only || response.status < 200 || matches!(response.status, 204 | 304);
        if bodiless {
            response.complete = true;
            return;
        }
        let body = if response.chunked() {
            self.wire.chunks(|_| ())
        } else if let Some(length) = response.length() {
            self.wire
                .exactly(length.saturating_sub(response.body.len()), |_| ())
        } else {
            self.wire.rest()
        };
        let body = self.bounded("a response's content", body);
        response.body.extend(body.bytes);
        response.trailers = body.trailers;
        response.complete = body.complete;
    }

    /// Reads one chunk of a chunked response, or this much of another; the piece is added to `response.body`.
    pub fn read_body_exactly(&mut self, response: &mut Response, count: usize) {
        let until = response.body.len() + count;
        while response.body.len() < until {
            let wanted = until - response.body.len();
            let piece = if response.chunked() {
                self.wire.chunk().map(Option::unwrap_or_default)
            } else {
                self.wire.some(wanted)
            };
            let piece = self.bounded("a part of a response's content", piece);
            assert!(
                !piece.is_empty(),
                "the content ended {wanted} bytes too early, after {:?}",
                response.text()
            );
            response.body.extend(piece);
        }
    }

    /// Reads so many bytes that are no HTTP message (after an upgrade); fewer if the connection ends.
    pub fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        let body = self.wire.exactly(count, |_| ());
        self.bounded("bytes", body).bytes
    }

    /// Waits until the other side has closed, and returns what it had sent before.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        let body = self.wire.rest();
        self.bounded("the end of the connection", body).bytes
    }

    fn bounded<T>(&self, what: &str, read: io::Result<T>) -> T {
        read.unwrap_or_else(|error| {
            let so_far = String::from_utf8_lossy(self.wire.pending());
            panic!("waited at most {BOUND:?} for {what}: {error}; so far: {so_far:?}")
        })
    }
}

/// A request being written. `C` is the connection, borrowed or owned.
#[derive(Debug)]
#[must_use = "nothing is sent before `send` or `begin`"]
pub struct Ask<C> {
    client: C,
    method: String,
    target: String,
    fields: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl<C: BorrowMut<Client>> Ask<C> {
    /// A request on this connection.
    pub fn new(client: C, method: &str, target: &str) -> Self {
        Self {
            client,
            method: method.to_owned(),
            target: target.to_owned(),
            fields: Vec::new(),
            body: None,
        }
    }

    /// Adds a field. `Host` is `example.test` unless given.
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.fields
            .push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Gives the request content, with its `Content-Length`.
    pub fn body(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.body = Some(bytes.as_ref().to_vec());
        self
    }

    /// Sends it, and reads the response.
    pub fn send(self) -> Response {
        self.begin().borrow_mut().read()
    }

    /// Sends it, and leaves reading for later.
    pub fn begin(mut self) -> C {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self
            .fields
            .iter()
            .any(|field| field.0.eq_ignore_ascii_case("host"))
        {
            head.push_str("Host: example.test\r\n");
        }
        for (name, value) in &self.fields {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if let Some(body) = &self.body {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend(self.body.unwrap_or_default());
        self.client.borrow_mut().send(bytes);
        self.client
    }
}
