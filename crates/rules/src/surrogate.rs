//! Names that applications give to their answers, to purge them by: cache groups (RFC 9875), scoped to their origin,
//! and the tags of older dialects, which hold for a whole cache. Also what an origin can ask of a surrogate by the Edge
//! Architecture.

mod edge;
mod groups;
mod tags;

pub use edge::{CONTENT_ESI, CONTROL, wants_esi};
pub use groups::{LONGEST_GROUP, MOST_GROUPS, fits as groups_fit, groups, invalidated_groups};
pub use tags::{FIELDS, MOST_BYTES, carries_tags, fits, tags, tags_in};

use http::HeaderName;

/// Whether a field of a response names it for purges: by tags, or by groups.
pub fn names_for_purges(name: &HeaderName) -> bool {
    carries_tags(name) || *name == groups::CACHE_GROUPS
}
