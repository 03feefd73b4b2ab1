//! Whole numbers of which only some have a meaning.

use super::{Wrong, switch};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt, marker::PhantomData};

/// What one of these numbers means.
pub trait Choice: Sized {
    /// What to say to who wants nothing of the kind and writes a number or a word for that.
    const OFF: Option<&'static str> = None;

    /// Returns what `number` means.
    ///
    /// # Errors
    /// It means nothing.
    fn choose(number: i64) -> Result<Self, Wrong>;

    /// The numbers that mean something, as far as that shows in a schema of its own.
    fn schema() -> Schema;
}

/// A number with a meaning. Unlike [`Count`](super::Count), any other is refused as it is read, also in quotes: so what
/// is proposed in its place is itself accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen<T>(pub T);

impl<'de, T: Choice> Deserialize<'de> for Chosen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChosenVisitor(PhantomData))
    }
}

struct ChosenVisitor<T>(PhantomData<T>);

impl<T: Choice> ChosenVisitor<T> {
    /// The fault of what turns something off.
    fn off(is_off: bool) -> Result<(), Wrong> {
        match T::OFF.filter(|_| is_off) {
            Some(what) => Err(Wrong::new(what)),
            None => Ok(()),
        }
    }
}

impl<T: Choice> de::Visitor<'_> for ChosenVisitor<T> {
    type Value = Chosen<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        let chosen = Self::off(number == 0).and_then(|()| T::choose(number));
        chosen.map(Chosen).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_bool<E: de::Error>(self, on: bool) -> Result<Self::Value, E> {
        Self::off(!on).map_err(E::custom)?;
        Err(E::invalid_type(de::Unexpected::Bool(on), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Self::off(switch(text) == Some(false)).map_err(E::custom)?;
        let Ok(number) = text.parse() else {
            return Err(E::invalid_type(de::Unexpected::Str(text), &self));
        };
        T::choose(number).map_err(E::custom)?;
        Err(E::custom(
            Wrong::new("expected a whole number, found a string").instead_number(number),
        ))
    }
}

impl<T: Choice> JsonSchema for Chosen<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "number".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}
