//! Names under which stored responses are purged, besides their tags: cache groups, which are scoped to one origin
//! (RFC 9875 section 2.1), and pools of servers. They are kept among the tags, in a form that an application's own never
//! have.

use http::HeaderName;
use store::purge::pool;

pub use store::purge::of_pool;

/// The response field in which servers name their pool, and the request field that purges one (Magento's deployments).
pub const X_POOL: HeaderName = HeaderName::from_static("x-pool");

const GROUP: &str = "group ";

/// Returns the name of a cache group, scoped to its origin (RFC 9875 section 2.1).
pub fn of_group(scheme: &str, host: &str, group: &str) -> String {
    format!("{GROUP}{scheme}://{host} {group}")
}

/// Returns the host and name of the cache group that `name` stands for; `None` if it is not one.
pub fn group(name: &str) -> Option<(&str, &str)> {
    let origin = name.strip_prefix(GROUP)?;
    let rest = origin.strip_prefix("http://");
    rest.or_else(|| origin.strip_prefix("https://"))?
        .split_once(' ')
}

/// Whether `name` is a tag of the application: not a cache group or a pool.
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
