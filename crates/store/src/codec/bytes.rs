//! Writes and reads numbers and runs of bytes, with bounds.

use super::Malformed;

/// Bytes that are being written.
pub(super) struct Out(Vec<u8>);

impl Out {
    /// Creates an empty buffer with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// Adds one byte.
    pub fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    /// Adds two bytes, the lowest first.
    pub fn u16(&mut self, number: u16) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Adds four bytes, the lowest first.
    pub fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Adds eight bytes, the lowest first.
    pub fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Adds a length or count; `None` if it does not fit into four bytes.
    pub fn count(&mut self, count: usize) -> Option<()> {
        self.u32(u32::try_from(count).ok()?);
        Some(())
    }

    /// Adds bytes, preceded by their length.
    pub fn run(&mut self, bytes: &[u8]) -> Option<()> {
        self.count(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Some(())
    }

    /// All that was written.
    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

/// Bytes still to be read.
pub(super) struct In<'a>(pub &'a [u8]);

impl<'a> In<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    /// A number of two bytes, the lowest first.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// A number of four bytes, the lowest first.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number of eight bytes, the lowest first.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads how many things follow that take at least `each` bytes. Never more than there are bytes for.
    pub fn count(&mut self, each: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.u32()?).map_err(|_| Malformed)?;
        let least = count.checked_mul(each).ok_or(Malformed)?;
        (least <= self.0.len()).then_some(count).ok_or(Malformed)
    }

    /// Reads bytes that are preceded by their length.
    pub fn run(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.count(1)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }
}
