//! What the answer to a request with a condition for the origin means for stored responses: nothing, unless it says that
//! the page is gone. An application may answer a condition that fails with any other status, for that client alone.

use crate::{
    ask::Ask,
    hit_for_miss::Credentials,
    walk::lookup::{Bypassed, bypassed},
    way,
};
use http::StatusCode;

/// Whether the answer of `status` to this request, which bypassed the store for the reason `why`, says for everybody that
/// the page is gone or has moved for good. One to a request with credentials is taken to be about these.
pub fn is_said(ask: &Ask, why: Bypassed, status: StatusCode) -> bool {
    way::is_gone(status)
        && matches!(why, Bypassed::Condition(_))
        && ask.credentials() != Credentials::Authorization
        && bypassed::may_fill(ask)
}
