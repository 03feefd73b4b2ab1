//! What is wrong with one value.

use super::Word;
use std::fmt;

/// What is wrong with a value, and the value that was probably meant.
///
/// Travels through serde as text: the first line is what is wrong, the second, where there is one, what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong, in one line.
    pub what: String,
    /// What to write, in one line, as TOML.
    pub instead: Option<String>,
}

impl Wrong {
    /// Something is wrong and nothing can be said about what was meant.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into().replace('\n', " "),
            instead: None,
        }
    }

    /// Adds the value that was probably meant, as text.
    #[must_use]
    pub fn instead(mut self, value: impl fmt::Display) -> Self {
        self.instead = Some(format!("{:?}", value.to_string()));
        self
    }

    /// Adds the value that was probably meant, where it is one.
    #[must_use]
    pub fn instead_if_good<T: Word>(self, value: &str) -> Self {
        if T::parse(value).is_ok() {
            self.instead(value)
        } else {
            self
        }
    }

    /// Adds the first of these as the value that was probably meant.
    #[must_use]
    pub fn as_in(self, examples: &[&str]) -> Self {
        match examples.first() {
            Some(example) => self.instead(example),
            None => self,
        }
    }

    /// Reads back what [`fmt::Display`] wrote.
    pub fn from_message(message: &str) -> Self {
        match message.split_once('\n') {
            Some((what, instead)) => Self {
                what: what.to_owned(),
                instead: Some(instead.to_owned()),
            },
            None => Self::new(message),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(instead) = &self.instead {
            write!(f, "\n{instead}")?;
        }
        Ok(())
    }
}
