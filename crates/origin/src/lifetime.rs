//! How long an answer is fresh, if its source knows that and no field says so.

use std::time::Duration;

/// The lifetime that a response's source knows, in the response's extensions. The response's own fields
/// (`Cache-Control`, `Expires`) have precedence, except over [`Lifetime::AtMost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The source forgets it after this long. This counts like a field that says so.
    Remaining(Duration),
    /// This long, unless the site says otherwise.
    Usual(Duration),
    /// This long at most, whatever its fields or the site say. Its source keeps it up to date, and does not tell when
    /// it was made. Clients get its fields unchanged.
    AtMost(Duration),
    /// None, whatever its fields or the site say: what made it broke off.
    Never,
}
