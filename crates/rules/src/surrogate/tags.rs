//! Tags (surrogate keys): the fields in which applications give them, each with the separators of its dialect.

use http::{HeaderMap, HeaderName};
use std::collections::HashSet;

/// At most this many bytes of tag fields are read from one response, all of them together: as much as the whole head may have
/// where nothing else is configured. What has more must not be stored ([`fits`]), since its last tags could not purge it.
pub const MOST_BYTES: usize = 64 << 10;

/// The fields that carry tags. They speak to caches alone; clients get those that the site passes on.
pub static FIELDS: [HeaderName; 7] = [
    SURROGATE_KEY,
    CACHE_TAG,
    EDGE_CACHE_TAG,
    CACHE_TAGS,
    X_CACHE_TAGS,
    XKEY,
    X_MAGENTO_TAGS,
];

const SURROGATE_KEY: HeaderName = HeaderName::from_static("surrogate-key");
const CACHE_TAG: HeaderName = HeaderName::from_static("cache-tag");
const EDGE_CACHE_TAG: HeaderName = HeaderName::from_static("edge-cache-tag");
const CACHE_TAGS: HeaderName = HeaderName::from_static("cache-tags");
const X_CACHE_TAGS: HeaderName = HeaderName::from_static("x-cache-tags");
const XKEY: HeaderName = HeaderName::from_static("xkey");
const X_MAGENTO_TAGS: HeaderName = HeaderName::from_static("x-magento-tags");

/// How tags stand in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    /// Between commas.
    Commas,
    /// Between spaces.
    Spaces,
    /// Drupal writes spaces, API Platform commas, and neither has the other within a tag.
    Either,
    /// Fastly's spaces, and Souin's comma with a space. A word with commas is a tag, and so is each of its parts: purging too
    /// much is safe.
    SpacesThenCommas,
    /// Commas, but some write spaces. A member with spaces is a tag, and so is each of its words.
    CommasThenSpaces,
}

impl Separator {
    fn of(name: &HeaderName) -> Self {
        match name.as_str() {
            "surrogate-key" => Self::SpacesThenCommas,
            "cache-tags" => Self::Either,
            "x-cache-tags" => Self::CommasThenSpaces,
            "xkey" => Self::Spaces,
            _ => Self::Commas,
        }
    }
}

/// Whether all tags of a response are read; if not, it must not be stored.
pub fn fits(response: &HeaderMap) -> bool {
    if !are_there(response) {
        return true;
    }
    let lines = FIELDS.iter().flat_map(|name| response.get_all(name));
    lines.map(http::HeaderValue::len).sum::<usize>() <= MOST_BYTES
}

/// The tags of a response, in the order of [`FIELDS`], each once. Case counts; bytes that are not UTF-8 are replaced.
pub fn tags(response: &HeaderMap) -> Vec<String> {
    let mut found = Found::default();
    if are_there(response) {
        for name in &FIELDS {
            found.read(response, name);
        }
    }
    found.tags
}

/// Whether a response has any field of [`FIELDS`]. Most have none, which one look through their names tells.
fn are_there(response: &HeaderMap) -> bool {
    response.keys().any(carries_tags)
}

/// Whether a field is one of [`FIELDS`].
pub fn carries_tags(name: &HeaderName) -> bool {
    // Their endings tell them from most others.
    let is_likely = match name.as_str().as_bytes() {
        [rest @ .., b'y'] => rest.ends_with(b"ke"),
        [rest @ .., b'g'] => rest.ends_with(b"-ta"),
        [rest @ .., b's'] => rest.ends_with(b"tag"),
        _ => false,
    };
    is_likely && FIELDS.contains(name)
}

/// The tags in one field of a message, written as responses write them: clients name in it what is to be purged.
pub fn tags_in(fields: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let mut found = Found::default();
    found.read(fields, name);
    found.tags
}

/// Tags as they are found.
#[derive(Debug, Default)]
struct Found {
    tags: Vec<String>,
    known: HashSet<String>,
    bytes: usize,
}

impl Found {
    fn read(&mut self, fields: &HeaderMap, name: &HeaderName) {
        for line in fields.get_all(name) {
            self.bytes += line.len();
            if self.bytes > MOST_BYTES {
                return;
            }
            let text = String::from_utf8_lossy(line.as_bytes());
            self.split(&text, Separator::of(name));
        }
    }

    fn split(&mut self, text: &str, separator: Separator) {
        match separator {
            Separator::Commas => text.split(',').for_each(|tag| self.add(tag)),
            Separator::Spaces => text.split(is_space).for_each(|tag| self.add(tag)),
            Separator::Either => {
                let both = |letter| letter == ',' || is_space(letter);
                text.split(both).for_each(|tag| self.add(tag));
            }
            Separator::SpacesThenCommas => {
                for word in text.split(is_space) {
                    self.add(word);
                    self.split(word, Separator::Commas);
                }
            }
            Separator::CommasThenSpaces => {
                for member in text.split(',') {
                    self.add(member);
                    self.split(member, Separator::Spaces);
                }
            }
        }
    }

