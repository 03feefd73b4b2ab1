//! What a hit reads, asked of memory all at once.

use super::Stored;
use crate::Body;
use std::hint::black_box;

/// Bytes that come from memory together.
const LINE: usize = 64;

/// Content up to this length, in bytes, is drawn near as a whole.
const SHORT: usize = 2 << 10;

/// Of longer content so much: what reads the rest reads on, which the processor foresees.
const BEGINNING: usize = 4 * LINE;

impl Stored {
    /// Reads what says where the rest lies, and what a hit is judged by: they are lines apart.
    pub(crate) fn read_ahead(&self) {
        black_box((
            self.fields.packed().as_ptr(),
            self.facts.lifetime_ms,
            self.body.whole().map(|content| content.as_ptr()),
            self.id,
            self.is_coded,
        ));
    }

    /// Reads a byte of each line of the head and of short content. Among a million responses none of them is near, and they are waited for
    /// together so, and not one after another as a hit comes to them. Where all is near, it costs as good as nothing.
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
