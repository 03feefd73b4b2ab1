//! Escapes values for a page: they come from clients, and must not become part of its code.

use std::fmt::Write as _;

/// The place of a value in a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EscapeContext {
    /// Text, or an attribute whose value is text, quoted or not.
    #[default]
    Text,
    /// Among the attributes of a tag, where it is the name of one or a part of it.
    Name,
    /// Within `<script>`, or in an attribute that is a script (`onclick`).
    Script,
    /// Within `<style>`, or in `style`.
    Style,
    /// There, behind a slash: with another one it could name a host.
    StyleSlash,
    /// In the text of a document that is an attribute (`srcdoc`).
    Document,
    /// In an attribute that is an address (`href`, `src`).
    Address(Part),
    /// Where no form of a value is sure to stay one, such as the name of an element.
    Nothing,
}

/// The place of a value in an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The beginning.
    Start,
    /// After it, before the first character that ends a scheme or cannot be in one.
    Scheme,
    /// Behind the colon of a scheme, or behind slashes at the beginning: where a host may be named.
    Host,
    /// Behind that, before the query.
    Path,
    /// In the query, where a parameter begins.
    Parameters,
    /// Within a parameter.
    Parameter,
    /// After `#`.
    Fragment,
    /// In an address that is code or a document (`javascript:`, `data:`).
    Code,
    /// Any but the last one.
    Any,
}

/// Schemes of addresses that hold code or a document.
pub(crate) const CODE_SCHEMES: [&str; 3] = ["javascript", "vbscript", "data"];

impl EscapeContext {
    /// Appends `value`, escaped so that it stays a value in this place.
    pub fn escape(self, value: &str, to: &mut String) {
        match self {
            Self::Nothing => {}
            Self::Text => text(value, to),
            Self::Name => {
                // No reference is resolved there; a slash would end the name.
                let from = to.len();
                text(value, to);
                let name = to.split_off(from);
                to.push_str(&name.replace('/', "&#47;"));
            }
            Self::Script => script(value, to),
            Self::Style => style(value, to),
            Self::StyleSlash => match value.as_bytes().first() {
                // Browsers read a backslash as a slash, and drop the others.
                Some(first @ (b'/' | b'\\' | b'\t' | b'\n' | b'\r')) => {
                    style(&format!("%{first:02X}"), to);
                    style(value.get(1..).unwrap_or_default(), to);
                }
                _ => style(value, to),
            },
            Self::Document => {
                let mut inner = String::new();
                text(value, &mut inner);
                text(&inner, to);
            }
            Self::Address(Part::Start) if is_address(value) => text(value, to),
            Self::Address(Part::Code) => {
                // The address is decoded before it is run.
                let mut inner = String::new();
                script(value, &mut inner);
                address(encode_scheme(&inner, to), to);
            }
            Self::Address(Part::Start | Part::Scheme | Part::Any) => {
                address(encode_scheme(value, to), to);
            }
            Self::Address(_) => address(value, to),
        }
    }
}

/// Appends the first letter of a value that may be a scheme of code, or a part of one that the page's own letters or
/// other values complete. It is percent-encoded, which no scheme may be, and otherwise means the same. Returns the rest
/// of the value.
fn encode_scheme<'a>(value: &'a str, to: &mut String) -> &'a str {
    let lower = value.to_ascii_lowercase();
    let is_part = CODE_SCHEMES.iter().any(|scheme| scheme.contains(&lower));
    match (value.as_bytes().first(), value.get(1..)) {
        (Some(first), Some(rest)) if is_part => {
            let _ = write!(to, "%{first:02X}");
            rest
        }
        _ => value,
    }
}

/// Whether a value may be a whole address or its beginning: one of this site, or of the web. No other scheme is
/// accepted, since it may be code. Nothing is accepted either that browsers take for a scheme or for another host once
/// they have dropped the characters that they drop.
fn is_address(value: &str) -> bool {
    let is_visible = !value.contains(|letter: char| letter.is_ascii_control() || letter == '\\');
    let starts = |scheme: &str| {
        let start = value.get(..scheme.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(scheme)
    };
    let is_local = value.starts_with('/') && !value.starts_with("//");
    is_visible && (is_local || starts("https://") || starts("http://"))
}

/// Punctuation that means nothing special in text or in an attribute's value, quoted or not.
const HARMLESS: &str = "-_.~:/?,@!()*+%;#|";

/// Escapes as character references, which text and attributes understand alike. White space is escaped too: it would
/// end an attribute's value without quotes.
fn text(value: &str, to: &mut String) {
    for letter in value.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '\u{80}'.. => to.push(letter),
            _ if HARMLESS.contains(letter) => to.push(letter),
            '\t' | '\n' | '\r' | ' '..='\u{7e}' => {
                // Writing to a string cannot fail.
                let _ = write!(to, "&#{};", u32::from(letter));
            }
            // Control characters have no reference.
            _ => {}
        }
    }
}

/// Escapes as JavaScript does in strings. Outside of a string the escapes are an error, not code.
fn script(value: &str, to: &mut String) {
    for unit in value.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => to.push(char::from(byte)),
            _ => {
                let _ = write!(to, "\\u{unit:04x}");
            }
        }
    }
}

/// Escapes as CSS does in strings and names.
fn style(value: &str, to: &mut String) {
    for letter in value.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            to.push(letter);
        } else {
            let _ = write!(to, "\\{:06x}", u32::from(letter));
        }
    }
}

