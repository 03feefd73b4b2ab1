//! The result as text, JSON, CSV and one HTML page.

pub mod csv;
pub mod html;
pub mod text;
pub mod words;

use crate::figures::Figures;

/// The result as JSON, indented; its form is in `docs/bench.md`.
pub fn json(figures: &Figures) -> String {
    // Names are texts and floats are finite, so it can be written.
    serde_json::to_string_pretty(figures).unwrap_or_default()
}
