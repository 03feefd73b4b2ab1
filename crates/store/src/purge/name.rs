//! Names: what a purge is remembered by, as hashes.

use super::What;
use xxhash_rust::xxh3::Xxh3;

/// Kinds of names, so that a tag never passes for a host.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Url = 1,
    Host,
    Prefix,
    Tag,
}

/// Stands for every host in the name of a prefix; no authority holds it.
pub(super) const EVERY_HOST: &str = "*";

/// The names a purge is remembered by. Where keys hold no host, a purge of one host is for them too.
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

/// Stable over nodes and restarts. Two texts of one name are purged together, which costs a fetch.
pub(super) fn name(kind: Kind, parts: &[&str]) -> u64 {
    let mut hash = Xxh3::with_seed(kind as u64);
    for part in parts {
        hash.update(part.as_bytes());
    }
    hash.digest()
}
