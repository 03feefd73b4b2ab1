//! One entry of the stream: what it holds, and how it is read.

use crate::purge::{Position, Purge};
use redis::{FromRedisValue, Value};
use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
};

/// The field that holds the purge, [as text](Purge::to_text).
pub const PURGE: &str = "purge";
/// The field that holds the name of the node, for people.
pub const NODE: &str = "node";
/// The field that says which process wrote the entry, and as what.
pub const BY: &str = "by";

/// A process that writes entries. A node that restarts is another author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Author(u64);

/// Who wrote an entry, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By {
    /// The process.
    pub author: Author,
    /// What the entry is to it.
    pub part: Part,
}

/// What an entry is to its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Part of a publication; the number counts them.
    Of(u64),
    /// The copy of the entry with this number in the author's own log, where it has already taken effect.
    Copy(u64),
}

/// One entry of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The entry's id.
    pub position: Position,
    /// Who wrote it, if it was one of us.
    pub by: Option<By>,
    /// What it purges; `None` if it cannot be read, so that it may purge anything.
    pub purge: Option<Purge>,
}

/// The error for an answer that is not a list of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server's answer is no list of a stream's entries")]
pub struct NoEntries;

impl Author {
    /// Makes a new author.
    pub fn random() -> Self {
        // The hash is keyed by the operating system's randomness.
        Self(RandomState::new().hash_one(std::process::id()))
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let author = self.author.0;
        match self.part {
            Part::Of(number) => write!(f, "{author:016x}.{number}"),
            Part::Copy(number) => write!(f, "{author:016x}={number}"),
        }
    }
}

impl By {
    fn parse(text: &str) -> Option<Self> {
        let (author, number) = text.split_once(['.', '='])?;
        let part = if text.contains('=') {
            Part::Copy
        } else {
            Part::Of
        };
        Some(Self {
            author: Author(u64::from_str_radix(author, 16).ok()?),
            part: part(number.parse().ok()?),
        })
    }
}

/// Reads the entries in the answer to `XRANGE`.
///
/// # Errors
/// The answer is something else.
pub fn read(answer: &Value) -> Result<Vec<Entry>, NoEntries> {
    let Value::Array(entries) = answer else {
        return Err(NoEntries);
    };
    entries
        .iter()
        .map(|entry| one(entry).ok_or(NoEntries))
        .collect()
}

fn one(entry: &Value) -> Option<Entry> {
    let Value::Array(parts) = entry else {
        return None;
    };
    let [id, fields] = parts.as_slice() else {
        return None;
    };
    let id = String::from_redis_value_ref(id).ok()?;
    let fields = HashMap::<Vec<u8>, Vec<u8>>::from_redis_value_ref(fields).ok()?;
    let field = |name: &str| fields.get(name.as_bytes());
    let by = field(BY).and_then(|by| By::parse(std::str::from_utf8(by).ok()?));
    Some(Entry {
        position: id.parse().ok()?,
        by,
        purge: field(PURGE).and_then(|text| Purge::from_text(text).ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purge::What;
    use proptest::prelude::*;

    fn text(text: impl Into<Vec<u8>>) -> Value {
        Value::BulkString(text.into())
    }

    fn entry(id: &str, fields: &[(&str, &str)]) -> Value {
        let fields = fields
            .iter()
            .flat_map(|(name, value)| [text(*name), text(*value)]);
        Value::Array(vec![text(id), Value::Array(fields.collect())])
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Nil),
            any::<i64>().prop_map(Value::Int),
            "[0-9]{1,3}-[0-9]".prop_map(text),
            prop::collection::vec(any::<u8>(), 0..8).prop_map(Value::BulkString),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop::collection::vec(inner, 0..6).prop_map(Value::Array)
        })
    }

    proptest! {
        #[test]
        fn any_answer_is_read(value in any_value()) {
            let _ = read(&value);
        }
    }

    #[test]
    fn entries_are_read() {
        let by = By {
            author: Author(255),
            part: Part::Of(7),
        };
        let copy = By {
            part: Part::Copy(8),
            ..by
        };
        let purge = Purge::hard(What::Host("h".to_owned()));
        let answer = Value::Array(vec![
            entry(
                "1-0",
                &[
                    (PURGE, &purge.to_text()),
                    (NODE, "n"),
                    (BY, &by.to_string()),
                ],
            ),
            entry("1-1", &[(PURGE, "{\"newer\":1}"), (BY, "?")]),
            entry("2-0", &[("other", "field")]),
            entry("2-1", &[(PURGE, &purge.to_text()), (BY, &copy.to_string())]),
        ]);
        let unreadable = |position| Entry {
            position,
            by: None,
            purge: None,
        };
        let expected = vec![
            Entry {
                position: Position(1, 0),
                by: Some(by),
                purge: Some(purge.clone()),
            },
            unreadable(Position(1, 1)),
            unreadable(Position(2, 0)),
            Entry {
                position: Position(2, 1),
                by: Some(copy),
                purge: Some(purge),
            },
        ];
        assert_eq!(read(&answer), Ok(expected));
    }

    #[test]
    fn anything_else_is_none() {
        for bad in [
            Value::Nil,
            text("1-0"),
            Value::Array(vec![text("1-0")]),
            Value::Array(vec![entry("one", &[])]),
            Value::Array(vec![Value::Array(vec![
                text("1-0"),
                Value::Nil,
                Value::Nil,
            ])]),
        ] {
            assert_eq!(read(&bad), Err(NoEntries), "{bad:?}");
        }
    }
}
