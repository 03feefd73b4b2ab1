//! How long an answer holds, where its source knows and no field of it says so.

use std::time::Duration;

/// Travels in a response's extensions. What the response's own fields say (`Cache-Control`, `Expires`) goes first, unless it is
/// [`Lifetime::AtMost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Its source forgets it after so long: as good as a field that says so.
    Remaining(Duration),
    /// So long unless the site says otherwise.
    Usual(Duration),
    /// So long, and no longer whatever its fields or the site say: it is kept up to date where it comes from, and nobody tells when
    /// it was. Clients get its fields as they are.
    AtMost(Duration),
}