    fn add(&mut self, tag: &str) {
        let tag = tag.trim_matches(is_space);
        if !tag.is_empty() && !self.known.contains(tag) {
            self.known.insert(tag.to_owned());
            self.tags.push(tag.to_owned());
        }
    }
}

const fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    /// A name that the first look does not let through to the list would carry tags in vain.
    #[test]
    fn no_field_is_overlooked_by_its_ending() {
        for name in &FIELDS {
            assert!(carries_tags(name), "{name}");
        }
        assert!(!carries_tags(&HeaderName::from_static("x-key")));
    }

    fn response(lines: &[(&str, &str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            fields.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        fields
    }

    #[test]
    fn each_dialect_is_read_with_its_separators() {
        for (name, value, expected) in [
            // Fastly: "space-separated".
            ("Surrogate-Key", "a b  c", &["a", "b", "c"][..]),
            // Souin: comma and space.
            (
                "Surrogate-Key",
                "/books/1, /books",
                &["/books/1,", "/books/1", "/books"],
            ),
            ("Surrogate-Key", "a,b", &["a,b", "a", "b"]),
            // Cloudflare, Akamai: comma-separated.
            ("Cache-Tag", "a,b , c", &["a", "b", "c"]),
            ("Edge-Cache-Tag", "a, b", &["a", "b"]),
            // Drupal.
            (
                "Cache-Tags",
                "node:1 node_list config:x",
                &["node:1", "node_list", "config:x"],
            ),
            // API Platform.
            ("Cache-Tags", "/books/1,/books", &["/books/1", "/books"]),
            // FOSHttpCache, Proxy Cache Purge.
            (
                "X-Cache-Tags",
                "site-1,home,p-12",
                &["site-1", "home", "p-12"],
            ),
            ("X-Cache-Tags", "my tag,b", &["my tag", "my", "tag", "b"]),
            ("X-Cache-Tags", "a b", &["a b", "a", "b"]),
            // Varnish's xkey, Shopware.
            (
                "xkey",
                "product-1\tcategory-2",
                &["product-1", "category-2"],
            ),
            ("xkey", "a,b c", &["a,b", "c"]),
            (
                "X-Magento-Tags",
                "cat_p_12,cat_p,FPC",
                &["cat_p_12", "cat_p", "FPC"],
            ),
            ("Cache-Tag", "a,A,a", &["a", "A"]),
            ("Cache-Tag", ", ,,", &[]),
            ("Cache-Tag", "", &[]),
            ("X-Tags", "a", &[]),
        ] {
            assert_eq!(
                tags(&response(&[(name, value)])),
                expected,
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn fields_and_lines_add_up_and_each_tag_counts_once() {
        let fields = response(&[
            ("cache-tag", "b,c"),
            ("surrogate-key", "a b"),
            ("cache-tag", "d"),
        ]);
        assert_eq!(tags(&fields), ["a", "b", "c", "d"]);
        assert_eq!(tags_in(&fields, &CACHE_TAG), ["b", "c", "d"]);
    }

    #[test]
    fn long_lines_are_read_and_too_much_is_known() {
        let many: Vec<_> = (0..2500).map(|number| format!("tag{number:04}")).collect();
        let line = many.join(",");
        assert!(line.len() > 16 << 10);
        let fields = response(&[("x-magento-tags", &line)]);
        assert!(fits(&fields));
        assert_eq!(tags(&fields), many);
        let fields = response(&[("cache-tag", &"x".repeat(MOST_BYTES)), ("xkey", "y")]);
        assert!(!fits(&fields));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            names in prop::collection::hash_set("[!-+\\--~é]{1,12}", 0..20),
            field in 0..FIELDS.len(),
        ) {
            let name = FIELDS[field].as_str();
            let glue = match Separator::of(&FIELDS[field]) {
                Separator::Spaces | Separator::SpacesThenCommas => " ",
                _ => ",",
            };
            let names: Vec<_> = names.into_iter().collect();
            prop_assert_eq!(tags(&response(&[(name, &names.join(glue))])), names);
        }

        #[test]
        fn any_value_is_read(value in "[\\PC\t]{0,60}", field in 0..FIELDS.len()) {
            let found = tags(&response(&[(FIELDS[field].as_str(), &value)]));
            prop_assert!(found.iter().all(|tag| !tag.is_empty() && tag.trim_matches(is_space) == tag));
        }
    }
}
