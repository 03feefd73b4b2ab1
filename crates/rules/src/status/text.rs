//! Writes structured field items into a buffer (RFC 9651 section 4.1).

use http::HeaderValue;

/// Room for a member without `key`, so that the usual value is allocated only once, at the end.
const INLINE: usize = 96;
/// The greatest integer of a structured field: fifteen digits (RFC 9651 section 3.3.1).
pub(super) const GREATEST: u64 = 999_999_999_999_999;

/// Text under construction: inline while it fits there.
pub(super) struct Text {
    inline: [u8; INLINE],
    used: usize,
    spilled: Vec<u8>,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            inline: [0; INLINE],
            used: 0,
            spilled: Vec::new(),
        }
    }
}

impl Text {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.spilled.is_empty() {
            let end = self.used + bytes.len();
            if let Some(room) = self.inline.get_mut(self.used..end) {
                room.copy_from_slice(bytes);
                self.used = end;
                return;
            }
            let written = self.inline.get(..self.used).unwrap_or_default();
            self.spilled.reserve(2 * INLINE);
            self.spilled.extend_from_slice(written);
        }
        self.spilled.extend_from_slice(bytes);
    }

    /// Writes an integer, clamped to what the format can express.
    pub(super) fn push_integer(&mut self, number: i64) {
        if number < 0 {
            self.push(b"-");
        }
        let mut rest = number.unsigned_abs().min(GREATEST);
        let mut digits = [b'0'; 15];
        let mut start = digits.len();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            start -= 1;
            if rest == 0 {
                break;
            }
        }
        self.push(digits.get(start..).unwrap_or_default());
    }

    /// Writes a token if the name is one, otherwise a string.
    pub(super) fn push_name(&mut self, name: &str) {
        if is_token(name) {
            self.push(name.as_bytes());
        } else {
            self.push_string(name.as_bytes());
        }
    }

    /// Writes a quoted string. Bytes that are not printable ASCII are percent-encoded.
    pub(super) fn push_string(&mut self, text: &[u8]) {
        const HEX: [u8; 16] = *b"0123456789ABCDEF";
        let hex = |value: u8| HEX.get(usize::from(value)).copied().unwrap_or(b'0');
        self.push(b"\"");
        for byte in text {
            match byte {
                b'"' | b'\\' => self.push(&[b'\\', *byte]),
                b' '..=b'~' => self.push(&[*byte]),
                _ => self.push(&[b'%', hex(byte >> 4), hex(byte & 15)]),
            }
        }
        self.push(b"\"");
    }

    /// Makes the field value. It cannot fail: all that was pushed is printable ASCII.
    pub(super) fn into_value(self) -> HeaderValue {
        let written = if self.spilled.is_empty() {
            HeaderValue::from_bytes(self.inline.get(..self.used).unwrap_or_default())
        } else {
            HeaderValue::try_from(self.spilled)
        };
        written.unwrap_or(HeaderValue::from_static(""))
    }
}

/// Whether the text is a token (RFC 9651 section 3.3.4).
fn is_token(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'*')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte))
}
