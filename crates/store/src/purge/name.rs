//! Names: the hashes by which purges are remembered.

use super::What;
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// The kinds of names, so that a tag is never taken for a host.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Url = 1,
    Host,
    Prefix,
    Tag,
}

/// Stands for every host in the name of a prefix. No authority contains it.
pub(super) const EVERY_HOST: &str = "*";

/// Returns the names by which a purge is remembered. A purge of one host also covers keys without a host.
pub(super) fn names(what: &What) -> Vec<u64> {
    match what {
        What::Url(urls) => urls.iter().map(|url| name(Kind::Url, &[url])).collect(),
        What::Tags(tags) => tags.iter().map(|tag| tag_name(tag)).collect(),
        What::Host(host) => vec![name(Kind::Host, &[host]), name(Kind::Host, &[""])],
        What::Prefix { host: None, path } => vec![name(Kind::Prefix, &[EVERY_HOST, "\n", path])],
        What::Prefix {
            host: Some(host),
            path,
        } => vec![
            name(Kind::Prefix, &[host, "\n", path]),
            name(Kind::Prefix, &["", "\n", path]),
        ],
        What::Pattern(_) | What::Everything => Vec::new(),
    }
}

/// The name of a tag.
pub(super) fn tag_name(tag: &str) -> u64 {
    name(Kind::Tag, &[tag])
}

/// Texts up to this many bytes are joined and hashed at once, which saves the setup of hashing piece by piece.
const SHORT: usize = 256;

/// Returns a name, the same on all nodes and after a restart. Two texts of the same name are purged together, which
/// costs a fetch.
pub(super) fn name(kind: Kind, parts: &[&str]) -> u64 {
    let mut room = [0; SHORT];
    match together(&mut room, parts) {
        Some(text) => xxh3_64_with_seed(text, kind as u64),
        None => name_of_long(kind, parts),
    }
}

fn name_of_long(kind: Kind, parts: &[&str]) -> u64 {
    let mut hash = Xxh3::with_seed(kind as u64);
    for part in parts {
        hash.update(part.as_bytes());
    }
    hash.digest()
}

/// Joins the parts into one text; `None` if there is no room for it.
fn together<'a>(room: &'a mut [u8], parts: &[&str]) -> Option<&'a [u8]> {
    let mut length = 0;
    for part in parts {
        let end = length + part.len();
        room.get_mut(length..end)?.copy_from_slice(part.as_bytes());
        length = end;
    }
    room.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remembered purges were named by another version, or on another node.
    #[test]
    fn a_text_has_one_name_however_it_is_hashed() {
        let text = "a/b?c".repeat(60);
        for length in 0..text.len() {
            let (whole, _) = text.split_at(length);
            let (first, second) = whole.split_at(length / 3);
            let names = [name(Kind::Url, &[first, second]), name(Kind::Url, &[whole])];
            assert_eq!(names, [name_of_long(Kind::Url, &[whole]); 2], "{length}");
        }
        let tag = name(Kind::Tag, &["page-1"]);
        assert_eq!(
            tag, 4_937_112_234_718_049_150,
            "as it has been from the first version on"
        );
        assert_ne!(tag, name(Kind::Host, &["page-1"]));
    }
}
