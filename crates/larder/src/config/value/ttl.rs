//! Lifetimes by status.

use super::{Text, Word, Wrong, quoted, word::Bare};
use proxy::policy::StatusPattern;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt, time::Duration};

/// The statuses that a lifetime without a status covers, as with nginx's `proxy_cache_valid`.
const USUAL: [u16; 3] = [200, 301, 302];

/// Lifetimes by status, the more specific pattern first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ttl(pub Vec<(StatusPattern, Duration)>);

impl Ttl {
    /// A single duration, which covers 200, 301 and 302.
    pub fn usual(duration: Duration) -> Self {
        Self(
            USUAL
                .map(|code| (StatusPattern::Exact(code), duration))
                .to_vec(),
        )
    }
}

/// The statuses of one key of the table: `200`, `5xx`, `any`, `200 301`.
struct Statuses(Vec<StatusPattern>);

impl Word for Statuses {
    const WHAT: &'static str = "a status";
    const EXAMPLES: &'static [&'static str] = &["200", "5xx", "any"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        let list = words
            .map(StatusPattern::parse)
            .collect::<Result<Vec<_>, _>>()?;
        if list.is_empty() {
            return Err(Wrong::new("a status is missing").as_in(Self::EXAMPLES));
        }
        Ok(Self(list))
    }
}

/// Sorts the more specific pattern first.
const fn rank(pattern: StatusPattern) -> u8 {
    match pattern {
        StatusPattern::Exact(_) => 0,
        StatusPattern::Class(_) => 1,
        StatusPattern::Any => 2,
    }
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TtlVisitor)
    }
}

struct TtlVisitor;

impl<'de> de::Visitor<'de> for TtlVisitor {
    type Value = Ttl;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration, or a table of durations by status")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Ttl, E> {
        let duration = Duration::read(text).map_err(|wrong| E::custom(by_status(text, wrong)))?;
        Ok(Ttl::usual(duration))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Ttl, E> {
        Err(E::custom(Duration::number(number)))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Ttl, A::Error> {
        let mut list: Vec<(StatusPattern, Duration)> = Vec::new();
        while let Some(Bare(Statuses(statuses))) = map.next_key()? {
            let duration = map.next_value::<Text<Duration>>()?.value;
            for status in statuses {
                if list.iter().any(|(earlier, _)| *earlier == status) {
                    return Err(de::Error::custom(Wrong::new("a status has two lifetimes")));
                }
                list.push((status, duration));
            }
        }
        list.sort_by_key(|(pattern, _)| rank(*pattern));
        Ok(Ttl(list))
    }
}

/// Proposes a table for statuses with their lifetime behind them, as nginx has them in `proxy_cache_valid`.
fn by_status(text: &str, wrong: Wrong) -> Wrong {
    let Some((statuses, time)) = text.trim().rsplit_once(char::is_whitespace) else {
        return wrong;
    };
    let statuses = statuses.split_whitespace().collect::<Vec<_>>().join(" ");
    if Statuses::parse(&statuses).is_err() || Duration::parse(time).is_err() {
        return wrong;
    }
    let meant = format!("{{ {} = {} }}", quoted(&statuses), quoted(time));
    Wrong {
        instead: Some(meant),
        ..Wrong::new(format!(
            "`{text}` is not a duration: lifetimes by status are a table"
        ))
    }
}

impl JsonSchema for Ttl {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "lifetimes".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let duration = generator.subschema_for::<Text<Duration>>();
        json_schema!({
            "anyOf": [duration, { "type": "object", "additionalProperties": duration, "minProperties": 1 }],
            "examples": ["1s", { "200": "10m", "404": "10s", "5xx": "0s", "any": "1m" }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_exact_comes_first() {
        let ttl: Ttl = toml::from_str("any = \"1m\"\n\"200 404\" = \"2m\"\n5xx = \"3m\"").unwrap();
        let order: Vec<_> = ttl.0.iter().map(|(pattern, _)| *pattern).collect();
        let wanted = [
            StatusPattern::Exact(200),
            StatusPattern::Exact(404),
            StatusPattern::Class(5),
            StatusPattern::Any,
        ];
        assert_eq!(order, wanted);
        toml::from_str::<Ttl>("200 = \"1m\"\n\"200 404\" = \"2m\"").unwrap_err();
    }
}
