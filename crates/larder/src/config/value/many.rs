//! Lists that need no brackets around a single member.

use super::{At, Text, Word, Wrong, quoted};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned},
};
use serde_json::json;
use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range};

/// What a [`Many`] may contain.
pub trait Element: DeserializeOwned + JsonSchema {
    /// Reads it from the string at `span`.
    fn from_text(text: &str, span: Range<usize>) -> Result<Self, Wrong>;
}

impl<T: Word> Element for Text<T> {
    fn from_text(text: &str, span: Range<usize>) -> Result<Self, Wrong> {
        let value = T::read(text)?;
        Ok(Self { value, span })
    }
}

/// A list, or one member of it without brackets.
#[derive(Clone, Debug)]
pub struct Many<T> {
    /// The members.
    pub list: Vec<T>,
    /// The bytes of the whole list in the file.
    pub span: Range<usize>,
}

impl<'de, T: Element> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let At { value, span } = At::<OneOrList<T>>::deserialize(deserializer)?;
        let list = match value {
            OneOrList::List(list) => list,
            OneOrList::One(text) => {
                let read = T::from_text(&text, span.clone());
                let several = |wrong| several::<T>(&text).unwrap_or(wrong);
                vec![read.map_err(|wrong| de::Error::custom(several(wrong).for_whole_list()))?]
            }
        };
        Ok(Self { list, span })
    }
}

/// Returns the fault of several members in one text, as other programs write lists.
fn several<T: Element>(text: &str) -> Option<Wrong> {
    let members: Vec<&str> = text.split(',').map(str::trim).collect();
    // A comma within braces is not one between members.
    let is_whole = |member: &str| member.matches('{').count() == member.matches('}').count();
    let is_good = |member: &&str| is_whole(member) && T::from_text(member, 0..0).is_ok();
    if members.len() < 2 || !members.iter().all(is_good) {
        return None;
    }
    let members: Vec<String> = members.into_iter().map(quoted).collect();
    Some(Wrong {
        instead: Some(members.join(", ")),
        ..Wrong::new(format!("`{text}` is several values: write them as a list"))
    })
}

impl<T: Element> JsonSchema for Many<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("list of {}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let member = generator.subschema_for::<T>();
        let examples = member.get("examples").cloned().unwrap_or(json!([]));
        json_schema!({
            "anyOf": [{ "type": "array", "items": member }, { "type": "string" }],
            "examples": examples,
        })
    }
}

enum OneOrList<T> {
    One(String),
    List(Vec<T>),
}

impl<'de, T: Element> Deserialize<'de> for OneOrList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Element> de::Visitor<'de> for ListVisitor<T> {
    type Value = OneOrList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list in brackets or a string")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(OneOrList::One(text.to_owned()))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(member) = seq.next_element()? {
            list.push(member);
        }
        Ok(OneOrList::List(list))
    }
}
