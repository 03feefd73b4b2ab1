//! Names under which stored responses are purged, besides the tags they carry: cache groups, which hold within one origin
//! (RFC 9875 section 2.1), and pools of servers. They stand among the tags, in a form that no application gives to its own.

use http::HeaderName;
use store::purge::pool;

pub use store::purge::of_pool;

/// The response field in which servers say to which pool they belong, and of requests to purge one (Magento's deployments).
pub const X_POOL: HeaderName = HeaderName::from_static("x-pool");

const GROUP: &str = "group ";

/// A cache group's name, scoped to its origin (RFC 9875 section 2.1).
pub fn of_group(scheme: &str, host: &str, group: &str) -> String {
    format!("{GROUP}{scheme}://{host} {group}")
}

/// Host and name of the cache group that `name` stands for; `None`: it is none's.
pub fn group(name: &str) -> Option<(&str, &str)> {
    let origin = name.strip_prefix(GROUP)?;
    let rest = origin.strip_prefix("http://");
    rest.or_else(|| origin.strip_prefix("https://"))?
        .split_once(' ')
}

/// Whether `name` is a tag of the application, and neither a cache group's nor a pool's.
pub fn is_tag(name: &str) -> bool {
    group(name).is_none() && pool(name).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_what() {
        let mark = of_group("https", "[::1]:8443", "a b");
        assert_eq!(group(&mark), Some(("[::1]:8443", "a b")));
        assert!(!is_tag(&mark) && !is_tag(&of_pool("blue")));
        for tag in ["blue", "group therapy", "group", "pool table", "x-pool"] {
            assert!(is_tag(tag), "{tag}");
        }
    }
}
