//! Values that are written as a string and have a meaning of their own.

use super::{At, Wrong};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range};

/// A value that is written as a string.
pub trait Word: Sized {
    /// What it is, as in "expected …": `a duration`.
    const WHAT: &'static str;
    /// Examples. The first one is shown if the value has another type.
    const EXAMPLES: &'static [&'static str];

    /// An expression that every such text matches. Empty if it would say nothing.
    const PATTERN: &'static str = "";

    /// Reads the text.
    fn parse(text: &str) -> Result<Self, Wrong>;

    /// Reads the text. A proposal for a faulty text is itself accepted.
    fn read(text: &str) -> Result<Self, Wrong> {
        Self::parse(text).map_err(Wrong::proposing::<Self>)
    }

    /// Returns the fault of a number where the string is expected.
    fn number(number: i64) -> Wrong {
        Wrong::new(format!(
            "expected {}, found the number {number}",
            Self::WHAT
        ))
        .as_in(Self::EXAMPLES)
    }

    /// Returns the fault of `true` or `false` where the string is expected. `false` means `off` where that is a word.
    fn boolean(on: bool) -> Wrong {
        let wrong = Wrong::new(format!("expected {}, found {on}", Self::WHAT));
        if !on && Self::EXAMPLES.contains(&"off") {
            wrong.instead("off")
        } else {
            wrong.as_in(Self::EXAMPLES)
        }
    }
}

/// A [`Word`] and its place in the file.
#[derive(Clone, Debug)]
pub struct Text<T> {
    /// The value.
    pub value: T,
    /// Its bytes in the file.
    pub span: Range<usize>,
}

impl<'de, T: Word> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let At { value, span } = At::<Bare<T>>::deserialize(deserializer)?;
        Ok(Self {
            value: value.0,
            span,
        })
    }
}

impl<T: Word> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        T::WHAT.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({ "type": "string", "examples": T::EXAMPLES });
        if !T::PATTERN.is_empty() {
            schema.insert("pattern".to_owned(), T::PATTERN.into());
        }
        schema
    }
}

/// A [`Word`] without its place.
pub(super) struct Bare<T>(pub(super) T);

impl<'de, T: Word> Deserialize<'de> for Bare<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(WordVisitor(PhantomData))
            .map(Self)
    }
}

struct WordVisitor<T>(PhantomData<T>);

impl<T: Word> de::Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WHAT)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        Err(E::custom(T::number(number)))
    }
    fn visit_bool<E: de::Error>(self, on: bool) -> Result<T, E> {
        Err(E::custom(T::boolean(on)))
    }
}
