//! `Surrogate-Control: content="…"` (Edge Architecture Specification, W3C Note of 4 August 2001, section 2.2): the language that a
//! response's content is written in, for whoever stands before the origin to carry out.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The field.
pub const CONTROL: HeaderName = HeaderName::from_static("surrogate-control");

/// What is left of the field in a stored response whose content is to be carried out.
pub const CONTENT_ESI: HeaderValue = HeaderValue::from_static("content=\"ESI/1.0\"");

/// Whether the origin says that the content is written in ESI 1.0.
pub fn wants_esi(response: &HeaderMap) -> bool {
    // Few say so, and one look through the names costs less than a search for a long one.
    if !response.keys().any(|name| *name == CONTROL) {
        return false;
    }
    let mut lines = response.get_all(CONTROL).iter();
    lines.any(|line| line.to_str().is_ok_and(names_esi))
}

fn names_esi(line: &str) -> bool {
    line.split(',').any(|member| {
        let (name, value) = member.split_once('=').unwrap_or_default();
        name.trim().eq_ignore_ascii_case("content") && {
            // Parameters say which surrogate is meant; we are the only one that reads it here.
            let value = value.split(';').next().unwrap_or_default();
            let mut words = value.trim().trim_matches('"').split_ascii_whitespace();
            words.any(|word| word == "ESI/1.0")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_what_the_field_says() {
        let table = [
            ("content=\"ESI/1.0\"", true),
            ("max-age=60, content=\"ESI/1.0\"", true),
            ("content=\"ESI/1.0\", max-age=60+600", true),
            ("no-store,content=\"Other/2 ESI/1.0\"", true),
            ("content=ESI/1.0", true),
            ("Content=\"ESI/1.0\"", true),
            ("content=\"ESI/1.0\";larder", true),
            ("content=\"ESI/1.0-like\"", false),
            ("content=\"\"", false),
            ("max-age=60", false),
            ("x=\"ESI/1.0\"", false),
            ("contents=\"ESI/1.0\"", false),
        ];
        for (line, expected) in table {
            let mut fields = HeaderMap::new();
            fields.insert(CONTROL, HeaderValue::from_static(line));
            assert_eq!(wants_esi(&fields), expected, "{line}");
        }
        assert!(!wants_esi(&HeaderMap::new()));
    }
}
