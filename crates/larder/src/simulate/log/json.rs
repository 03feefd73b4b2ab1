//! Logs with an object on each line: Larder's own, Caddy's, and those that people configure in nginx.

use super::{
    line::{Bad, Heed, Line},
    meaning::Meaning,
    names,
};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::{borrow::Cow, fmt};

/// The greatest depth of nested objects that is read; Caddy's are three deep.
const DEEPEST: usize = 4;

/// Parses a line.
///
/// # Errors
/// What is wrong with the line.
pub fn parse<'a>(line: &'a [u8], heed: &Heed) -> Result<Line<'a>, Bad> {
    let mut object = Object {
        line: Line::default(),
        heed,
        path: String::new(),
        depth: 0,
        bad: None,
    };
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let read = (&mut object).deserialize(&mut deserializer);
    if let Some(bad) = object.bad {
        return Err(bad);
    }
    read.and_then(|()| deserializer.end())
        .map_err(|_| Bad::Json)?;
    object.line.finish()
}

/// A line that is being read; `path` names the objects that contain the current value.
struct Object<'a, 'h> {
    line: Line<'a>,
    heed: &'h Heed,
    path: String,
    depth: usize,
    bad: Option<Bad>,
}

impl<'a> Object<'a, '_> {
    fn put<E: Error>(&mut self, meaning: &Meaning, text: Cow<'a, [u8]>) -> Result<(), E> {
        self.line.put(meaning, text, self.heed).map_err(|bad| {
            self.bad = Some(bad);
            E::custom(bad)
        })
    }
}

impl<'a> DeserializeSeed<'a> for &mut Object<'a, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for &mut Object<'a, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let own = self.path.len();
        while let Some(Key(key)) = map.next_key()? {
            self.path.push_str(&key);
            let meaning = names::key(&self.path);
            let object = &mut *self;
            map.next_value_seed(Value { object, meaning })?;
            self.path.truncate(own);
        }
        Ok(())
    }
}

/// A value, and its meaning.
struct Value<'o, 'a, 'h> {
    object: &'o mut Object<'a, 'h>,
    meaning: Option<Meaning>,
}

impl<'a> DeserializeSeed<'a> for Value<'_, 'a, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Value<'_, 'a, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'a str) -> Result<(), E> {
        match &self.meaning {
            Some(meaning) => self.object.put(meaning, Cow::Borrowed(text.as_bytes())),
            None => Ok(()),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match &self.meaning {
            Some(meaning) => self
                .object
                .put(meaning, Cow::Owned(text.as_bytes().to_vec())),
            None => Ok(()),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.written(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.written(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.written(number)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.written(value)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    /// Fields have a list of lines.
    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { object, meaning } = self;
        if object.depth >= DEEPEST {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        object.depth += 1;
        loop {
            let one = Value {
                object: &mut *object,
                meaning: meaning.clone(),
            };
            if list.next_element_seed(one)?.is_none() {
                break;
            }
        }
        object.depth -= 1;
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let object = self.object;
        if object.depth >= DEEPEST {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        object.depth += 1;
        object.path.push('.');
        Visitor::visit_map(&mut *object, map)?;
        object.depth -= 1;
        Ok(())
    }
}

impl Value<'_, '_, '_> {
    fn written<E: Error>(self, value: impl fmt::Display) -> Result<(), E> {
        match &self.meaning {
            Some(meaning) => self
                .object
                .put(meaning, Cow::Owned(value.to_string().into_bytes())),
            None => Ok(()),
        }
    }
}

/// A key, borrowed if possible.
struct Key<'a>(Cow<'a, str>);

impl<'a> serde::Deserialize<'a> for Key<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'a> Visitor<'a> for Text {
            type Value = Key<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'a str) -> Result<Key<'a>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Key<'a>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
