//! Pools of servers. Responses that name the pool from which they came can be purged together. The name is among their
//! tags, in a form that no application gives to its own tags.

const POOL: &str = "x-pool: ";

/// Returns the tag of responses from `pool`.
pub fn of_pool(pool: &str) -> String {
    format!("{POOL}{pool}")
}

/// Returns the pool that `tag` stands for; `None` if it stands for none.
pub fn pool(tag: &str) -> Option<&str> {
    tag.strip_prefix(POOL)
}
