//! Answers that are waited for, of every length and framing, told by the target of the request.

use crate::site::Stage;
use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;
use std::{
    collections::VecDeque,
    fmt::Write as _,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// What a body does next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Gives so many bytes.
    Bytes(usize),
    /// Is pending once.
    Pause,
    /// Waits for a permit of the stage.
    Wait,
    /// Gives trailers, which nobody gets.
    Trailers,
    /// Breaks.
    Break,
    /// Panics.
    Panic,
}

/// The script of an answer: `tag`, `status`, whether its length is known, and steps.
#[derive(Clone, Debug)]
pub struct Script {
    pub tag: usize,
    pub status: u16,
    pub is_known: bool,
    pub steps: Vec<Step>,
}

impl Script {
    pub fn new(tag: usize, is_known: bool, steps: impl Into<Vec<Step>>) -> Self {
        Self {
            tag,
            status: 200,
            is_known,
            steps: steps.into(),
        }
    }

    pub fn target(&self) -> String {
        let mut text = format!("/frames?{},{}", self.tag, self.status);
        text += if self.is_known { ",known" } else { ",unknown" };
        for step in &self.steps {
            let _ = match step {
                Step::Bytes(length) => write!(text, ",{length}"),
                Step::Pause => write!(text, ",p"),
                Step::Wait => write!(text, ",w"),
                Step::Trailers => write!(text, ",t"),
                Step::Break => write!(text, ",b"),
                Step::Panic => write!(text, ",x"),
            };
        }
        text
    }

    /// Bytes of content, up to where it breaks.
    pub fn length(&self) -> usize {
        let whole = self.steps.iter();
        let whole = whole.take_while(|step| !matches!(step, Step::Break));
        whole
            .map(|step| match step {
                Step::Bytes(length) => *length,
                _ => 0,
            })
            .sum()
    }

    /// The content that the client gets.
    pub fn content(&self) -> Vec<u8> {
        bytes(self.tag, 0, self.length())
    }

    fn read(text: &str) -> Self {
        let mut words = text.split(',');
        let mut next = || words.next().unwrap();
        let (tag, status) = (next().parse().unwrap(), next().parse().unwrap());
        let is_known = next() == "known";
        let steps = words.map(|word| match word {
            "p" => Step::Pause,
            "w" => Step::Wait,
            "t" => Step::Trailers,
            "b" => Step::Break,
            "x" => Step::Panic,
            length => Step::Bytes(length.parse().unwrap()),
        });
        Self {
            tag,
            status,
            is_known,
            steps: steps.collect(),
        }
    }
}

/// Bytes of which no other part, and no other tag's, is the same.
fn bytes(tag: usize, from: usize, length: usize) -> Vec<u8> {
    let text = (from / 8..).map(|at| format!("{tag:03}-{at:x}    ").into_bytes());
    let text = text.flat_map(|mut cell| {
        cell.truncate(8);
        cell
    });
    text.skip(from % 8).take(length).collect()
}

/// A body that follows a script.
pub struct Frames {
    pub status: u16,
    /// Bytes to come, where that is told.
    pub left: Option<u64>,
    tag: usize,
    at: usize,
    steps: VecDeque<Step>,
    stage: Arc<Stage>,
    waiting: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Frames {
    pub fn read(text: &str, stage: &Arc<Stage>) -> Self {
        let script = Script::read(text);
        let all = script.steps.iter().map(|step| match step {
            Step::Bytes(length) => *length as u64,
            // So much is missing.
            Step::Break => 1,
            _ => 0,
        });
        Self {
            status: script.status,
            left: script.is_known.then(|| all.sum()),
            tag: script.tag,
            at: 0,
            steps: script.steps.into(),
            stage: stage.clone(),
            waiting: None,
        }
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(waiting) = &mut self.waiting {
            ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
        }
        Poll::Ready(match self.steps.pop_front() {
            None => None,
            Some(Step::Bytes(length)) => {
                let data = bytes(self.tag, self.at, length);
                self.at += length;
                self.left = self.left.map(|left| left - length as u64);
                Some(Ok(Frame::data(data.into())))
            }
            Some(Step::Trailers) => Some(Ok(Frame::trailers(HeaderMap::new()))),
            Some(Step::Break) => Some(Err(io::Error::other("as asked"))),
            Some(Step::Panic) => panic!("as asked"),
            Some(Step::Pause) => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(Step::Wait) => {
                let stage = self.stage.clone();
                self.waiting = Some(Box::pin(async move { stage.wait().await }));
                return self.poll(cx);
            }
        })
    }
}
