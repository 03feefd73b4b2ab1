//! The purges that wait for a node.

use super::text::BATCH;
use bytes::Bytes;
use std::collections::VecDeque;
use store::purge::{Purge, What};

/// The bytes of purges that may wait for a node. Beyond that, one purge of everything replaces them: purging too much
/// is safe.
const MOST: usize = 16 << 20;

/// Purges in order. When too many wait, one purge of everything takes their place.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The purges as text, with their numbers.
    list: VecDeque<(u64, String)>,
    /// The bytes of all texts.
    bytes: usize,
}

impl Queue {
    pub(super) fn push(&mut self, number: u64, text: String) {
        self.add(number, text);
        if self.bytes > MOST {
            self.replace(number);
        }
    }

    fn add(&mut self, number: u64, text: String) {
        self.bytes += text.len();
        self.list.push_back((number, text));
    }

    /// Replaces all that waits with a purge of everything, which has the last number, or `number` if nothing waits.
    pub(super) fn replace(&mut self, number: u64) {
        let last = self.list.back().map_or(number, |(last, _)| *last);
        *self = Self::default();
        self.add(last, Purge::hard(What::Everything).to_text());
    }

    /// Returns the next purges to send, and the number of the last one.
    pub(super) fn batch(&self) -> Option<(u64, Bytes)> {
        let mut body = String::from("{\"relay\":false,\"purges\":[");
        let mut last = None;
        for (number, text) in &self.list {
            if last.is_some() {
                if body.len() + text.len() > BATCH {
                    break;
                }
                body.push(',');
            }
            body.push_str(text);
            last = Some(*number);
        }
        body.push_str("]}");
        last.map(|last| (last, body.into()))
    }

    /// Removes what was sent, up to `number`.
    pub(super) fn done(&mut self, number: u64) {
        while let Some((first, text)) = self.list.front()
            && *first <= number
        {
            self.bytes = self.bytes.saturating_sub(text.len());
            self.list.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded() {
        let mut queue = Queue::default();
        let large = Purge::hard(What::Tags(vec!["x".repeat(1 << 20)]));
        for number in 1..=40 {
            queue.push(number, large.to_text());
        }
        assert!(queue.bytes <= MOST, "{}", queue.bytes);
        let (_, first) = queue.list.front().unwrap();
        assert!(first.contains("everything"), "what was too much");
        assert_eq!(queue.list.back().unwrap().0, 40);
    }
}
