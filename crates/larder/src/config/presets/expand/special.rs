//! Routes of a preset that say for themselves what bypasses the store, and what is keyed.

use super::under::under;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A preset's route with the tables that it has of its own filled up, since such a table takes the place of that in `[defaults]`.
///
/// In `bypass` the route's lists take the place of its preset's (`base`), and of those alone: what the user adds (`own`) holds there
/// too, and so do the preset's other lists. In `key` the route's word takes the place of whatever is written: where no cookie bypasses
/// the store, none may reach the application.
pub(super) fn filled_up<'i>(
    special: DeTable<'static>,
    own: &DeTable<'i>,
    base: &DeTable<'static>,
) -> DeTable<'i> {
    let pairs = special.into_iter();
    pairs
        .map(|(name, value)| {
            let span = value.span();
            let filled = match name.get_ref().as_ref() {
                "bypass" => {
                    let preset = over(table(base, "bypass"), value.into_inner());
                    below(table(own, "bypass"), "bypass", &preset)
                }
                "key" => {
                    let written = below(table(own, "key"), "key", &table(base, "key"));
                    over(written, value.into_inner())
                }
                _ => value.into_inner(),
            };
            (name, Spanned::new(span, filled))
        })
        .collect()
}

/// The table of this name, or whatever stands there and is none; empty where nothing does.
fn table<'i>(of: &DeTable<'i>, name: &str) -> DeValue<'i> {
    let written = of.get(name).map(|value| value.get_ref().clone());
    written.unwrap_or_else(|| DeValue::Table(DeTable::default()))
}

fn below<'i>(mut own: DeValue<'i>, name: &str, preset: &DeValue<'static>) -> DeValue<'i> {
    under(name, &mut own, preset);
    own
}

fn over<'i>(mut written: DeValue<'i>, special: DeValue<'static>) -> DeValue<'i> {
    if let (DeValue::Table(written), DeValue::Table(special)) = (&mut written, special) {
        written.extend(special);
    }
    written
}