/// Percent-encodes all but the bytes that never need it (RFC 3986 section 2.3), so that the value can be neither a path
/// nor a parameter of its own.
pub(crate) fn address(value: &str, to: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            to.push(char::from(byte));
        } else {
            let _ = write!(to, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_stays_a_value_wherever_it_stands() {
        let nasty = "</script>\"'`<x onerror=a\\ é\u{0}&";
        let table = [
            (
                EscapeContext::Text,
                "&#60;/script&#62;&#34;&#39;&#96;&#60;x&#32;onerror&#61;a&#92;&#32;é&#38;",
            ),
            (
                EscapeContext::Name,
                "&#60;&#47;script&#62;&#34;&#39;&#96;&#60;x&#32;onerror&#61;a&#92;&#32;é&#38;",
            ),
            (
                EscapeContext::Script,
                "\\u003c\\u002fscript\\u003e\\u0022\\u0027\\u0060\\u003cx\\u0020onerror\\u003da\\u005c\\u0020\\u00e9\\u0000\\u0026",
            ),
            (
                EscapeContext::Style,
                "\\00003c\\00002fscript\\00003e\\000022\\000027\\000060\\00003cx\\000020onerror\\00003da\\00005c\\000020\\0000e9\\000000\\000026",
            ),
            (
                EscapeContext::Document,
                "&#38;#60;/script&#38;#62;&#38;#34;&#38;#39;&#38;#96;&#38;#60;x&#38;#32;onerror&#38;#61;a&#38;#92;&#38;#32;é&#38;#38;",
            ),
            (
                EscapeContext::Address(Part::Parameter),
                "%3C%2Fscript%3E%22%27%60%3Cx%20onerror%3Da%5C%20%C3%A9%00%26",
            ),
        ];
        for (place, expected) in table {
            let mut to = String::new();
            place.escape(nasty, &mut to);
            assert_eq!(to, expected, "{place:?}");
        }
        let mut to = String::new();
        address("a/../b?c=1&d#e é", &mut to);
        assert_eq!(to, "a%2F..%2Fb%3Fc%3D1%26d%23e%20%C3%A9");
    }

    #[test]
    fn only_addresses_of_this_site_and_of_the_web_begin_one() {
        let at_start = |value: &str| {
            let mut to = String::new();
            EscapeContext::Address(Part::Start).escape(value, &mut to);
            to
        };
        for value in ["/a/b", "https://a.example/b", "HTTP://a.example:8080/"] {
            assert_eq!(at_start(value), value);
        }
        for value in [
            "javascript:alert(1)",
            " javascript:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,x",
            "//evil.example/",
            "/\\evil.example/",
            "/\t/evil.example/",
            "httpx://a",
            "http:alert(1)",
        ] {
            let escaped = at_start(value);
            assert!(!escaped.contains([':', '/', '\\']), "{value}: {escaped}");
        }
    }

    #[test]
    fn no_value_is_a_part_of_a_scheme_of_code() {
        for part in [Part::Start, Part::Scheme, Part::Any, Part::Code] {
            for (value, expected) in [
                ("javascript", "%6Aavascript"),
                ("JavaScript", "%4AavaScript"),
                ("script", "%73cript"),
                ("a", "%61"),
                ("data", "%64ata"),
                ("https", "https"),
                ("javascripts", "javascripts"),
                ("de", "de"),
                ("", ""),
            ] {
                let mut to = String::new();
                EscapeContext::Address(part).escape(value, &mut to);
                assert_eq!(to, expected, "{part:?}");
            }
        }
    }

    /// The text as a browser reads it in this place: with references resolved, once.
    fn resolved(escaped: &str) -> String {
        let mut parts = escaped.split("&#");
        let mut all = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once(';').expect("a reference");
            let letter = number.parse().ok().and_then(char::from_u32);
            all.push(letter.expect("a character"));
            all.push_str(rest);
        }
        all
    }

    const PARTS: [Part; 9] = [
        Part::Any,
        Part::Start,
        Part::Scheme,
        Part::Host,
        Part::Path,
        Part::Parameters,
        Part::Parameter,
        Part::Fragment,
        Part::Code,
    ];

    proptest! {
        #[test]
        fn a_value_never_ends_its_place(value in ".*|(https?://|/)?[a-z:/?#&=<>\"'` \n\\\\]{0,20}") {
            let places = [EscapeContext::Nothing, EscapeContext::Text, EscapeContext::Name, EscapeContext::Script, EscapeContext::Style, EscapeContext::StyleSlash, EscapeContext::Document];
            for place in places.into_iter().chain(PARTS.map(EscapeContext::Address)) {
                let mut to = String::new();
                place.escape(&value, &mut to);
                prop_assert!(!to.contains(['<', '>', '"', '\'', '`', '=', ' ', '\n']), "{:?} {}", place, to);
                let inner = resolved(&to);
                match place {
                    EscapeContext::Name => prop_assert!(!to.contains('/'), "{}", to),
                    EscapeContext::Text => prop_assert!(value.contains(&inner) || value.chars().any(char::is_control)),
                    EscapeContext::Document => {
                        prop_assert!(!inner.contains(['<', '>', '"', '\'', '`', '=', ' ', '\n']), "{}", inner);
                    }
                    EscapeContext::Nothing | EscapeContext::Script | EscapeContext::Style | EscapeContext::StyleSlash => prop_assert_eq!(&inner, &to),
                    EscapeContext::Address(Part::Start) => {
                        let is_plain = !inner.contains([':', '/', '\\', '?', '#', '&']);
                        prop_assert!(is_plain || (inner == value && is_address(&value)), "{}", inner);
                    }
                    EscapeContext::Address(_) => {
                        prop_assert!(!inner.contains(['/', '?', '#', '&', '+', ':', '@', '\\', ';']), "{}", inner);
                    }
                }
            }
        }
    }
}
