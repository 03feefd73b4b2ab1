//! Lines waiting to be written to a file. Lines stay whole, whatever number of bytes the file takes.

use std::io::{self, Write};

/// Lines that are collected until they are written.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The bytes not written yet. Each line ends with the only line feed in it.
    bytes: Vec<u8>,
    /// Whether the first line is the rest of a line whose beginning the file already has.
    begun: bool,
}

impl Batch {
    /// Returns the number of bytes not written yet.
    pub(super) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Adds the line that `make` writes, or nothing if it fails.
    pub(super) fn add(
        &mut self,
        make: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        let before = self.bytes.len();
        let added = make(&mut self.bytes);
        if added.is_err() {
            self.bytes.truncate(before);
        }
        added
    }

    /// Writes everything and returns the number of bytes. After an error, what was not written is still here.
    pub(super) fn write_to(&mut self, out: &mut impl Write) -> io::Result<usize> {
        let mut written = 0;
        let ended = loop {
            let rest = self.bytes.get(written..).unwrap_or_default();
            if rest.is_empty() {
                break Ok(written);
            }
            match out.write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        if let Some(last) = written.checked_sub(1) {
            self.begun = self.bytes.get(last) != Some(&b'\n');
            self.bytes.drain(..written);
        }
        ended
    }

    /// Discards what was not written, except the rest of a line that has begun, because the file would keep half of it.
    /// Returns the number of discarded lines.
    pub(super) fn lose(&mut self) -> u64 {
        let feed = self.bytes.iter().position(|byte| *byte == b'\n');
        let kept = feed.filter(|_| self.begun).map_or(0, |at| at + 1);
        let lost = self.bytes.drain(kept..).filter(|byte| *byte == b'\n');
        lost.count() as u64
    }

    /// Prepares for another file, in which no line has begun. Returns the number of lines that are discarded for this.
    pub(super) fn leave(&mut self) -> u64 {
        if !std::mem::take(&mut self.begun) {
            return 0;
        }
        let feed = self.bytes.iter().position(|byte| *byte == b'\n');
        self.bytes.drain(..feed.map_or(0, |at| at + 1));
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file that takes the next number of bytes in each write, and fails if it is 0.
    struct Takes<'a> {
        turns: &'a mut std::vec::IntoIter<usize>,
        file: Vec<u8>,
    }

    impl Write for Takes<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let takes = self.turns.next().unwrap_or(usize::MAX).min(bytes.len());
            if takes == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.file.extend(bytes.get(..takes).unwrap_or_default());
            Ok(takes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        /// Whatever the file takes, each line is whole and in order, or was counted as lost.
        #[test]
        fn a_line_is_there_whole_or_is_lost(
            batches in proptest::collection::vec(0_usize..5, 0..9),
            takes in proptest::collection::vec(0_usize..30, 0..20),
        ) {
            let mut turns = takes.into_iter();
            let mut file = Takes { turns: &mut turns, file: Vec::new() };
            let mut batch = Batch::default();
            let (mut lines, mut lost) = (0_u64, 0);
            for count in batches {
                for _ in 0..count {
                    batch.add(|out| writeln!(out, "line {lines} that is somewhat long")).expect("made");
                    lines += 1;
                }
                if batch.write_to(&mut file).is_err() {
                    lost += batch.lose();
                }
            }
            while batch.length() > 0 {
                if batch.write_to(&mut file).is_err() {
                    lost += batch.lose();
                }
            }
            let text = String::from_utf8(file.file).expect("text");
            prop_assert!(text.is_empty() || text.ends_with('\n'));
            let mut last = None;
            for line in text.lines() {
                let number: u64 = line.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a number");
                prop_assert_eq!(line, format!("line {number} that is somewhat long"));
                prop_assert!(last < Some(number), "in order");
                last = Some(number);
            }
            prop_assert_eq!(text.lines().count() as u64 + lost, lines);
        }
    }

    #[test]
    fn another_file_begins_with_a_line() {
        let mut turns = vec![3, 0].into_iter();
        let mut old = Takes {
            turns: &mut turns,
            file: Vec::new(),
        };
        let mut batch = Batch::default();
        for line in ["first", "second"] {
            batch.add(|out| writeln!(out, "{line}")).expect("made");
        }
        batch.write_to(&mut old).expect_err("full");
        assert_eq!(batch.lose(), 1, "the second");
        assert_eq!(batch.leave(), 1, "the first");
        assert_eq!((batch.length(), batch.leave()), (0, 0));
    }
}
