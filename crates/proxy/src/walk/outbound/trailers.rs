//! The trailers of a request's content.

use super::{
    forwarding::is_written_anew,
    trust::{is_ambiguous, is_of_proxies},
};
use crate::{
    policy::{Edit, Policy},
    user_group::HASH,
};
use http::HeaderName;

/// Whether the origin gets this field of a request's trailers: only if it would get it in the head, as it came, from
/// every client. Applications may take trailers for fields of the head (RFC 9110 section 6.5.1).
pub fn may_trail(policy: &Policy, name: &HeaderName) -> bool {
    let is_edited = || {
        let mut edits = policy.to_origin.edits.iter();
        edits.any(|edit| match edit {
            Edit::Set(edited, _) | Edit::Add(edited, _) | Edit::Remove(edited) => edited == name,
        })
    };
    !(is_of_proxies(name)
        || is_written_anew(name)
        || is_ambiguous(name)
        || *name == HASH
        || is_edited())
}
