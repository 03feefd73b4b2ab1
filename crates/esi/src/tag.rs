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

/// Resolves the references that XML has without a declaration: five names, and numbers (XML 1.0 section 4.1). Others
/// stay as they are, and so do `$` and `(` where they would begin a variable: only what is written as `$(` does.
fn resolved(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split('&');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let begins_variable = |letter, rest: &str| match letter {
            '$' => rest.starts_with('('),
            '(' => whole.ends_with('$'),
            _ => false,
        };
        let (letter, rest) = reference(piece)
            .filter(|(letter, rest)| !begins_variable(*letter, rest))
            .unwrap_or(('&', piece));
        whole.push(letter);
        whole.push_str(rest);
    }
    Cow::Owned(whole)
}

/// Reads the reference whose `&` stands before `piece`: its character, and what follows it.
fn reference(piece: &str) -> Option<(char, &str)> {
    let (name, rest) = piece.split_once(';')?;
    let letter = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => numbered(name.strip_prefix('#')?)?,
    };
    Some((letter, rest))
}

/// Returns the character of a number, if XML has it (section 2.2).
fn numbered(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let letter = char::from_u32(u32::from_str_radix(digits, radix).ok()?)?;
    let is_in_xml = match letter {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        other => other >= ' ',
    };
    is_in_xml.then_some(letter)
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

    /// XML 1.0 sections 4.1 and 2.2. The `$` of a variable is written as it is.
    #[test]
    fn references_are_resolved_once() {
        let table = [
            ("a&#43;b", "a+b"),
            ("&#x27;de&#x27;", "'de'"),
            ("&#039;&#x00000000000000000027;", "''"),
            ("&#x2B;&#x2b;&#xe9;&#x1F600;", "++é😀"),
            (
                "&#9;&#10;&#13;&#x20;&#xFFFD;&#x10FFFF;",
                "\t\n\r \u{fffd}\u{10ffff}",
            ),
            ("&#38;lt;&amp;#60;&lt;", "&lt;&#60;<"),
            ("&lt&#43 ;&#43", "&lt&#43 ;&#43"),
            (
                "&#;&#x;&#X27;&#+43;&#-1;&#x+2b;&#4a;&# 43;&#٣٩;",
                "&#;&#x;&#X27;&#+43;&#-1;&#x+2b;&#4a;&# 43;&#٣٩;",
            ),
            (
                "&#0;&#1;&#x1f;&#xD800;&#xdfff;&#xFFFE;&#xFFFF;",
                "&#0;&#1;&#x1f;&#xD800;&#xdfff;&#xFFFE;&#xFFFF;",
            ),
            (
                "&#x110000;&#4294967339;&#99999999999999999999;",
                "&#x110000;&#4294967339;&#99999999999999999999;",
            ),
            ("&#36;5 &#x24;&#36;", "$5 $$"),
            ("f&#40;x&#41;", "f(x)"),
            (
                "&#36;(A) &#x24;&#40;A) $&#x28;A)",
                "&#36;(A) $&#40;A) $&#x28;A)",
            ),
            ("&#36;&amp;(A)", "$&(A)"),
            ("$(HTTP_COOKIE{&#39;a&#39;})", "$(HTTP_COOKIE{'a'})"),
        ];
        for (text, expected) in table {
            assert_eq!(resolved(text), expected, "{text}");
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
