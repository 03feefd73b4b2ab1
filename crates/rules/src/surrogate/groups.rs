//! Cache groups (RFC 9875).

use http::{HeaderMap, HeaderName};
use sfv::{BareItem, List, ListEntry, Parser};
use std::collections::HashSet;

/// The greatest number of groups that are read from a response (RFC 9875 section 2 asks for at least 32). A response in
/// more groups must not be stored ([`fits`]), since the last of them could not invalidate it.
pub const MOST_GROUPS: usize = 128;

/// The greatest length of a group's name, in characters (RFC 9875 sections 2 and 3 ask for at least 32). A response
/// with a longer name is not stored.
pub const LONGEST_GROUP: usize = 128;

/// RFC 9875 section 2.
pub(super) const CACHE_GROUPS: HeaderName = HeaderName::from_static("cache-groups");
const CACHE_GROUP_INVALIDATION: HeaderName = HeaderName::from_static("cache-group-invalidation");

/// Returns the members of `Cache-Groups` (a list of strings, RFC 9875 section 2), each once; empty if it is absent or
/// malformed. They group responses of one origin only (section 2.1).
pub fn groups(response: &HeaderMap) -> Vec<String> {
    let mut groups = strings(response, &CACHE_GROUPS);
    groups.retain(|group| group.len() <= LONGEST_GROUP);
    groups.truncate(MOST_GROUPS);
    groups
}

/// Whether all groups of a response are read. If not, the response must not be stored.
pub fn fits(response: &HeaderMap) -> bool {
    let groups = strings(response, &CACHE_GROUPS);
    groups.len() <= MOST_GROUPS && groups.iter().all(|group| group.len() <= LONGEST_GROUP)
}

/// Returns the members of `Cache-Group-Invalidation` (section 3). Heed them only on responses to unsafe methods.
pub fn invalidated_groups(response: &HeaderMap) -> Vec<String> {
    strings(response, &CACHE_GROUP_INVALIDATION)
}

/// Reads a list of strings over all lines of a field (RFC 9651 section 4.2). Parameters are ignored, and so is a member
/// that is not a string: what the others say still holds.
fn strings(response: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let mut lines = response.get_all(name).iter();
    let Some(first) = lines.next() else {
        return Vec::new();
    };
    let mut whole = first.as_bytes().to_vec();
    for line in lines {
        whole.extend_from_slice(b", ");
        whole.extend_from_slice(line.as_bytes());
    }
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for member in Parser::new(&whole).parse::<List>().unwrap_or_default() {
        let ListEntry::Item(item) = member else {
            continue;
        };
        let BareItem::String(text) = item.bare_item else {
            continue;
        };
        let text = text.as_str().to_owned();
        if known.insert(text.clone()) {
            found.push(text);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn read(lines: &[&str]) -> Vec<String> {
        let mut fields = HeaderMap::new();
        for line in lines {
            fields.append(CACHE_GROUPS, HeaderValue::from_str(line).unwrap());
        }
        groups(&fields)
    }

    #[test]
    fn reads_a_list_of_strings() {
        for (lines, expected) in [
            (&[][..], &[][..]),
            (&[r#""scripts""#], &["scripts"]),
            (
                &[r#""eurovision-results", "australia""#],
                &["eurovision-results", "australia"],
            ),
            (&[r#""a""#, r#""b""#], &["a", "b"]),
            // "Unrecognised Parameters are to be ignored."
            (&[r#""a";x=1, "b";y"#], &["a", "b"]),
            // "compared character-by-character (case sensitive)"
            (&[r#""a", "A", "a""#], &["a", "A"]),
            (&[r#""quo\"te", "comma, in""#], &["quo\"te", "comma, in"]),
            (&[r#""a", token, 1, ("b"), "c""#], &["a", "c"]),
            (&[r#""a", "open"#], &[]),
            (&[r#""a","#], &[]),
            (&["a b"], &[]),
            (&[""], &[]),
        ] {
            assert_eq!(read(lines), expected, "{lines:?}");
        }
    }

    /// RFC 9875 section 2: "Implementations MUST support at least 32 groups in a field value, with up to at least 32
    /// characters in each member."
    #[test]
    fn limits_are_above_what_is_asked_and_hold() {
        let many: Vec<String> = (0..=MOST_GROUPS).map(|n| format!("\"{n:0>32}\"")).collect();
        let found = read(&[&many.join(", ")]);
        assert_eq!(found.len(), MOST_GROUPS);
        let long = "x".repeat(LONGEST_GROUP);
        let two = format!("\"{long}\", \"{long}x\"");
        assert_eq!(read(&[&two]), [&*long]);
        // A response that not all of its groups could invalidate must not be stored; all groups that are named for
        // invalidation are read.
        let of = |name: HeaderName, value: &str| {
            HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
        };
        let (most, one_more) = (many[1..].join(","), many.join(","));
        let longest = format!("\"{long}\"");
        for (value, expected) in [
            ("", true),
            (&most, true),
            (&one_more, false),
            (&longest, true),
            (&two, false),
        ] {
            assert_eq!(fits(&of(CACHE_GROUPS, value)), expected);
        }
        let all = invalidated_groups(&of(CACHE_GROUP_INVALIDATION, &one_more));
        assert_eq!(all.len(), MOST_GROUPS + 1);
    }

    #[test]
    fn each_field_is_read_from_its_own_name() {
        let mut fields = HeaderMap::new();
        fields.insert(CACHE_GROUP_INVALIDATION, HeaderValue::from_static("\"a\""));
        assert!(groups(&fields).is_empty());
        assert_eq!(invalidated_groups(&fields), ["a"]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(names in prop::collection::hash_set("[ !#-\\[\\]-~]{0,20}", 0..8)) {
            let names: Vec<String> = names.into_iter().collect();
            let written: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            prop_assert_eq!(read(&[&written.join(" ,\t")]), names);
        }

        #[test]
        fn any_value_is_read(value in "[ -~]{0,40}") {
            prop_assert!(read(&[&value]).len() <= MOST_GROUPS);
        }
    }
}
