//! Presets: settings for well-known applications, as configuration. Each is a file in the folder `presets`. Before
//! anything else looks at the document, a `preset` is replaced by the content of its file. So everything that a preset
//! means can also be written by hand.

mod expand;

#[cfg(test)]
mod tests;

pub(super) use expand::expand;
use expand::stack;

use super::written::Preset;
use serde::Deserialize;
use std::ops::Range;
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue, Deserializer},
};

impl Preset {
    /// Returns the preset of this name.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "wordpress" => Self::Wordpress,
            "woocommerce" => Self::Woocommerce,
            "magento" => Self::Magento,
            "drupal" => Self::Drupal,
            "django" => Self::Django,
            _ => return None,
        })
    }

    /// Returns the content of its file: `[defaults]` and routes. A preset that it builds on is already expanded.
    fn document(self) -> DeTable<'static> {
        let text = match self {
            Self::Wordpress => include_str!("presets/wordpress.toml"),
            Self::Woocommerce => include_str!("presets/woocommerce.toml"),
            Self::Magento => include_str!("presets/magento.toml"),
            Self::Drupal => include_str!("presets/drupal.toml"),
            Self::Django => include_str!("presets/django.toml"),
        };
        // A test reads all files; none has a fault.
        let mut document = DeTable::parse_recoverable(text).0.into_inner();
        stack(&mut document);
        forget_names(&mut document);
        document
    }
}

/// Returns a configuration that uses presets without them: its `[defaults]` and routes as TOML. `None` if it uses no
/// preset or cannot be read.
pub fn plain(text: &str) -> Option<String> {
    let mut document = DeTable::parse(text).ok()?.into_inner();
    if !expand(&mut document, &mut Vec::new()) {
        return None;
    }
    forget_names(&mut document);
    let mut table =
        toml::Table::deserialize(Deserializer::from(Spanned::new(0..0, document))).ok()?;
    table.retain(|key, _| key == "defaults" || key == "route");
    toml::to_string_pretty(&table).ok()
}

/// Removes the names of presets from a document that has their whole content.
fn forget_names(document: &mut DeTable<'_>) {
    if let Some(DeValue::Table(defaults)) = document.get_mut("defaults").map(Spanned::get_mut) {
        defaults.remove("preset");
    }
    let Some(DeValue::Array(routes)) = document.get_mut("route").map(Spanned::get_mut) else {
        return;
    };
    for route in routes.iter_mut() {
        if let DeValue::Table(route) = route.get_mut() {
            route.remove("preset");
        }
    }
}

/// A key with the place `span`.
fn key(name: &str, span: &Range<usize>) -> Spanned<DeString<'static>> {
    Spanned::new(span.clone(), name.to_owned().into())
}

/// A text with the place `span`.
fn word(text: String, span: &Range<usize>) -> Spanned<DeValue<'static>> {
    Spanned::new(span.clone(), DeValue::String(text.into()))
}
