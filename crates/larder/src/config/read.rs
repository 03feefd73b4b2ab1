//! From text to [`written::Config`], with every fault on the way.
//!
//! serde stops at the first fault. So the value that it failed at is removed from the document, and the rest is read
//! again until there are no faults. Every key may be left out, so what remains is always a configuration.

use super::{
    Fault, keys, presets,
    schema::{View, schema},
    syntax,
    torn::Torn,
    value::{Wrong, quoted},
    written,
};
use serde::Deserialize;
use serde_json::Value;
use std::{borrow::Cow, ops::Range};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue, Deserializer},
};

/// Reads `text`. If `faults` grew, the result lacks the faulty values, and [`Torn`] says what they were.
pub(super) fn read(text: &str, faults: &mut Vec<Fault>) -> (written::Config, Torn) {
    let schema = schema();
    let top = View::root(&schema);
    let (_, errors) = DeTable::parse_recoverable(text);
    faults.extend(syntax::faults(text, &errors, top));
    let Some(text) = syntax::readable(text, &errors) else {
        return (written::Config::default(), Torn::whole());
    };
    let config = read_as(&text, &schema, faults);
    let torn = Torn::of(&text, faults, top);
    (config, torn)
}

fn read_as(text: &str, schema: &Value, faults: &mut Vec<Fault>) -> written::Config {
    let (mut document, _) = DeTable::parse_recoverable(text);
    keys::take_unknown(document.get_mut(), schema, faults);
    presets::expand(document.get_mut(), faults);
    loop {
        match written::Config::deserialize(Deserializer::from(document.clone())) {
            Ok(config) => return config,
            Err(error) => {
                let place = error.span().and_then(|span| {
                    take(document.get_mut(), View::root(schema), &span).map(|key| (span, key))
                });
                let Some((span, place)) = place else {
                    faults.push(Fault::anywhere(error.message()));
                    return written::Config::default();
                };
                faults.push(place.fault(&span, error.message(), text));
            }
        }
    }
}

/// The place of a value that was removed: its key, and how that key is written.
struct Place {
    key: String,
    /// Whether the fault is in a member of a list or in the key itself, so that the correction is not `key = value`.
    bare: bool,
    example: Option<Value>,
    /// The keys of the table that is allowed there, as a list for people.
    keys: Option<String>,
    /// Whether it is a list of tables, each of which may begin with `[[key]]`.
    tables: bool,
    /// The keys of the tables that are allowed in it, if it is a list of tables.
    member_keys: Option<String>,
}

impl Place {
    /// Returns the fault at `span` of `text`, with what to write there.
    fn fault(&self, span: &Range<usize>, message: &str, text: &str) -> Fault {
        let Wrong { what, instead } = Wrong::from_message(message);
        let instead = instead.or_else(|| nearest_variant(&what));
        let what = describe(&what);
        let wants_table = what.starts_with(A_TABLE_EXPECTED);
        let wants_list = what.starts_with(A_LIST_EXPECTED);
        let key = &self.key;
        let one_of_several = wants_list && what.ends_with(A_TABLE_FOUND);
        if self.tables && one_of_several {
            return Fault::at(span, what)
                .instead(format!("there may be several: write `[[{key}]]`"));
        }
        // If a table with content is there, show it as a list.
        let table = text.get(span.clone()).filter(|table| {
            self.member_keys.is_some()
                && one_of_several
                && table.contains('=')
                && !table.contains('\n')
        });
        if let Some(table) = table {
            return Fault::at(span, what).instead(format!("write `{key} = [{table}]`"));
        }
        let fault = Fault::at(span, what);
        let example = || {
            let example = self.example.as_ref()?;
            // JSON and TOML write strings, numbers, booleans and lists alike.
            (!example.is_object()).then(|| example.to_string())
        };
        match (instead, example()) {
            (Some(value), _) if self.bare => fault.instead(format!("write `{value}`")),
            (Some(value), _) => fault.instead(format!("write `{} = {value}`", self.as_toml())),
            (None, Some(example)) => {
                fault.instead(format!("for example `{} = {example}`", self.as_toml()))
            }
            // Its keys say more than an example.
            (None, None) => match (&self.keys, &self.member_keys) {
                (Some(keys), _) if wants_table => fault.instead(format!("keys of `{key}`: {keys}")),
                (_, Some(keys)) if wants_list => {
                    let instead = if self.tables {
                        format!("`[[{key}]]` in a line of its own")
                    } else {
                        format!("`{} = [{{ … }}]`", self.as_toml())
                    };
                    fault.instead(format!("write {instead}, with its keys: {keys}"))
                }
                _ => fault,
            },
        }
    }

    /// Returns the key as it is written before `=`.
    fn as_toml(&self) -> Cow<'_, str> {
        let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if !self.key.is_empty() && self.key.bytes().all(is_bare) {
            Cow::Borrowed(&self.key)
        } else {
            Cow::Owned(quoted(&self.key))
        }
    }
}

