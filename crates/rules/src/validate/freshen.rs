//! Freshening stored fields (RFC 9111 section 3.2).

use crate::{directives, fields};
use http::{
    HeaderMap, HeaderName,
    header::{AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, DATE, VIA},
};

/// What the stored bytes depend upon, so that an update must not touch it (RFC 9111 section 3.2): their length, their
/// coding and which part they are. `Content-Type` is not among them: bytes are stored, not what was made of them.
fn is_depended_upon(name: &HeaderName) -> bool {
    matches!(*name, CONTENT_LENGTH | CONTENT_ENCODING | CONTENT_RANGE)
}

/// What tells of one message's journey and not of the representation.
const OF_ONE_MESSAGE: [HeaderName; 3] = [AGE, DATE, VIA];

/// Freshens stored fields with those of a 304, of a HEAD's 200 or of another part (RFC 9111 section 3.2): every field the
/// update carries replaces all stored lines of its name, except `Content-Length`, `Content-Encoding`, `Content-Range`,
/// hop-by-hop fields, and what cannot be stored (section 3.1). What decides about storing is among them: it is taken out with what the
/// response was first stored without, once that is judged anew.
///
/// The stored `Age`, `Date` and `Via` go even if the update has none: they tell of the journey of an earlier message. Age is
/// counted from the validation on (section 4.2.3), and a `Date` that the origin left out is the time of receipt (RFC 9110
/// section 6.6.1), which is the caller's to add.
///
/// `targets` are the targeted fields that are obeyed: where one governs, the update's or the stored one, `Cache-Control` names no fields
/// (RFC 9213 section 2.2).
pub fn freshen(stored: &mut HeaderMap, update: &HeaderMap, targets: &[HeaderName]) {
    let mut update = update.clone();
    let directives = if targets.iter().any(|name| stored.contains_key(name)) {
        let mut all = stored.clone();
        freshen_for_one(&mut all, update.clone());
        directives::response(&all, targets).0
    } else {
        directives::response(&update, targets).0
    };
    // What decides is judged before it is taken out.
    fields::remove_where(&mut update, |name| {
        fields::is_unstorable(name, &directives) && !fields::decides(name)
    });
    freshen_for_one(stored, update);
}

/// As [`freshen`], for the client whose request brought the update: what cannot be stored is among its fields.
pub fn freshen_for_one(stored: &mut HeaderMap, mut update: HeaderMap) {
    fields::remove_hop_by_hop(&mut update);
    fields::remove_where(&mut update, is_depended_upon);
    for name in OF_ONE_MESSAGE.iter().chain(update.keys()) {
        stored.remove(name);
    }
    for (name, value) in &update {
        stored.append(name, value.clone());
    }
}
