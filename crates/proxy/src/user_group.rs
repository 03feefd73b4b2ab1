//! The field that names the group of users that a client belongs to. Only the application may tell it
//! ([`walk::user_context`](crate::walk::user_context)).

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The field that names a group.
pub const HASH: HeaderName = HeaderName::from_static("x-user-context-hash");

/// The media type of an answer that names a group.
pub const KIND: &str = "application/vnd.fos.user-context-hash";

/// Whether these are the fields of a particular user.
pub fn is_somebody(fields: &HeaderMap) -> bool {
    fields.contains_key(header::COOKIE) || fields.contains_key(header::AUTHORIZATION)
}

/// Whether a client says what only the application may say, or asks for what no client may know.
pub fn is_forged(fields: &HeaderMap) -> bool {
    let mut accepted = fields.get_all(header::ACCEPT).iter();
    fields.keys().any(is_hash) || accepted.any(|line| holds(line, KIND))
}

/// Whether an application may take this field for [`HASH`]. Where fields become variables, all characters but letters
/// and digits are the same.
fn is_hash(name: &HeaderName) -> bool {
    let hash = HASH;
    let (hash, name) = (hash.as_str().as_bytes(), name.as_str().as_bytes());
    let is_alike = |(of, byte): (&u8, &u8)| {
        of == byte || (!of.is_ascii_alphanumeric() && !byte.is_ascii_alphanumeric())
    };
    name.len() == hash.len() && hash.iter().zip(name).all(is_alike)
}

/// Translates the fields for a client, which sends no hash and must not learn any: what it gets depends on its cookies
/// and credentials.
pub fn translate(fields: &mut HeaderMap) {
    fields.remove(&HASH);
    let mut lines = fields.get_all(header::VARY).iter();
    if !lines.any(|line| holds(line, HASH.as_str())) {
        return;
    }
    let lines = fields.get_all(header::VARY).iter();
    let names = lines.filter_map(|line| line.to_str().ok());
    let names = names.flat_map(|line| line.split(',')).map(str::trim);
    let mut names: Vec<_> = names
        .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(HASH.as_str()))
        .collect();
    for name in ["Cookie", "Authorization"] {
        if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            names.push(name);
        }
    }
    // They were field values before.
    if let Ok(line) = HeaderValue::try_from(names.join(", ")) {
        fields.insert(header::VARY, line);
    }
}

/// Whether a value contains this text, in any case.
pub fn holds(value: &HeaderValue, text: &str) -> bool {
    let mut places = value.as_bytes().windows(text.len());
    places.any(|place| place.eq_ignore_ascii_case(text.as_bytes()))
}
