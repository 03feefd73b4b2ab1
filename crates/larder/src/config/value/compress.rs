//! What is compressed: everything worth compressing, nothing, or only with some codings.

use super::{Word, Wrong, switch};
use rules::coding::{Coding, TypePattern};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt};

/// `true`, `false`, or a list of codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compress {
    /// With every coding.
    On,
    /// Not at all.
    Off,
    /// With these codings, in order of preference; never empty.
    Only(Vec<Coding>),
}

impl<'de> Deserialize<'de> for Compress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CompressVisitor)
    }
}

struct CompressVisitor;

impl<'de> de::Visitor<'de> for CompressVisitor {
    type Value = Compress;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a list of codings")
    }

    fn visit_bool<E: de::Error>(self, on: bool) -> Result<Compress, E> {
        Ok(if on { Compress::On } else { Compress::Off })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Compress, E> {
        let coding = coding(text).map_err(|wrong| match switch(text) {
            Some(on) => E::custom(Wrong {
                instead: Some(on.to_string()),
                ..wrong
            }),
            None => E::custom(wrong),
        })?;
        Ok(Compress::Only(vec![coding]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Compress, A::Error> {
        let mut list = Vec::new();
        while let Some(text) = seq.next_element::<Cow<'_, str>>()? {
            let coding = coding(&text).map_err(de::Error::custom)?;
            if list.contains(&coding) {
                let twice = format!("`{text}` is listed twice");
                return Err(de::Error::custom(Wrong::new(twice)));
            }
            list.push(coding);
        }
        if list.is_empty() {
            return Err(de::Error::custom(Wrong {
                instead: Some("false".to_owned()),
                ..Wrong::new("the list of codings is empty")
            }));
        }
        Ok(Compress::Only(list))
    }
}

fn coding(text: &str) -> Result<Coding, Wrong> {
    let mut all = Coding::ALL.into_iter();
    all.find(|coding| coding.token() == text).ok_or_else(|| {
        let wrong = Wrong::new(format!(
            "`{text}` is not a coding: the codings are br, zstd and gzip"
        ));
        match text {
            "brotli" => wrong.instead("br"),
            "zst" | "zstandard" => wrong.instead("zstd"),
            _ => wrong,
        }
    })
}

impl JsonSchema for Compress {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "codings".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let codings = Coding::ALL.map(Coding::token);
        json_schema!({
            "anyOf": [
                { "type": "boolean" },
                { "type": "string", "enum": codings },
                { "type": "array", "items": { "type": "string", "enum": codings } },
            ],
            "examples": [true, false, codings],
        })
    }
}

impl Word for TypePattern {
    const WHAT: &'static str = "a media type";
    const EXAMPLES: &'static [&'static str] = &["text/*", "application/json", "application/*+xml"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        Self::parse(text).ok_or_else(|| {
            Wrong::new(format!("`{text}` is not a media type")).as_in(Self::EXAMPLES)
        })
    }
}
