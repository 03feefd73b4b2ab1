//! Resolves references (RFC 3986 section 5). A library for URLs would rewrite bytes that are keyed as they are.

use crate::key::is_encoded_only;
use std::fmt::Write as _;

/// The parts of a URI or relative reference (RFC 3986 appendix B). Every text is a reference. The fragment is left out:
/// no request has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) scheme: Option<&'a str>,
    pub(crate) authority: Option<&'a str>,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
}

impl<'a> Reference<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let text = text.split_once('#').map_or(text, |(before, _)| before);
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, text),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                (Some(authority), path)
            }
            None => (None, rest),
        };
        Self {
            scheme,
            authority,
            path,
            query,
        }
    }
}

/// RFC 3986 section 3.1.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Resolves `reference`, as it stands in a field or a document, against `base` (RFC 3986 section 5.2), without its
/// fragment.
///
/// Bytes that no URI has are percent-encoded. Any text is a reference: the result may be of any scheme, and may have no
/// authority.
pub fn join(base: &str, reference: &[u8]) -> String {
    let reference = encode(reference);
    resolve(&Reference::parse(base), &Reference::parse(&reference))
}

/// Percent-encodes the bytes that no URI has, as clients do before they request a reference in a field.
pub fn encode(value: &[u8]) -> String {
    let mut text = String::with_capacity(value.len());
    for &byte in value.trim_ascii() {
        if byte.is_ascii_graphic() && !is_encoded_only(byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Resolves `reference` against `base` (RFC 3986 section 5.2.2, strict) and recomposes it (section 5.3).
fn resolve(base: &Reference<'_>, reference: &Reference<'_>) -> String {
    let (scheme, authority, path, query);
    if reference.scheme.is_some() {
        scheme = reference.scheme;
        authority = reference.authority;
        path = remove_dot_segments(reference.path);
        query = reference.query;
    } else if reference.authority.is_some() {
        scheme = base.scheme;
        authority = reference.authority;
        path = remove_dot_segments(reference.path);
        query = reference.query;
    } else if reference.path.is_empty() {
        scheme = base.scheme;
        authority = base.authority;
        path = base.path.to_owned();
        query = reference.query.or(base.query);
    } else {
        scheme = base.scheme;
        authority = base.authority;
        path = match reference.path.strip_prefix('/') {
            Some(_) => remove_dot_segments(reference.path),
            None => remove_dot_segments(&merge(base, reference.path)),
        };
        query = reference.query;
    }
    recompose(scheme, authority, &path, query)
}

fn recompose(
    scheme: Option<&str>,
    authority: Option<&str>,
    path: &str,
    query: Option<&str>,
) -> String {
    let mut whole = String::new();
    if let Some(scheme) = scheme {
        whole.push_str(scheme);
        whole.push(':');
    }
    if let Some(authority) = authority {
        whole.push_str("//");
        whole.push_str(authority);
    }
    whole.push_str(path);
    if let Some(query) = query {
        whole.push('?');
        whole.push_str(query);
    }
    whole
}

/// RFC 3986 section 5.2.3.
fn merge(base: &Reference<'_>, path: &str) -> String {
    if base.authority.is_some() && base.path.is_empty() {
        return format!("/{path}");
    }
    let directory = base.path.rfind('/').map_or(0, |slash| slash + 1);
    format!("{}{path}", base.path.get(..directory).unwrap_or_default())
}

/// RFC 3986 section 5.2.4.
fn remove_dot_segments(path: &str) -> String {
    let (lead, rest) = match path.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", path),
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut open = false;
    for segment in rest.split('/') {
        open = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    // A dot segment at the end names a directory, so the path keeps its slash.
    if open {
        kept.push("");
    }
    format!("{lead}{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 3986 sections 5.4.1 and 5.4.2 (without fragments), from the base that section 5.4 names.
    const EXAMPLES: &[(&str, &str)] = &[
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"),
        ("g?y#s", "http://a/b/c/g?y"),
        (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/../x", "http://a/b/c/g"),
        ("http:g", "http:g"),
    ];

    #[test]
    fn resolves_the_examples_of_section_5_4() {
        let base = Reference::parse("http://a/b/c/d;p?q");
        for (reference, expected) in EXAMPLES {
            let resolved = resolve(&base, &Reference::parse(reference));
            assert_eq!(resolved, *expected, "{reference}");
        }
    }

    #[test]
    fn an_empty_base_path_is_the_root() {
        let resolved = resolve(&Reference::parse("http://a"), &Reference::parse("g"));
        assert_eq!(resolved, "http://a/g");
    }

    #[test]
    fn a_base_without_authority_keeps_its_way() {
        for (base, expected) in [
            ("a:", "a:g"),
            ("a:b", "a:g"),
            ("a:/b", "a:/g"),
            ("a:b/c", "a:b/g"),
        ] {
            let resolved = resolve(&Reference::parse(base), &Reference::parse("g"));
            assert_eq!(resolved, expected, "{base}");
        }
    }

    /// RFC 3986 section 3.1.
    #[test]
    fn what_stands_before_the_first_colon_may_be_a_scheme() {
        for (text, scheme) in [
            ("svn+ssh:x", Some("svn+ssh")),
            ("a-1.b:x", Some("a-1.b")),
            ("1a:x", None),
            ("+a:x", None),
            ("a_b:x", None),
            (":x", None),
        ] {
            assert_eq!(Reference::parse(text).scheme, scheme, "{text}");
        }
    }

    /// RFC 3986 section 2 and appendix A. What else is written, percent signs among them, stays.
    #[test]
    fn bytes_that_no_uri_has_are_encoded() {
        for (written, expected) in [
            ("/q?p={\"id\":5}", "http://a/q?p={%22id%22:5}"),
            ("/<b>`?<b>`", "http://a/%3Cb%3E%60?%3Cb%3E%60"),
            (" /a b\t\u{7f}é ", "http://a/a%20b%09%7F%C3%A9"),
            ("/%22%3c%\"2\\^|[]'", "http://a/%22%3c%%222\\^|[]'"),
        ] {
            assert_eq!(join("http://a/", written.as_bytes()), expected);
        }
    }

    #[test]
    fn double_slashes_stay() {
        assert_eq!(remove_dot_segments("/a//b/../c/"), "/a//c/");
        assert_eq!(remove_dot_segments("//..//x"), "//x");
    }

    proptest! {
        #[test]
        fn what_is_resolved_can_be_requested(reference in "/p\\PC{0,30}") {
            prop_assert!(http::Uri::try_from(join("http://a/", reference.as_bytes())).is_ok());
        }

        #[test]
        fn no_dot_segment_survives(path in "[a/.]{0,20}") {
            let clean = remove_dot_segments(&path);
            prop_assert!(clean.split('/').all(|segment| segment != "." && segment != ".."));
            prop_assert_eq!(remove_dot_segments(&clean), clean);
        }

        #[test]
        fn any_text_is_parsed_and_recomposed(text in "[^#]{0,30}") {
            let parts = Reference::parse(&text);
            let whole = recompose(parts.scheme, parts.authority, parts.path, parts.query);
            prop_assert_eq!(whole, text);
        }
    }
}
