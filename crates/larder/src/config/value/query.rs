//! Which parameters are part of the cache key.

use super::{Text, Word, Wrong};
use crate::config::keys::nearest;
use rules::key::{ParamPattern, QueryChoice};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt};

/// `"all"`, `"none"`, or a list of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query(pub QueryChoice);

impl<'de> Deserialize<'de> for Query {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QueryVisitor)
    }
}

struct QueryVisitor;

impl<'de> de::Visitor<'de> for QueryVisitor {
    type Value = Query;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"all\", \"none\" or a list of parameters")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Query, E> {
        match text {
            "all" => Ok(Query(QueryChoice::All)),
            "none" => Ok(Query(QueryChoice::None)),
            _ => {
                if let Some(word) = nearest(text, ["all", "none"].into_iter()) {
                    let what = format!(
                        "`{text}` is neither `all` nor `none`; write a parameter of this name in brackets"
                    );
                    return Err(E::custom(Wrong::new(what).instead(word)));
                }
                let pattern = ParamPattern::read(text);
                let pattern = pattern.map_err(|wrong| E::custom(wrong.for_whole_list()))?;
                Ok(Query(QueryChoice::Only(vec![pattern])))
            }
        }
    }

    fn visit_bool<E: de::Error>(self, all: bool) -> Result<Query, E> {
        let word = if all { "all" } else { "none" };
        Err(E::custom(
            Wrong::new("name the parameters, or write all or none").instead(word),
        ))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Query, A::Error> {
        let mut list = Vec::new();
        while let Some(Text { value, .. }) = seq.next_element::<Text<ParamPattern>>()? {
            list.push(value);
        }
        if list.is_empty() {
            let wrong = Wrong::new("the list of parameters is empty");
            return Err(de::Error::custom(wrong.instead("none")));
        }
        Ok(Query(QueryChoice::Only(list)))
    }
}

impl JsonSchema for Query {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "parameters".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "enum": ["all", "none"] },
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            ],
            "examples": ["all", "none", ["page", "q"]],
        })
    }
}
