//! Values on their way into a page: they come from clients, and must not become part of its code.

use std::fmt::Write as _;

/// Where in a page a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Text, or an attribute's value, quoted or not.
    Text,
    /// Within `<script>`.
    Script,
    /// Within `<style>`.
    Style,
}

impl Place {
    /// Appends `value`, escaped so that it stays a value here.
    pub fn escape(self, value: &str, to: &mut String) {
        match self {
            Self::Text => text(value, to),
            Self::Script => script(value, to),
            Self::Style => style(value, to),
        }
    }
}

/// Punctuation that neither text nor an attribute's value, quoted or not, takes for anything else.
const HARMLESS: &str = "-_.~:/?,@!()*+%;#|";

/// As references to characters, which text and attributes understand alike. Blanks too: they would end an attribute's value that
/// is not quoted.
fn text(value: &str, to: &mut String) {
    for letter in value.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '\u{80}'.. => to.push(letter),
            _ if HARMLESS.contains(letter) => to.push(letter),
            '\t' | '\n' | '\r' | ' '..='\u{7e}' => {
                // Writing to a string cannot fail.
                let _ = write!(to, "&#{};", u32::from(letter));
            }
            // No control character has a reference.
            _ => {}
        }
    }
}

/// As JavaScript writes them in strings. Outside of one they are an error, not code.
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

/// As CSS writes them in strings and names.
fn style(value: &str, to: &mut String) {
    for letter in value.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            to.push(letter);
        } else {
            let _ = write!(to, "\\{:06x}", u32::from(letter));
        }
    }
}

/// Percent-encoded but for what never needs it (RFC 3986 section 2.3), so that it can be neither a path nor a parameter of its own.
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
                Place::Text,
                "&#60;/script&#62;&#34;&#39;&#96;&#60;x&#32;onerror&#61;a&#92;&#32;é&#38;",
            ),
            (
                Place::Script,
                "\\u003c\\u002fscript\\u003e\\u0022\\u0027\\u0060\\u003cx\\u0020onerror\\u003da\\u005c\\u0020\\u00e9\\u0000\\u0026",
            ),
            (
                Place::Style,
                "\\00003c\\00002fscript\\00003e\\000022\\000027\\000060\\00003cx\\000020onerror\\00003da\\00005c\\000020\\0000e9\\000000\\000026",
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

    proptest! {
        #[test]
        fn nothing_that_means_something_is_left(value in any::<String>()) {
            for place in [Place::Text, Place::Script, Place::Style] {
                let mut to = String::new();
                place.escape(&value, &mut to);
                prop_assert!(!to.contains(['<', '>', '"', '\'', '`', '=', ' ', '\n']), "{}", to);
            }
            let mut to = String::new();
            address(&value, &mut to);
            prop_assert!(!to.contains(['/', '?', '#', '&', '=', '+', ':', '@', '\\', ' ']), "{}", to);
        }
    }
}
