//! Names that applications give to what they answer, to purge it by: cache groups (RFC 9875), scoped to their origin, and
//! the tags of the dialects that came before, which hold for a whole cache.

//! And what the Edge Architecture lets an origin ask of whoever stands before it.

mod edge;
mod groups;
mod tags;

pub use edge::{CONTENT_ESI, CONTROL, wants_esi};
pub use groups::{LONGEST_GROUP, MOST_GROUPS, fits as groups_fit, groups, invalidated_groups};
pub use tags::{FIELDS, MOST_BYTES, carries_tags, fits, tags, tags_in};
