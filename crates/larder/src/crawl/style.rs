//! Finds what a style sheet refers to: `url(…)` and `@import "…"` (CSS Syntax Module Level 3).
//!
//! Libraries that read all of CSS are large, or under licences that we do not accept; only two tokens are needed here.

/// The most references that are taken from one sheet.
const MOST: usize = 10_000;

/// Reads a sheet, or the value of a `style` attribute. May also find texts that a browser would not take for
/// references; each costs a request.
pub fn references(css: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = css;
    while let Some(byte) = rest.first() {
        let after = match byte {
            b'/' if rest.starts_with(b"/*") => {
                let end = rest.windows(2).skip(2).position(|two| two == b"*/");
                end.and_then(|end| rest.get(end + 4..)).unwrap_or_default()
            }
            b'"' | b'\'' => string(rest).1,
            b'@' if begins(rest, b"@import") => imported(rest, &mut found),
            b'u' | b'U' if begins(rest, b"url(") => {
                let (reference, after) = url(rest.get(4..).unwrap_or_default());
                found.push(reference);
                after
            }
            byte if is_name(*byte) => {
                // The end of a longer name, such as `my-url(`.
                let end = rest.iter().position(|byte| !is_name(*byte));
                end.and_then(|end| rest.get(end..)).unwrap_or_default()
            }
            _ => rest.get(1..).unwrap_or_default(),
        };
        rest = after;
        if found.len() >= MOST {
            break;
        }
    }
    found
}

fn begins(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || !byte.is_ascii()
}

/// Reads `@import "x"`; the form with `url(` is found like any other.
fn imported<'a>(rest: &'a [u8], found: &mut Vec<Vec<u8>>) -> &'a [u8] {
    let after = rest.get(7..).unwrap_or_default().trim_ascii_start();
    if matches!(after.first(), Some(b'"' | b'\'')) {
        let (reference, after) = string(after);
        found.push(reference);
        return after;
    }
    after
}

/// Reads the text within `url(`, quoted or not.
fn url(rest: &[u8]) -> (Vec<u8>, &[u8]) {
    let rest = rest.trim_ascii_start();
    if matches!(rest.first(), Some(b'"' | b'\'')) {
        return string(rest);
    }
    let (text, after) = until(rest, |byte| byte == b')');
    (text.trim_ascii().to_vec(), after)
}

/// Reads a quoted string; a line break ends a bad one.
fn string(rest: &[u8]) -> (Vec<u8>, &[u8]) {
    let quote = rest.first().copied().unwrap_or_default();
    until(rest.get(1..).unwrap_or_default(), |byte| {
        byte == quote || byte == b'\n'
    })
}

/// Returns the text before the byte that `ends` it, with escapes decoded, and the text after that byte.
fn until(rest: &[u8], ends: impl Fn(u8) -> bool) -> (Vec<u8>, &[u8]) {
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(byte) = rest.get(at).copied() {
        at += 1;
        if ends(byte) {
            break;
        }
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        let tail = rest.get(at..).unwrap_or_default();
        let digits = tail
            .iter()
            .take(6)
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        if digits == 0 {
            text.extend(tail.first().filter(|byte| **byte != b'\n'));
            at += 1;
            continue;
        }
        at += digits;
        at += usize::from(rest.get(at).is_some_and(u8::is_ascii_whitespace));
        let hex = tail
            .get(..digits)
            .and_then(|hex| std::str::from_utf8(hex).ok());
        let letter = hex.and_then(|hex| char::from_u32(u32::from_str_radix(hex, 16).ok()?));
        let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
        text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
    (text, rest.get(at..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sheet_refers() {
        for (css, expected) in [
            ("a{background:url(/a.png)}", &["/a.png"][..]),
            ("a{background:URL( ' a b.png ' )}", &[" a b.png "]),
            (
                "@import \"b.css\"; @IMPORT url(c.css) print;",
                &["b.css", "c.css"],
            ),
            ("/* url(/no.png) */ x{src:url(a\\29.woff)}", &["a).woff"]),
            ("a{content:\"url(/no.png)\"}b{c:my-url(/no.png)}", &[]),
            ("a{background:url(/cut", &["/cut"]),
            ("/* cut", &[]),
            ("@import 'cut\n;a{b:url(/x)}", &["cut", "/x"]),
        ] {
            let found = references(css.as_bytes());
            let found: Vec<_> = found
                .iter()
                .map(|one| String::from_utf8_lossy(one))
                .collect();
            assert_eq!(found, expected, "{css}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(css in prop::collection::vec(any::<u8>(), 0..100)) {
            references(&css);
        }

        #[test]
        fn any_soup_is_read(css in r#"(url\(|@import|'|"|\\|\)|/\*|\*/|x|29|é|\n)*"#) {
            references(css.as_bytes());
        }
    }
}
