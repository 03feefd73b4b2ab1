//! `Surrogate-Control: content="…"` (Edge Architecture Specification, W3C Note of 4 August 2001, section 2.2): the
//! language of a response's content, which a surrogate in front of the origin processes.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The name of the field.
pub const CONTROL: HeaderName = HeaderName::from_static("surrogate-control");

/// The value that the field keeps in a stored response whose content is to be processed.
pub const CONTENT_ESI: HeaderValue = HeaderValue::from_static("content=\"ESI/1.0\"");

/// Whether the origin says that the content is written in ESI 1.0.
pub fn wants_esi(response: &HeaderMap) -> bool {
    // Few responses have the field, and one pass over the names is cheaper than the map's search for a long name.
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
            // Parameters say which surrogate is meant; we are the only one that reads the field here.
            let value = value.split(';').next().unwrap_or_default();
            let mut words = value.trim().trim_matches('"').split_ascii_whitespace();
            words.any(|word| word == "ESI/1.0")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, sample::select};

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

    /// A member, and whether it says that the content is ESI.
    fn member() -> impl Strategy<Value = (String, bool)> {
        let words = prop::collection::vec(
            select(vec!["ESI/1.0", "ESI/1.0x", "Other/2", "esi/1.0"]),
            0..3,
        );
        let name = select(vec!["content", "Content", "contents", "x"]);
        let end = select(vec!["", ";larder", "; ESI/1.0"]);
        let said = (name, words, any::<bool>(), end).prop_map(|(name, words, is_quoted, end)| {
            let says = name.eq_ignore_ascii_case("content") && words.contains(&"ESI/1.0");
            let words = words.join(" ");
            let value = if is_quoted {
                format!("\"{words}\"")
            } else {
                words
            };
            (format!("{name}={value}{end}"), says)
        });
        let other = select(vec!["", "no-store", "max-age=60+600", "content"]);
        prop_oneof![said, other.prop_map(|other| (other.to_owned(), false))]
    }

    proptest! {
        #[test]
        fn it_is_found_among_whatever_else_is_said(members in prop::collection::vec(member(), 0..5), space in select(vec!["", " ", "\t"])) {
            let (text, says): (Vec<_>, Vec<_>) = members.into_iter().unzip();
            let line = text.join(&format!("{space},{space}"));
            let mut fields = HeaderMap::new();
            fields.insert(CONTROL, HeaderValue::try_from(line).expect("text"));
            prop_assert_eq!(wants_esi(&fields), says.contains(&true));
        }

        #[test]
        fn any_bytes_may_come(line in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut fields = HeaderMap::new();
            if let Ok(line) = HeaderValue::from_bytes(&line) {
                fields.insert(CONTROL, line);
            }
            let names = fields.get(CONTROL).is_some_and(|line| {
                let line = String::from_utf8_lossy(line.as_bytes());
                line.to_ascii_lowercase().contains("content") && line.contains("ESI/1.0")
            });
            prop_assert!(names || !wants_esi(&fields));
        }
    }
}
