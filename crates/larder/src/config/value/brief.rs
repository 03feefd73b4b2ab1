//! Tables that a string can stand for.

use super::{At, Element, Wrong};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, value::MapAccessDeserializer},
};
use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range};

/// A table for which a string can be written instead.
pub trait Short: DeserializeOwned + JsonSchema {
    /// What it is, as in "expected …": `a server`.
    const WHAT: &'static str;
    /// Examples of the string.
    const EXAMPLES: &'static [&'static str];

    /// Returns the table that the string at `span` stands for.
    fn short(text: &str, span: Range<usize>) -> Result<Self, Wrong>;
}

/// A table, or the string that is its short form.
#[derive(Clone, Debug)]
pub struct Brief<T> {
    /// The table.
    pub value: T,
    /// Its bytes in the file.
    pub span: Range<usize>,
}

impl<'de, T: Short> Deserialize<'de> for Brief<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let At { value, span } = At::<TextOrTable<T>>::deserialize(deserializer)?;
        let value = match value {
            TextOrTable::Text(text) => T::short(&text, span.clone()).map_err(de::Error::custom)?,
            TextOrTable::Table(table) => table,
        };
        Ok(Self { value, span })
    }
}

impl<T: Short> Element for Brief<T> {
    fn from_text(text: &str, span: Range<usize>) -> Result<Self, Wrong> {
        let value = T::short(text, span.clone())?;
        Ok(Self { value, span })
    }
}

impl<T: Short> JsonSchema for Brief<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        T::WHAT.into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [{ "type": "string" }, table], "examples": T::EXAMPLES })
    }
}

enum TextOrTable<T> {
    Text(String),
    Table(T),
}

impl<'de, T: Short> Deserialize<'de> for TextOrTable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BriefVisitor(PhantomData))
    }
}

struct BriefVisitor<T>(PhantomData<T>);

impl<'de, T: Short> de::Visitor<'de> for BriefVisitor<T> {
    type Value = TextOrTable<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as a string or a table", T::WHAT)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        // Only an error raised here gets the place of the text. The place itself is known later.
        T::short(text, 0..0).map_err(E::custom)?;
        Ok(TextOrTable::Text(text.to_owned()))
    }
    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(TextOrTable::Table)
    }
}
