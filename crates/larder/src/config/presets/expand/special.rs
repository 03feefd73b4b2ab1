//! Routes of a preset that have their own `bypass` or `key`.

use super::under::under;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Returns a preset's route with its own tables completed, because a table of a route replaces the one in `[defaults]`.
///
/// In `bypass`, the route's lists replace those of its preset (`base`), and no others: the preset's other lists and
/// what the user adds (`own`) still apply. In `key`, the route's keys replace whatever is written: if no cookie
/// bypasses the store, no cookie may reach the application.
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

/// Returns the table of this name, or the value there even if it is no table. An empty table if there is nothing.
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
