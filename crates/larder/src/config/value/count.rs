//! Whole numbers.

use super::Wrong;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt};

/// A number of things, of which `LEAST` and `MOST` are allowed. A number beyond them is read, too: that is a fault of the
/// setting, which `Sink::bounded` finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<const LEAST: u32 = 0, const MOST: u32 = { u32::MAX }>(pub u32);

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for Count<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor<const LEAST: u32, const MOST: u32>;

impl<const LEAST: u32, const MOST: u32> de::Visitor<'_> for CountVisitor<LEAST, MOST> {
    type Value = Count<LEAST, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        self.visit_i128(number.into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        self.visit_i128(number.into())
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<Self::Value, E> {
        let wrong = |_| {
            let (what, bound) = if number < 0 {
                (format!("{number} is too small: at least {LEAST}"), LEAST)
            } else {
                (format!("{number} is too large: at most {MOST}"), MOST)
            };
            E::custom(Wrong {
                instead: Some(bound.to_string()),
                // The number that is nearest is hardly meant: -1 means no limit elsewhere.
                is_example: true,
                ..Wrong::new(what)
            })
        };
        u32::try_from(number).map(Count).map_err(wrong)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Err(match text.parse::<u32>() {
            Ok(number) => E::custom(Wrong {
                instead: Some(number.clamp(LEAST, MOST).to_string()),
                ..Wrong::new("expected a whole number, found a string")
            }),
            Err(_) => E::invalid_type(de::Unexpected::Str(text), &self),
        })
    }
}

impl<const LEAST: u32, const MOST: u32> JsonSchema for Count<LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "number".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}
