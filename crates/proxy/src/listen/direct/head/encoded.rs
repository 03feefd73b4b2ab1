//! Targets with bytes that a URI may contain only encoded (RFC 3986 section 2), and that some clients send as they are:
//! `"`, `<`, `>`, `` ` ``, and everything beyond ASCII. They are read as their encoded form, which is keyed, sent and
//! logged.

use http::Uri;
use rules::key;

/// The URI that `target` is or means; `None` if there is none.
pub(super) fn uri(target: &str) -> Option<Uri> {
    if let Ok(uri) = Uri::try_from(target)
        && target.is_ascii()
    {
        return Some(uri);
    }
    Uri::try_from(key::encode_rest(target)).ok()
}
