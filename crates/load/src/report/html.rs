//! One page that works offline.

use crate::figures::Figures;

/// The result as a page of HTML.
pub fn page(figures: &Figures) -> String {
    super::text::page(figures)
}
