//! Arrival: the content of an origin's answer, some of which may have come together with its head.

use bytes::Bytes;
use http_body::Body as _;
use origin::ResponseBody;
use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The longest content, in bytes, that is looked for at once. What is stored of it is copied beside its head, so that nothing holds the
/// larger buffer that it came in.
pub const AT_ONCE: u64 = 16 << 10;

/// The content of an origin's answer.
pub struct Arrival {
    body: ResponseBody,
    /// What was read already, and is to be read again first.
    ahead: VecDeque<Piece>,
}

/// What comes next from the origin.
pub enum Piece {
    Data(Bytes),
    End,
    Broken,
}

impl Arrival {
    pub fn new(body: ResponseBody) -> Self {
        Self {
            body,
            ahead: VecDeque::new(),
        }
    }

    /// As [`ResponseBody::unread`].
    pub fn unread(&self) -> u64 {
        self.body.unread()
    }

    /// As [`ResponseBody::read_little`].
    pub fn read_little(&mut self, little: bool) {
        self.body.read_little(little);
    }

    /// All of the content, at most `most` bytes, if it has come already; it is taken out. Otherwise what has come comes next.
    pub fn whole(&mut self, cx: &mut Context<'_>, most: u64) -> Option<Bytes> {
        let mut length = 0;
        while length <= most {
            match self.poll_body(cx) {
                Poll::Ready(Piece::End) => return Some(self.joined()),
                Poll::Ready(Piece::Broken) => {
                    self.ahead.push_back(Piece::Broken);
                    return None;
                }
                Poll::Ready(Piece::Data(data)) => {
                    length += data.len() as u64;
                    self.ahead.push_back(Piece::Data(data));
                }
                Poll::Pending => return None,
            }
        }
        None
    }

    /// The next piece. After the last, or an error, it is not polled again.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        match self.ahead.pop_front() {
            Some(piece) => Poll::Ready(piece),
            None => self.poll_body(cx),
        }
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        loop {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Trailers end here: they are neither stored nor merged into the head (RFC 9110 section 6.5.1).
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Piece::Data(data));
                    }
                }
                Some(Err(_)) => return Poll::Ready(Piece::Broken),
                None => return Poll::Ready(Piece::End),
            }
        }
    }

    fn joined(&mut self) -> Bytes {
        let mut pieces = mem::take(&mut self.ahead)
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Data(data) => Some(data),
                Piece::End | Piece::Broken => None,
            });
        let first = pieces.next().unwrap_or_default();
        let others: Vec<Bytes> = pieces.collect();
        if others.is_empty() {
            return first;
        }
        [&[first], others.as_slice()].concat().concat().into()
    }
}
