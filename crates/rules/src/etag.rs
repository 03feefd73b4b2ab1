//! Entity tags: reading and comparing them (RFC 9110 section 8.8.3).

use crate::time::Time;
use http::{HeaderMap, HeaderValue, header::ETAG};
use std::time::Duration;

/// Whether a `Last-Modified` is a strong validator: at least a second before the response's `date` (RFC 9110 section
/// 8.8.2.2).
pub(crate) fn is_strong_date(modified: Time, date: Time) -> bool {
    modified.plus(Duration::from_secs(1)) <= date
}

/// Like [`is_strong_date`], where bytes of two versions would end up in one body: at least a minute before `date`. That
/// may be the time of receipt, by another clock than the origin's, and a file may be written twice within a second:
/// there must be "enough difference" (RFC 9110 section 8.8.2.2).
pub(crate) fn joins_parts(modified: Time, date: Time) -> bool {
    modified.plus(Duration::from_mins(1)) <= date
}

/// An entity tag as it stands in a field.
///
/// A tag without quotes is malformed. Some origins send such tags all the same, and compare them byte for byte when a
/// client sends them back. Such a tag is kept as a weak tag that equals only itself: good enough for validation, never
/// for ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntityTag<'a> {
    weak: bool,
    /// The opaque tag with its quotes.
    opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Parses a value that is exactly one tag.
    pub(crate) fn parse(value: &'a [u8]) -> Option<Self> {
        let value = value.trim_ascii();
        match Self::split_first(value)? {
            (tag, []) => Some(tag),
            _ => None,
        }
    }

    /// Returns the `ETag` of a message; `None` if it is absent, malformed, or repeated with another value.
    pub(crate) fn of(fields: &'a HeaderMap) -> Option<Self> {
        let mut lines = fields.get_all(ETAG).iter();
        let first = lines.next()?;
        lines
            .all(|other| other == first)
            .then(|| Self::parse(first.as_bytes()))?
    }

    /// Whether the tag is a strong validator.
    pub(crate) const fn is_strong(self) -> bool {
        !self.weak
    }

    /// The opaque tag with its quotes. A malformed tag has none.
    pub(crate) const fn opaque(self) -> &'a [u8] {
        self.opaque
    }

    /// Strong comparison (section 8.8.3.2).
    pub(crate) fn strong_eq(self, other: EntityTag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Weak comparison (section 8.8.3.2).
    pub(crate) fn weak_eq(self, other: EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }

    /// Splits `text` into the tag at its start and the rest.
    fn split_first(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (weak, quoted) = match text.strip_prefix(b"W/") {
            Some(rest @ [b'"', ..]) => (true, rest),
            _ => (false, text),
        };
        if let [b'"', inner @ ..] = quoted {
            let length = inner.iter().position(|&byte| !is_etagc(byte))?;
            let (_, [b'"', ..]) = inner.split_at_checked(length)? else {
                return None;
            };
            let (opaque, rest) = quoted.split_at_checked(length + 2)?;
            return Some((Self { weak, opaque }, rest));
        }
        let length = text
            .iter()
            .position(|&byte| !is_etagc(byte) || byte == b',')
            .unwrap_or(text.len());
        let (opaque, rest) = text.split_at_checked(length)?;
        let empty_or_wildcard = matches!(opaque, b"" | b"*");
        (!empty_or_wildcard).then_some((Self { weak: true, opaque }, rest))
    }
}

/// `etagc` (section 8.8.3): visible characters except the double quote, and bytes beyond ASCII.
const fn is_etagc(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x7e | 0x80..)
}

/// The content of `If-Match` or `If-None-Match`, over all its lines.
#[derive(Debug)]
pub(crate) enum Listed<'a> {
    /// A single `*`.
    Any,
    /// A list of tags.
    Tags(http::header::GetAll<'a, HeaderValue>),
}

impl<'a> Listed<'a> {
    /// Reads the lines of a field that is present.
    pub(crate) fn read(lines: http::header::GetAll<'a, HeaderValue>) -> Self {
        let mut values = lines.iter();
        match (values.next(), values.next()) {
            (Some(only), None) if only.as_bytes().trim_ascii() == b"*" => Self::Any,
            _ => Self::Tags(lines),
        }
    }

    /// Whether any tag satisfies `matches`. A line is read up to its first malformed member: after a broken quote, what
    /// is inside a tag cannot be told from what is outside.
    pub(crate) fn contains(&self, matches: impl Fn(EntityTag<'_>) -> bool) -> bool {
        match self {
            Self::Any => true,
            Self::Tags(lines) => lines
                .iter()
                .any(|line| Members(line.as_bytes()).any(&matches)),
        }
    }
}

/// Iterates over the tags of one line.
struct Members<'a>(&'a [u8]);

impl<'a> Iterator for Members<'a> {
    type Item = EntityTag<'a>;

