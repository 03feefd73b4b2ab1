//! Plays the script of an answer.

use super::{Framing, Reply, Step};
use crate::{date, wire::Wire};
use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Played {
    Keep,
    Close,
    /// The other side went away first.
    Abandoned,
}

impl Reply {
    fn head(&self, bodiless: bool) -> String {
        let mut head = format!("{}\r\n", self.start);
        let has = |name: &str| {
            self.fields
                .iter()
                .any(|field| field.0.eq_ignore_ascii_case(name))
        };
        if self.dated && !has("date") {
            let _ = write!(head, "Date: {}\r\n", date(0));
        }
        for (name, value) in &self.fields {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let sum = || {
            self.content
                .iter()
                .map(|step| {
                    if let Step::Bytes(bytes) = step {
                        bytes.len()
                    } else {
                        0
                    }
                })
                .sum()
        };
        match self.framing {
            Framing::Length(None) if bodiless && self.content.is_empty() => (),
            Framing::Length(length) if !has("content-length") => {
                let _ = write!(head, "Content-Length: {}\r\n", length.unwrap_or_else(sum));
            }
            Framing::Chunked => head.push_str("Transfer-Encoding: chunked\r\n"),
            Framing::UntilClose if !has("connection") => head.push_str("Connection: close\r\n"),
            Framing::Length(_) | Framing::UntilClose | Framing::Raw => (),
        }
        head.push_str("\r\n");
        head
    }

    /// Plays the script. `bodiless` answers (to HEAD, and 204 and 304) end with their head.
    pub(crate) fn play(&self, method: &str, wire: &mut Wire) -> Played {
        let status = self.start.split(' ').nth(1).unwrap_or_default();
        let bodiless = method == "HEAD" || matches!(status, "204" | "304");
        match self.try_play(bodiless, wire) {
            Ok(played) => played,
            Err(_) => Played::Abandoned,
        }
    }

    fn try_play(&self, bodiless: bool, wire: &mut Wire) -> io::Result<Played> {
        for step in &self.before {
            if let Some(end) = step.play(false, wire)? {
                return Ok(end);
            }
        }
        if self.framing != Framing::Raw {
            wire.stream.write_all(self.head(bodiless).as_bytes())?;
            if bodiless {
                return Ok(Played::Keep);
            }
        }
        let chunked = self.framing == Framing::Chunked;
        for step in &self.content {
            if let Some(end) = step.play(chunked, wire)? {
                return Ok(end);
            }
        }
        if chunked {
            let mut end = "0\r\n".to_owned();
            for (name, value) in &self.trailers {
                let _ = write!(end, "{name}: {value}\r\n");
            }
            end.push_str("\r\n");
            wire.stream.write_all(end.as_bytes())?;
        }
        Ok(match self.framing {
            Framing::UntilClose | Framing::Raw => Played::Close,
            Framing::Length(_) | Framing::Chunked => Played::Keep,
        })
    }
}

impl Step {
    /// `Some` when the script ends here.
    fn play(&self, chunked: bool, wire: &mut Wire) -> io::Result<Option<Played>> {
        let framed = |bytes: &[u8]| {
            let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
            framed.extend_from_slice(bytes);
            framed.extend_from_slice(b"\r\n");
            framed
        };
        match self {
            Self::Bytes(bytes) if bytes.is_empty() => (),
            Self::Bytes(bytes) if chunked => wire.stream.write_all(&framed(bytes))?,
            Self::Bytes(bytes) => wire.stream.write_all(bytes)?,
            Self::Hold(gate) => gate.pass(),
            Self::Cut => return Ok(Some(Played::Close)),
            Self::Endless(bytes) => {
                let bytes = if chunked {
                    framed(bytes)
                } else {
                    bytes.clone()
                };
                loop {
                    wire.stream.write_all(&bytes)?;
                }
            }
            Self::UntilClientLeaves => {
                while wire.fill()? {}
                return Ok(Some(Played::Abandoned));
            }
            Self::Echo => loop {
                let piece = wire.some(usize::MAX)?;
                if piece.is_empty() {
                    return Ok(Some(Played::Close));
                }
                wire.stream.write_all(&piece)?;
            },
        }
        Ok(None)
    }
}
