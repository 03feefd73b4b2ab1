//! Reads pickles of Python that contain only one text or one piece of bytes.
//!
//! A pickle is a program that builds objects. Running somebody else's pickle means running their code. Nothing is run
//! here: the only known instructions are those for one text or bytes, and those without effect. Anything else is no
//! page.

use bytes::Bytes;

/// Most instructions in a pickle: those without effect, and the one that matters.
const MOST: usize = 8;

/// Returns the content of a pickle, if that is one text or bytes, and nothing follows it. It may begin with the `!`
/// that cachelib (Flask-Caching's store) writes.
pub fn read(value: &Bytes) -> Option<Bytes> {
    let mut rest: &[u8] = value.strip_prefix(b"!").unwrap_or(value);
    let mut found = None;
    for _ in 0..MOST {
        let [instruction, after @ ..] = rest else {
            return None;
        };
        rest = after;
        match instruction {
            // PROTO: texts and bytes are written like this since protocol 2.
            0x80 => (2..=5)
                .contains(take(&mut rest, 1)?.first()?)
                .then_some(())?,
            // FRAME: how much to read ahead.
            0x95 => drop(take(&mut rest, 8)?),
            // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
            0x8c => text(&mut found, &mut rest, 1)?,
            b'X' => text(&mut found, &mut rest, 4)?,
            0x8d => text(&mut found, &mut rest, 8)?,
            // SHORT_BINBYTES, BINBYTES, BINBYTES8
            b'C' => bytes(&mut found, &mut rest, 1)?,
            b'B' => bytes(&mut found, &mut rest, 4)?,
            0x8e => bytes(&mut found, &mut rest, 8)?,
            // MEMOIZE, BINPUT, LONG_BINPUT: stored in case it occurs again.
            0x94 => {}
            b'q' => drop(take(&mut rest, 1)?),
            b'r' => drop(take(&mut rest, 4)?),
            b'.' if rest.is_empty() => return found.map(|found| value.slice_ref(found)),
            _ => return None,
        }
    }
    None
}

/// Whether a value looks like a pickle.
pub fn looks_like(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"!").unwrap_or(value);
    matches!(value, [0x80, 2..=5, ..])
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

/// Reads one text in UTF-8. A second one is more than a page.
fn text<'a>(found: &mut Option<&'a [u8]>, rest: &mut &'a [u8], size: usize) -> Option<()> {
    bytes(found, rest, size)?;
    let text = (*found)?;
    std::str::from_utf8(text).ok().map(drop)
}

fn bytes<'a>(found: &mut Option<&'a [u8]>, rest: &mut &'a [u8], size: usize) -> Option<()> {
    let mut length = [0; 8];
    let digits = take(rest, size)?;
    length.get_mut(..size)?.copy_from_slice(digits);
    let length = usize::try_from(u64::from_le_bytes(length)).ok()?;
    let content = take(rest, length)?;
    found.replace(content).is_none().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values as written by `pickle.dumps` of Python 3.13 and stored by `cachelib`.
    #[test]
    fn texts_and_bytes_are_read_and_nothing_else() {
        let long = "x".repeat(300);
        let mut framed = b"\x80\x05\x953\x01\0\0\0\0\0\0X\x2c\x01\0\0".to_vec();
        framed.extend_from_slice(long.as_bytes());
        framed.extend_from_slice(b"\x94.");
        let rows: [(&[u8], Option<&[u8]>); 15] = [
            (
                b"!\x80\x05\x95\x0b\0\0\0\0\0\0\0\x8c\x07text \xc3\xa9\x94.",
                Some("text é".as_bytes()),
            ),
            (
                b"!\x80\x05\x95\t\0\0\0\0\0\0\0C\x05bytes\x94.",
                Some(b"bytes"),
            ),
            (
                b"\x80\x02X\x04\0\0\0h\xc3\xa9\nq\0.",
                Some("hé\n".as_bytes()),
            ),
            (b"\x80\x03C\x02b\xffq\0.", Some(b"b\xff")),
            (&framed, Some(long.as_bytes())),
            (b"42", None),
            (b"!\x80\x05N.", None),
            (b"!\x80\x05\x88.", None),
            // ("a", 200)
            (
                b"!\x80\x05\x95\t\0\0\0\0\0\0\0\x8c\x01a\x94K\xc8\x86\x94.",
                None,
            ),
            // Roughly `os.system("id")`.
            (
                b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
                None,
            ),
            (b"cos\nsystem\n(S'id'\ntR.", None),
            // Truncated, and with something after it.
            (b"!\x80\x05\x8c\x07tex", None),
            (b"!\x80\x05\x8c\x04text\x94", None),
            (b"!\x80\x05\x8c\x04text\x94.more", None),
            (b"\x80\x05\x8c\x02\xff\xff.", None),
        ];
        for (value, expected) in rows {
            let found = read(&Bytes::copy_from_slice(value));
            assert_eq!(found.as_deref(), expected, "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_read_without_a_panic(value in prop::collection::vec(any::<u8>(), 0..64)) {
            let value = Bytes::from(value);
            let found = read(&value);
            prop_assert!(found.is_none_or(|found| found.len() < value.len()));
        }
    }
}