    fn next(&mut self) -> Option<EntityTag<'a>> {
        let start = self
            .0
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
        let (tag, rest) = EntityTag::split_first(self.0.get(start..)?)?;
        self.0 = rest.trim_ascii_start();
        // Two members without a comma between them are malformed: the first one counts, the rest of the line is not
        // read.
        if !matches!(self.0, [] | [b',', ..]) {
            self.0 = &[];
        }
        Some(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::IF_NONE_MATCH;
    use proptest::prelude::*;

    fn tag(text: &str) -> EntityTag<'_> {
        EntityTag::parse(text.as_bytes()).unwrap()
    }

    /// RFC 9110 section 8.8.3.2, table 3.
    #[test]
    fn comparison_is_as_table_3_says() {
        for (one, two, strong, weak) in [
            (r#"W/"1""#, r#"W/"1""#, false, true),
            (r#"W/"1""#, r#"W/"2""#, false, false),
            (r#"W/"1""#, r#""1""#, false, true),
            (r#""1""#, r#""1""#, true, true),
        ] {
            assert_eq!(tag(one).strong_eq(tag(two)), strong, "{one} {two}");
            assert_eq!(tag(one).weak_eq(tag(two)), weak, "{one} {two}");
        }
    }

    #[test]
    fn reads_only_what_is_one_tag() {
        for (text, strong) in [
            (r#""xyzzy""#, Some(true)),
            (r#"W/"xyzzy""#, Some(false)),
            (r#""""#, Some(true)),
            (r#" "a,b" "#, Some(true)),
            ("\"\u{e9}\"", Some(true)),
            ("unquoted", Some(false)),
            (r#"w/"lower""#, None),
            (r#""open"#, None),
            (r#""a b""#, None),
            (r#""a""b""#, None),
            (r#""a", "b""#, None),
            ("a b", None),
            ("*", None),
            ("", None),
        ] {
            let read = EntityTag::parse(text.as_bytes()).map(EntityTag::is_strong);
            assert_eq!(read, strong, "{text}");
        }
        assert!(!tag("abc").weak_eq(tag(r#""abc""#)));
    }

    #[test]
    fn a_repeated_etag_is_none_unless_it_says_the_same() {
        let mut fields = HeaderMap::new();
        fields.append(ETAG, HeaderValue::from_static(r#""a""#));
        fields.append(ETAG, HeaderValue::from_static(r#""a""#));
        assert_eq!(EntityTag::of(&fields), Some(tag(r#""a""#)));
        fields.append(ETAG, HeaderValue::from_static(r#""b""#));
        assert_eq!(EntityTag::of(&fields), None);
    }

    #[test]
    fn lists_are_read_over_lines_and_up_to_the_first_fault() {
        for (lines, found) in [
            (&[r#""a", "x""#][..], true),
            (&[r#""a""#, r#""x""#], true),
            (&[r#",, ,"x""#], true),
            (&[r#"a,"x""#], true),
            (&["*"], true),
            (&["*", r#""a""#], false),
            (&["*, *"], false),
            (&[r#"*, "x""#], false),
            (&[r#"a"b, "x""#], false),
            (&[r#""a"b", "x""#], false),
            (&[r#""a" "x""#], false),
            (&[r#""a,"x""#], false),
            (&[""], false),
        ] {
            let mut fields = HeaderMap::new();
            for line in lines {
                fields.append(IF_NONE_MATCH, HeaderValue::from_static(line));
            }
            let listed = Listed::read(fields.get_all(IF_NONE_MATCH));
            assert_eq!(
                listed.contains(|found| found.weak_eq(tag(r#""x""#))),
                found,
                "{lines:?}"
            );
        }
    }

    #[test]
    fn a_long_list_is_read_to_its_end() {
        let many: Vec<_> = (0..60).map(|number| format!("\"{number}\"")).collect();
        let mut fields = HeaderMap::new();
        let line = HeaderValue::from_str(&many.join(",")).unwrap();
        fields.append(IF_NONE_MATCH, line);
        let listed = Listed::read(fields.get_all(IF_NONE_MATCH));
        for (wanted, found) in [(r#""0""#, true), (r#""59""#, true), (r#""60""#, false)] {
            assert_eq!(
                listed.contains(|one| one.weak_eq(tag(wanted))),
                found,
                "{wanted}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes: Vec<u8>) {
            prop_assert!(Members(&bytes).count() <= bytes.len());
        }

        #[test]
        fn a_written_tag_is_found_again(tags in prop::collection::vec("\"[!#-~]{0,5}\"", 1..5), pick: prop::sample::Index) {
            let wanted = pick.get(&tags);
            let line = tags.join(", ");
            prop_assert_eq!(Members(line.as_bytes()).count(), tags.len());
            prop_assert!(Members(line.as_bytes()).any(|found| found.strong_eq(tag(wanted))));
        }
    }
}
