//! The names of things on the server, which a person can read and list.
//!
//! ```text
//! larder:https://shop.example/shoes?page=2            what is kept under that cache key
//! larder:https://shop.example/shoes?page=2#lease      the node that fetches it at the moment
//! larder:https://shop.example/shoes?page=2#lease.9b2f… the node that fetches one of its variants
//! larder:https://shop.example/shoes?page=2#5f1c….3    the fourth chunk of a large body
//! larder:https://shop.example/search?q=aaaaaaa~9b2f…  a key too long for the server, its tail replaced by a hash
//! ```

use std::fmt::Write;
use xxhash_rust::xxh3::xxh3_128;

/// The longest addition to a name, in bytes: `#`, 16 hex digits, `.`, 5 digits; or `#lease.`, 16 hex digits.
const MOST_ADDED: usize = 24;

/// The length of `~` and 32 hex digits.
const HASH: usize = 33;

/// Returns the name of what is kept under `key`. It is short enough that the server (`longest` bytes) takes it with
/// what is added to it.
///
/// Two keys share a name only if they differ in how bytes are escaped. So a reader compares the whole key.
pub(super) fn of(prefix: &str, key: &[u8], longest: usize) -> String {
    let mut name = String::with_capacity(prefix.len() + 1 + key.len() + 8);
    escape(prefix.as_bytes(), &mut name);
    name.push(':');
    escape(key, &mut name);
    let longest = longest.saturating_sub(MOST_ADDED);
    if name.len() > longest {
        name.truncate(longest.saturating_sub(HASH));
        let _ = write!(name, "~{:032x}", xxh3_128(key));
    }
    name
}

/// The name of the lease on `name`, or on one of its variants. Two variants that share a name would merely wait for
/// each other.
pub(super) fn lease(name: &str, variant: Option<u64>) -> String {
    variant.map_or_else(
        || format!("{name}#lease"),
        |variant| format!("{name}#lease.{variant:016x}"),
    )
}

/// The name of a chunk of a large body.
pub(super) fn chunk(name: &str, set: u64, index: u32) -> String {
    format!("{name}#{set:016x}.{index}")
}

/// Appends visible ASCII as it is, and anything else percent-encoded. `#` is encoded too: it begins our additions.
fn escape(bytes: &[u8], name: &mut String) {
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'#' {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_read_like_urls() {
        let key = b"https://shop.example/shoes?page=2";
        assert_eq!(
            of("larder", key, 1024),
            "larder:https://shop.example/shoes?page=2"
        );
        assert_eq!(
            of("a b", b"http://h/#\nc:x=1\xff", 250),
            "a%20b:http://h/%23%0Ac:x=1%FF"
        );
    }

    proptest! {
        #[test]
        fn names_are_visible_short_and_tell_keys_apart(
            key in prop::collection::vec(any::<u8>(), 0..400), other in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            let name = of("larder", &key, 250);
            let longest = chunk(&name, u64::MAX, 99_999);
            prop_assert!(longest.len() <= 250 && longest.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert!(lease(&name, Some(u64::MAX)).len() <= 250);
            if key != other && !key.contains(&b'%') && !other.contains(&b'%') {
                prop_assert_ne!(name, of("larder", &other, 250));
            }
        }
    }
}
