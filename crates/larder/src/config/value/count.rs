//! Whole numbers.

use super::Wrong;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt};

/// A number of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u32);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl de::Visitor<'_> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Count, E> {
        self.visit_i128(number.into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Count, E> {
        self.visit_i128(number.into())
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<Count, E> {
        let wrong = |_| {
            E::custom(Wrong::new(if number < 0 {
                format!("{number} is negative: write a whole number from 0 on")
            } else {
                format!("{number} is more than {}", u32::MAX)
            }))
        };
        u32::try_from(number).map(Count).map_err(wrong)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Count, E> {
        Err(match text.parse::<u32>() {
            Ok(number) => E::custom(Wrong {
                instead: Some(number.to_string()),
                ..Wrong::new("expected a whole number, found a string")
            }),
            Err(_) => E::invalid_type(de::Unexpected::Str(text), &self),
        })
    }
}

impl JsonSchema for Count {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "number".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
    }
}