/// How a fault begins if only a table is allowed.
const A_TABLE_EXPECTED: &str = "expected a table,";

/// How the fault of anything else in place of a list begins, and how it ends if that is a single table.
const A_LIST_EXPECTED: &str = "expected a list";
const A_TABLE_FOUND: &str = ", found a table";

/// Returns the known variant, in quotation marks, that is nearest to the unknown one in serde's message.
fn nearest_variant(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown variant ")?;
    let (found, known) = rest.split_once(", expected ")?;
    // Each name is between two backticks.
    let words = |text| str::split(text, '`').skip(1).step_by(2);
    let word = words(found).next()?.to_ascii_lowercase();
    let begins = |known: &&str| {
        let (known, word) = (known.replace('-', ""), word.replace(['-', '_'], ""));
        word.len() > 2 && (known.starts_with(&word) || word.starts_with(&known))
    };
    let near = keys::nearest(&word, words(known)).or_else(|| words(known).find(begins));
    near.map(|near| format!("\"{near}\""))
}

/// Rewrites serde's message for a wrong type with the words of TOML, in the order that the other messages have.
fn describe(message: &str) -> String {
    for kind in ["invalid type: ", "invalid value: "] {
        let parts = message
            .strip_prefix(kind)
            .and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((found, expected)) = parts {
            // The type in which a number fits that is too large for any setting.
            let found = found.trim_end_matches(" as i128");
            let found = match found.trim_end_matches(" as u128") {
                "map" => "a table",
                "sequence" => "a list",
                found => found,
            };
            let a_table = expected.starts_with("struct ");
            let expected = match expected {
                _ if a_table => "a table",
                "a sequence" => "a list",
                expected => expected,
            };
            return format!("expected {expected}, found {found}");
        }
    }
    match message {
        "wanted string or table" => return "expected a word in quotes".to_owned(),
        "integer number overflowed" => return "the number has too many digits".to_owned(),
        _ => {}
    }
    if let Some(rest) = message.strip_prefix("unknown variant ")
        && let Some((found, known)) = rest.split_once(", expected ")
    {
        let known = known.trim_start_matches("one of ");
        return format!("{found} is not known here, only {known}");
    }
    message.to_owned()
}

/// Removes the innermost value that `span` is in, or is.
fn take(table: &mut DeTable<'_>, schema: View<'_>, span: &Range<usize>) -> Option<Place> {
    let (known, schema) = match schema.table() {
        Some((known, schema)) => (Some(known), schema),
        None => (None, schema),
    };
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let inner = known
            .and_then(|known| known.get(key.get_ref().as_ref()))
            .map_or(schema, |inner| schema.to(inner));
        let inside = take_inside(value, key.get_ref(), inner, span);
        if inside.is_some() {
            return inside;
        }
        if covers(&key.span(), span) || covers(&value.span(), span) {
            let in_key = covers(&key.span(), span);
            found = Some(place(key.get_ref(), in_key, inner, inner));
            break;
        }
    }
    if let Some(place) = &found {
        table.remove(place.key.as_str());
    }
    found
}

fn take_inside<'i>(
    value: &mut Spanned<DeValue<'i>>,
    key: &str,
    schema: View<'_>,
    span: &Range<usize>,
) -> Option<Place> {
    match value.get_mut() {
        DeValue::Table(table) => take(table, schema, span),
        DeValue::Array(list) => {
            let members = schema.members().unwrap_or(schema);
            for index in 0..list.len() {
                let member = list.get_mut(index)?;
                let inside = take_inside(member, key, members, span);
                if inside.is_some() {
                    return inside;
                }
                if covers(&member.span(), span) {
                    let all = std::mem::replace(list, DeArray::<'i>::new())
                        .into_iter()
                        .enumerate();
                    *list = all
                        .filter(|(other, _)| *other != index)
                        .map(|(_, member)| member)
                        .collect();
                    return Some(place(key, true, members, schema));
                }
            }
            None
        }
        _ => None,
    }
}

/// Returns the place of a value with this schema under `key`. `whole` is the schema of the key's whole value.
fn place(key: &str, bare: bool, schema: View<'_>, whole: View<'_>) -> Place {
    // Examples of the key take precedence over those of its type.
    let examples = |schema: View<'_>| schema.get("examples")?.get(0).cloned();
    let first_word = || {
        let mut words = schema.resolved().choices();
        words.find_map(|word| word.get("const")).cloned()
    };
    let keys_of = |schema: View<'_>| schema.table().map(|(known, _)| keys::join(known.keys()));
    Place {
        key: key.to_owned(),
        bare,
        example: examples(whole)
            .or_else(|| examples(schema))
            .or_else(|| schema.get("default").cloned())
            .or_else(first_word),
        keys: keys_of(schema),
        tables: schema.is_list_at_top(key),
        member_keys: schema.members().and_then(keys_of),
    }
}

/// Whether `inner` lies in `outer`.
pub(super) const fn covers(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
