//! Targets with bytes that a URI has in their encoded form alone (RFC 3986 section 2), and that some clients send as they are:
//! `"`, `<`, `>`, `` ` ``, and all beyond ASCII. They are taken for their encoded form, which is what is keyed, sent and logged.

use http::Uri;
use rules::key;

/// The URI that `target` is or means; `None` where it means none.
pub(super) fn uri(target: &str) -> Option<Uri> {
    if let Ok(uri) = Uri::try_from(target)
        && target.is_ascii()
    {
        return Some(uri);
    }
    Uri::try_from(key::encode_rest(target)).ok()
}
