//! Pools of servers: a response that says from which it came can be purged with all others of that pool. The name stands among its
//! tags, in a form that no application gives to its own.

const POOL: &str = "x-pool: ";

/// The tag of what came from `pool`.
pub fn of_pool(pool: &str) -> String {
    format!("{POOL}{pool}")
}

/// The pool that `tag` stands for; `None`: it is none's.
pub fn pool(tag: &str) -> Option<&str> {
    tag.strip_prefix(POOL)
}
