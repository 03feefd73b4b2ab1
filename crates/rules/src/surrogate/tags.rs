//! Tags (surrogate keys): the fields in which applications send them, each with the separators of its dialect.

use http::{HeaderMap, HeaderName};
use std::collections::HashSet;

/// The greatest number of bytes of tag fields that are read from one response, all fields together. It is as much as
/// the whole head may have by default. A response with more must not be stored ([`fits`]), since its last tags could
/// not purge it.
pub const MOST_BYTES: usize = 64 << 10;

/// The fields that carry tags. They address caches alone; clients get only those that the site passes on.
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

/// What separates the tags of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    /// Commas.
    Commas,
    /// Spaces.
    Spaces,
    /// Commas or spaces. Drupal writes spaces and API Platform commas, and neither has the other's separator within a
    /// tag.
    Either,
    /// Fastly's spaces, or Souin's comma with a space. A word with commas is a tag, and so is each of its parts:
    /// purging too much is safe.
    SpacesThenCommas,
    /// Commas, although some write spaces. A member with spaces is a tag, and so is each of its words.
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

/// Whether all tags of a response are read. If not, the response must not be stored.
pub fn fits(response: &HeaderMap) -> bool {
    if !are_there(response) {
        return true;
    }
    let lines = FIELDS.iter().flat_map(|name| response.get_all(name));
    lines.map(http::HeaderValue::len).sum::<usize>() <= MOST_BYTES
}

/// Returns the tags of a response, in the order of [`FIELDS`], each once. They are case-sensitive; bytes that are not
/// UTF-8 are replaced.
pub fn tags(response: &HeaderMap) -> Vec<String> {
    let mut found = TagCollector::default();
    if are_there(response) {
        for name in &FIELDS {
            found.read(response, name);
        }
    }
    found.tags
}

/// Whether a response has any of [`FIELDS`]. Most have none, and one pass over the names shows that.
fn are_there(response: &HeaderMap) -> bool {
    response.keys().any(carries_tags)
}

/// Whether a field is one of [`FIELDS`].
pub fn carries_tags(name: &HeaderName) -> bool {
    // The endings tell these fields from most others.
    let is_likely = match name.as_str().as_bytes() {
        [rest @ .., b'y'] => rest.ends_with(b"ke"),
        [rest @ .., b'g'] => rest.ends_with(b"-ta"),
        [rest @ .., b's'] => rest.ends_with(b"tag"),
        _ => false,
    };
    is_likely && FIELDS.contains(name)
}

/// Returns the tags in one field of a message, written as in responses. Clients name in such a field what to purge.
pub fn tags_in(fields: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let mut found = TagCollector::default();
    found.read(fields, name);
    found.tags
}

/// Collects tags, each once.
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
