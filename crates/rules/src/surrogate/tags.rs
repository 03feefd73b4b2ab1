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
    let mut found = TagCollector::default();
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
    let mut found = TagCollector::default();
    found.read(fields, name);
    found.tags
}

/// Tags as they are found.
#[derive(Debug, Default)]
struct TagCollector {
    tags: Vec<String>,
    known: HashSet<String>,
    bytes: usize,
}

impl TagCollector {
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
mod tests;
