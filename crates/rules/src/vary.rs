//! Variants: nominated fields and how request values are compared (RFC 9111 section 4.1, RFC 9110 section 12.5.5).

use http::{HeaderMap, HeaderName};

/// What a response's `Vary` nominates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nominated {
    /// `Vary` is absent or empty: any request matches.
    Nothing,
    /// `*`, or not readable: no request ever matches.
    Everything,
    /// These fields, lower case, sorted, without repetition.
    Fields(Vec<HeaderName>),
}

/// Reads `Vary` over all its lines.
pub fn nominated(response: &HeaderMap) -> Nominated {
    todo!()
}

/// Appends the normalised values that `request` has for `nominated` to `into`: two requests match exactly when what is
/// appended is equal. Absent, empty and present differ. White space and, where order does not matter (`Accept*`), order
/// and repetition are normalised; `Accept-Encoding` and `Accept-Language` by meaning.
pub fn variant_key(nominated: &[HeaderName], request: &HeaderMap, into: &mut Vec<u8>) {
    todo!()
}
