//! JSON in canonical form (after RFC 8785): members in the order of their names, no white space, one spelling of each
//! string. Numbers stay as written, since receivers differ in which they take for equal: `1`, `1.0` and `1e0` are three
//! texts here.

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess},
};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, fmt};

/// How deep values may be nested.
pub const DEEPEST: usize = 32;

/// Returns the canonical form; `None` for what is not JSON, for two members with one name (receivers differ in which of
/// them counts), for strings that are not Unicode, and for what is nested deeper than [`DEEPEST`].
pub fn canonical(text: &str) -> Option<String> {
    let mut form = String::with_capacity(text.len());
    write(serde_json::from_str(text).ok()?, DEEPEST, &mut form)?;
    Some(form)
}

fn write(value: &RawValue, deeper: usize, form: &mut String) -> Option<()> {
    let text = value.get();
    let deeper = deeper.checked_sub(1)?;
    match text.as_bytes().first()? {
        b'{' => {
            let Members(members) = serde_json::from_str(text).ok()?;
            form.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    form.push(',');
                }
                form.push_str(&serde_json::to_string(&name).ok()?);
                form.push(':');
                write(member, deeper, form)?;
            }
            form.push('}');
        }
        b'[' => {
            let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            form.push('[');
            for (index, member) in list.into_iter().enumerate() {
                if index > 0 {
                    form.push(',');
                }
                write(member, deeper, form)?;
            }
            form.push(']');
        }
        b'"' => {
            let string: String = serde_json::from_str(text).ok()?;
            form.push_str(&serde_json::to_string(&string).ok()?);
        }
        _ => form.push_str(text),
    }
    Some(())
}

/// The members of an object, each with its value as written. No name occurs twice.
#[derive(Debug)]
pub struct Members<'a>(pub BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Visitor).map(Members)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = BTreeMap<String, &'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            if members.insert(name, value).is_some() {
                return Err(de::Error::custom("two members of one name"));
            }
        }
        Ok(members)
    }
}
