//! How long an answer holds, where its source knows and no field of it says so.

use std::time::Duration;

/// Travels in a response's extensions. What the response's own fields say (`Cache-Control`, `Expires`) goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Its source forgets it after so long: as good as a field that says so.
    Remaining(Duration),
    /// So long unless the site says otherwise.
    Usual(Duration),
}
