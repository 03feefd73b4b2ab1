//! Freshens stored fields (RFC 9111 section 3.2).

use crate::{directives, fields, surrogate, vary};
use http::{
    HeaderMap, HeaderName,
    header::{
        AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, DATE, ETAG, LAST_MODIFIED, VARY, VIA,
    },
};

/// Whether the stored bytes depend on a field, so that an update must not change it (RFC 9111 section 3.2): their
/// length, their coding, and which part they are. `Content-Type` is not among them: what is stored is bytes, not what
/// was made of them.
fn is_depended_upon(name: &HeaderName) -> bool {
    matches!(*name, CONTENT_LENGTH | CONTENT_ENCODING | CONTENT_RANGE)
}

/// Fields that describe the journey of one message, not the representation.
const OF_ONE_MESSAGE: [HeaderName; 3] = [AGE, DATE, VIA];

/// Freshens stored fields with those of a 304, of a 200 to a HEAD, or of another part (RFC 9111 section 3.2).
///
/// Every field of the update replaces all stored lines of its name, except `Content-Length`, `Content-Encoding`,
/// `Content-Range`, hop-by-hop fields, and fields that cannot be stored (section 3.1). A field that
/// [decides](fields::decides) about storing replaces them in any case: the caller judges the response anew, and then
/// removes that field with all that the response was first stored without.
///
/// `Vary` is the exception: what the stored response varies by, it goes on to vary by. Its content was made so, and a
/// server in front of an application may say on a 304 what it adds itself, without what the application would have said.
///
/// The stored `Age`, `Date` and `Via` are removed even if the update has none: they describe the journey of an earlier
/// message. Age counts from the validation on (section 4.2.3). If the origin left out `Date`, the caller adds the time
/// of receipt (RFC 9110 section 6.6.1).
///
/// `targets` are the targeted fields that are obeyed. If one governs, in the update or in the stored response, the
/// fields that `Cache-Control` names do not count (RFC 9213 section 2.2).
pub fn freshen(stored: &mut HeaderMap, update: &HeaderMap, targets: &[HeaderName]) {
    let mut update = update.clone();
    let directives = if targets.iter().any(|name| stored.contains_key(name)) {
        let mut all = stored.clone();
        freshen_for_one(&mut all, update.clone());
        directives::response(&all, targets).0
    } else {
        directives::response(&update, targets).0
    };
    // Fields that decide are judged before they are removed.
    fields::remove_where(&mut update, |name| {
        fields::is_unstorable(name, &directives) && !fields::decides(name)
    });
    freshen_for_one(stored, update);
}

/// Returns those fields of a 304 that tell a cache how it may use the content, and when: all that
/// [decide](fields::decides), the validators, the names for purges, and those of the message's journey.
pub fn for_caches(update: &HeaderMap, targets: &[HeaderName]) -> HeaderMap {
    let mut told = update.clone();
    fields::remove_where(&mut told, |name| {
        let is_told = fields::decides(name)
            || targets.contains(name)
            || matches!(*name, ETAG | LAST_MODIFIED)
            || surrogate::names_for_purges(name)
            || OF_ONE_MESSAGE.contains(name);
        !is_told
    });
    told
}

/// As [`freshen`], for the client whose request brought the update: it also gets the fields that cannot be stored.
pub fn freshen_for_one(stored: &mut HeaderMap, mut update: HeaderMap) {
    fields::remove_hop_by_hop(&mut update);
    fields::remove_where(&mut update, is_depended_upon);
    if let Some(left_out) = vary::left_out(stored, &update) {
        update.append(VARY, left_out);
    }
    for name in OF_ONE_MESSAGE.iter().chain(update.keys()) {
        stored.remove(name);
    }
    for (name, value) in &update {
        stored.append(name, value.clone());
    }
}
