//! The answers of the sample application.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use hyper::body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

/// How long the application takes for a page.
pub(super) const DELAY: Duration = Duration::from_millis(200);

/// The page; `{number}` and `{time}` are filled in.
const PAGE: &str = include_str!("page.html");

/// The pieces of `/big`.
const PIECES: usize = 64;
const PIECE: usize = 16 << 10;

/// A kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// `/`: a page for people.
    Page,
    /// `/tour`: the same page with a lifetime of a second, so that the tour need not wait long.
    Tour,
    /// `/api/time`: JSON.
    Time,
    /// `/fresh`: an answer that must never be stored.
    Fresh,
    /// `/big`: a megabyte without a declared length.
    Big,
    /// Any other path.
    Nothing,
    /// A method other than GET and HEAD.
    OtherMethod,
}

impl Content {
    pub(super) fn of(path: &str) -> Self {
        match path {
            "/" => Self::Page,
            "/tour" => Self::Tour,
            "/api/time" => Self::Time,
            "/fresh" => Self::Fresh,
            "/big" => Self::Big,
            _ => Self::Nothing,
        }
    }

    /// How long the application takes for it.
    pub(super) fn delay(self) -> Option<Duration> {
        let slow = !matches!(self, Self::Nothing | Self::OtherMethod);
        slow.then_some(DELAY)
    }

    /// The answer, as the `number`th that the application makes.
    pub(super) fn response(self, number: u64) -> Response<Pieces> {
        let now = humantime::format_rfc3339_seconds(SystemTime::now());
        let body = match self {
            Self::Page | Self::Tour => {
                let page = PAGE.replace("{number}", &number.to_string());
                Pieces::one(page.replace("{time}", &now.to_string()))
            }
            Self::Time => Pieces::one(format!("{{\"time\":\"{now}\",\"answer\":{number}}}\n")),
            Self::Fresh => Pieces::one(format!("answer {number}, made {now} and never stored\n")),
            Self::Big => Pieces::many(PIECES, Bytes::from(vec![b'.'; PIECE])),
            Self::Nothing => Pieces::one("nothing here\n"),
            Self::OtherMethod => Pieces::one("only GET and HEAD\n"),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status();
        let fields = response.headers_mut();
        let mut set =
            |name: HeaderName, value| fields.insert(name, HeaderValue::from_static(value));
        set(header::CONTENT_TYPE, self.media_type());
        set(header::CACHE_CONTROL, self.cache_control());
        response
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::Nothing => StatusCode::NOT_FOUND,
            Self::OtherMethod => StatusCode::METHOD_NOT_ALLOWED,
            _ => StatusCode::OK,
        }
    }

    const fn media_type(self) -> &'static str {
        match self {
            Self::Page | Self::Tour => "text/html; charset=utf-8",
            Self::Time => "application/json",
            _ => "text/plain; charset=utf-8",
        }
    }

    const fn cache_control(self) -> &'static str {
        match self {
            Self::Page => "max-age=5, stale-while-revalidate=30, stale-if-error=600",
            Self::Tour => "max-age=1, stale-while-revalidate=30, stale-if-error=600",
            Self::Time => "max-age=1, stale-while-revalidate=10",
            Self::Big => "max-age=60",
            Self::Nothing => "max-age=1",
            Self::Fresh | Self::OtherMethod => "no-store",
        }
    }
}

/// A body of the same bytes: once with a declared length, or several times without one.
#[derive(Debug)]
pub(super) struct Pieces {
    piece: Bytes,
    left: usize,
    length: Option<u64>,
}

impl Pieces {
    fn one(piece: impl Into<Bytes>) -> Self {
        let piece = piece.into();
        let length = Some(piece.len() as u64);
        Self {
            piece,
            left: 1,
            length,
        }
    }

    fn many(count: usize, piece: Bytes) -> Self {
        Self {
            piece,
            left: count,
            length: None,
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        Poll::Ready(Some(Ok(Frame::data(self.piece.clone()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        self.length
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
