//! The result as text, JSON, CSV and one HTML page.

pub mod csv;
pub mod html;
pub mod text;
pub mod words;

use crate::figures::Figures;

/// Writes the result as indented JSON. See `docs/bench.md` for its form.
pub fn json(figures: &Figures) -> String {
    // Names are texts and floats are finite, so this does not fail.
    serde_json::to_string_pretty(figures).unwrap_or_default()
}
