//! What is wrong with one value.

use super::Word;
use std::fmt::{self, Write as _};

/// What is wrong with a value, and the value that was probably meant.
///
/// Passes through serde as text. The first line is what is wrong. The second is what to write instead, behind a sign of
/// what that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong, in one line.
    pub what: String,
    /// What to write, in one line, as TOML.
    pub instead: Option<String>,
    /// Whether that only shows the form: it does not mean what was written.
    pub is_example: bool,
}

/// The signs that begin the second line.
const NOTHING: char = '-';
const MEANT: char = '=';
const EXAMPLE: char = '~';

impl Wrong {
    /// Describes a value for which there is no proposal.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into().replace('\n', " "),
            instead: None,
            is_example: false,
        }
    }

    /// Adds the value that was probably meant, as text.
    #[must_use]
    pub fn instead(mut self, value: impl fmt::Display) -> Self {
        self.instead = Some(quoted(&value.to_string()));
        self.is_example = false;
        self
    }

    /// Adds the number that was probably meant.
    #[must_use]
    pub fn instead_number(mut self, number: i64) -> Self {
        self.instead = Some(number.to_string());
        self.is_example = false;
        self
    }

    /// Adds the value that was probably meant, if it is valid.
    #[must_use]
    pub fn instead_if_good<T: Word>(self, value: &str) -> Self {
        if T::parse(value).is_ok() {
            self.instead(value)
        } else {
            self
        }
    }

    /// Adds the values that were probably meant, as members of a list, if each is valid.
    #[must_use]
    pub fn instead_all<'a, T: Word>(mut self, values: impl Iterator<Item = &'a str>) -> Self {
        let values: Vec<_> = values.filter(|value| !value.is_empty()).collect();
        if !values.is_empty() && values.iter().all(|value| T::parse(value).is_ok()) {
            let values: Vec<_> = values.into_iter().map(quoted).collect();
            self.instead = Some(values.join(", "));
        }
        self
    }

    /// The same where a single value stands in place of a list: several values need its brackets.
    #[must_use]
    pub fn for_whole_list(mut self) -> Self {
        let is_several = |toml: &String| unquoted(toml).is_some_and(|values| values.len() > 1);
        self.instead = self.instead.map(|toml| {
            if is_several(&toml) {
                format!("[{toml}]")
            } else {
                toml
            }
        });
        self
    }

    /// Replaces a proposal that would itself be refused, and an example of a part, with an example.
    #[must_use]
    pub fn proposing<T: Word>(self) -> Self {
        let is_good = |toml: &String| {
            unquoted(toml).is_some_and(|values| values.iter().all(|text| T::parse(text).is_ok()))
        };
        match &self.instead {
            Some(toml) if self.is_example || !is_good(toml) => self.as_in(T::EXAMPLES),
            _ => self,
        }
    }

    /// Shows the form with the first of these examples.
    #[must_use]
    pub fn as_in(self, examples: &[&str]) -> Self {
        match examples.first() {
            Some(example) => Self {
                is_example: true,
                ..self.instead(example)
            },
            None => self,
        }
    }

    /// Returns both in one line and without quotes, for the command line.
    pub fn in_one_line(self) -> String {
        match self.instead {
            Some(instead) => {
                let is_one = unquoted(&instead).is_none_or(|values| values.len() == 1);
                let instead = instead.as_str();
                let shown = if is_one {
                    instead.trim_matches('"')
                } else {
                    instead
                };
                let verb = if self.is_example {
                    "for example"
                } else {
                    "write"
                };
                format!("{}; {verb} {shown}", self.what)
            }
            None => self.what,
        }
    }

    /// Reads back what [`fmt::Display`] wrote. `None` if serde wrote the message.
    pub fn from_message(message: &str) -> Option<Self> {
        let (what, second) = message.split_once('\n')?;
        let (sign, instead) = second.split_at_checked(1)?;
        Some(Self {
            what: what.to_owned(),
            instead: (!sign.starts_with(NOTHING)).then(|| instead.to_owned()),
            is_example: sign.starts_with(EXAMPLE),
        })
    }
}

/// Returns the text as TOML, in one line.
pub(in crate::config) fn quoted(text: &str) -> String {
    let mut toml = String::with_capacity(text.len() + 2);
    toml.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => toml.extend(['\\', letter]),
            _ if letter.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(toml, "\\u{:04X}", u32::from(letter));
            }
            _ => toml.push(letter),
        }
    }
    toml.push('"');
    toml
}

/// Returns the text within the quotes, or the texts of several members of a list.
fn unquoted(toml: &str) -> Option<Vec<String>> {
    let table: toml::Table = toml::from_str(&format!("value = [{toml}]")).ok()?;
    let values = table.get("value")?.as_array()?.iter();
    values
        .map(|value| value.as_str().map(str::to_owned))
        .collect()
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match &self.instead {
            None => NOTHING,
            Some(_) if self.is_example => EXAMPLE,
            Some(_) => MEANT,
        };
        let instead = self.instead.as_deref().unwrap_or_default();
        write!(f, "{}\n{sign}{instead}", self.what)
    }
}
