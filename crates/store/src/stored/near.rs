//! Reads ahead what a hit needs, so that memory is waited for once.

use super::Stored;
use crate::Body;
use std::hint::black_box;

/// The bytes that come from memory together.
const LINE: usize = 64;

/// Content up to this length, in bytes, is read ahead as a whole.
const SHORT: usize = 2 << 10;

/// This much of longer content: whatever reads the rest reads it in order, which the processor foresees.
const BEGINNING: usize = 4 * LINE;

impl Stored {
    /// Reads the pointers to the rest, and what a hit is judged by: these are on different lines.
    pub(crate) fn read_ahead(&self) {
        black_box((
            self.fields.packed().as_ptr(),
            self.facts.lifetime_ms,
            self.body.whole().map(|content| content.as_ptr()),
            self.id,
            self.is_coded,
        ));
    }

    /// Reads a byte of each line of the head and of short content. Among a million responses none of these lines is
    /// near. This way the processor waits for all of them together, and not for one after another as a hit reaches
    /// them. If all are near, it costs next to nothing.
    pub(crate) fn draw_near(&self) {
        let content = match &self.body {
            Body::Whole(bytes) if bytes.len() > SHORT => bytes.get(..BEGINNING).unwrap_or_default(),
            Body::Whole(bytes) => bytes,
            _ => &[],
        };
        let head = self.fields.packed();
        let lines = head.iter().step_by(LINE);
        let lines = lines.chain(content.iter().step_by(LINE));
        black_box(lines.fold(0, |all, byte| all ^ byte));
    }
}
