//! Names that applications give to what they answer, to purge it by: cache groups (RFC 9875), scoped to their origin, and
//! the tags of the dialects that came before, which hold for a whole cache.

mod groups;
mod tags;

pub use groups::{LONGEST_GROUP, MOST_GROUPS, groups, invalidated_groups};
pub use tags::{FIELDS, MOST_BYTES, fits, tags, tags_in};
