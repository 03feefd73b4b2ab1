//! One tag: its end, its name, its attributes.

use std::borrow::Cow;

/// How far a tag reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// This many bytes; the last one is `>`.
    Ends(usize),
    /// Beyond the bytes at hand.
    Open,
    /// It has no end: another tag begins first.
    Never,
}

/// Finds the end of the tag at the beginning of `bytes`. A `>` in quotes does not end it.
pub(crate) fn extent(bytes: &[u8]) -> Extent {
    let mut quote = None;
    for (at, &byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Extent::Ends(at + 1),
            (None, b'<') if at > 0 => return Extent::Never,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    Extent::Open
}

/// The content of a tag, between `<esi:` or `</esi:` and `>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a [u8],
    attributes: &'a [u8],
    /// Whether it ends with `/`, so that the element has no content.
    pub(crate) is_empty: bool,
}

impl<'a> Tag<'a> {
    pub(crate) fn read(inside: &'a [u8]) -> Self {
        let inside = inside.trim_ascii_end();
        let (inside, is_empty) = match inside.strip_suffix(b"/") {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        let end = inside
            .iter()
            .position(|byte| !byte.is_ascii_alphanumeric())
            .unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(end);
        Self {
            name,
            attributes,
            is_empty,
        }
    }

    /// Returns the value of an attribute, with references resolved; the first if there are several. `None` if it is
    /// absent.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        while let Some((found, value, after)) = attribute(rest) {
            if found == name.as_bytes() {
                return Some(resolved(&String::from_utf8_lossy(value)).into_owned());
            }
            rest = after;
        }
        None
    }
}

type Attribute<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// Splits off the first attribute in `bytes`: its name, its value, and the rest.
fn attribute(bytes: &[u8]) -> Option<Attribute<'_>> {
    let bytes = bytes.trim_ascii_start();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'=';
    let (name, rest) = bytes.split_at(bytes.iter().position(ends).unwrap_or(bytes.len()));
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b"=") else {
        // An attribute without a value. An empty name is the end.
        return (!name.is_empty()).then_some((name, b"", rest));
    };
    let rest = rest.trim_ascii_start();
    let (value, rest) = match rest.split_first() {
        Some((quote @ (b'"' | b'\''), rest)) => {
            let end = rest.iter().position(|byte| byte == quote)?;
            (rest.get(..end)?, rest.get(end + 1..)?)
        }
        _ => rest.split_at(
            rest.iter()
                .position(u8::is_ascii_whitespace)
                .unwrap_or(rest.len()),
        ),
    };
    Some((name, value, rest))
}

/// Resolves the five references that XML has without a declaration. Others stay as they are.
fn resolved(text: &str) -> Cow<'_, str> {
    const KNOWN: [(&str, char); 5] = [
        ("amp;", '&'),
        ("lt;", '<'),
        ("gt;", '>'),
        ("quot;", '"'),
        ("apos;", '\''),
    ];
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split('&');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let known = KNOWN
            .iter()
            .find_map(|(name, letter)| Some((letter, piece.strip_prefix(name)?)));
        let (letter, rest) = known.map_or(('&', piece), |(letter, rest)| (*letter, rest));
        whole.push(letter);
        whole.push_str(rest);
    }
    Cow::Owned(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_people_write_them() {
        let table = [
            (
                r#"include src="/a" alt='/b'/"#,
                Some("/a"),
                Some("/b"),
                true,
            ),
            ("include src=/a alt = /b", Some("/a"), Some("/b"), false),
            (
                r#"include src="/a?x=1&amp;y=&lt;&unknown;&""#,
                Some("/a?x=1&y=<&unknown;&"),
                None,
                false,
            ),
            (r#"include src="/a"alt="/b""#, Some("/a"), Some("/b"), false),
            (r#"include src src="/a""#, Some(""), None, false),
            (r#"include src="/a" src="/b" /"#, Some("/a"), None, true),
            (r#"include other="src=/x""#, None, None, false),
            (r#"include src="/a"#, None, None, false),
            ("include", None, None, false),
            ("include/", None, None, true),
            ("include = = = src=/a", None, None, false),
        ];
        for (inside, src, alt, is_empty) in table {
            let tag = Tag::read(inside.as_bytes());
            assert_eq!(tag.name, b"include", "{inside}");
            assert_eq!(tag.get("src").as_deref(), src, "{inside}");
            assert_eq!(tag.get("alt").as_deref(), alt, "{inside}");
            assert_eq!(tag.is_empty, is_empty, "{inside}");
        }
    }

    #[test]
    fn a_tag_ends_outside_of_quotes() {
        let table = [
            ("<a>", Extent::Ends(3)),
            (r#"<a b=">">x"#, Extent::Ends(9)),
            (r#"<a b='">' c="'>">"#, Extent::Ends(17)),
            ("<a b='>", Extent::Open),
            ("<a", Extent::Open),
            ("<a <b>", Extent::Never),
            ("<a b='<'>", Extent::Ends(9)),
        ];
        for (text, expected) in table {
            assert_eq!(extent(text.as_bytes()), expected, "{text}");
        }
    }
}
