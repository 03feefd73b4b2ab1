//! Tokens of HTTP: methods, names of cookies, Larder's own name.

use super::{Word, Wrong, foreign, variable::stands_alone};
use http::Method;

impl Word for Method {
    const WHAT: &'static str = "a method";
    const EXAMPLES: &'static [&'static str] = &["GET", "POST"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        // A method may contain a star (RFC 9110 section 9.1), but never does.
        if text.contains('*') {
            return Err(Wrong::new(
                "`*` does not stand for methods: a route without `method` is for all of them, and its `cache = false` bypasses all",
            ));
        }
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        // It may contain these signs too, and never does.
        if text.contains(['|', '^', '$', '~', ',', ' ']) {
            let upper = text.to_ascii_uppercase();
            let wrong = Wrong::new(format!(
                "`{text}` is not the name of one method: write several methods as a list"
            ));
            return Err(wrong.instead_all::<Self>(upper.split(|letter| !is_word(letter))));
        }
        let upper = text.to_ascii_uppercase();
        let known = [
            "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
        ];
        // Methods are case-sensitive (RFC 9110 section 9.1): `get` and `GET` are different methods.
        if upper != text && known.contains(&upper.as_str()) {
            return Err(Wrong::new("methods are written in capitals").instead(upper));
        }
        text.parse()
            .map_err(|_| Wrong::new(format!("`{text}` is not a method")).instead("GET"))
    }
}

/// A token (RFC 9110 section 5.6.2): Larder's pseudonym in `Via` and `Cache-Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token(pub String);

impl Word for Token {
    const WHAT: &'static str = "a name of letters, digits, `-`, `_` and `.`";
    const EXAMPLES: &'static [&'static str] = &["larder", "edge-1"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        // It begins with a letter, so that it is also a token of structured fields (RFC 9651 section 3.3.4).
        if text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(valid) {
            return Ok(Self(text.to_owned()));
        }
        Err(Wrong::new(format!(
            "`{text}` must begin with a letter and have only letters, digits, `-`, `_` and `.`"
        ))
        .as_in(Self::EXAMPLES))
    }
}

/// The name of a cookie (RFC 6265 section 4.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieName(pub String);

impl Word for CookieName {
    const WHAT: &'static str = "the name of a cookie";
    const EXAMPLES: &'static [&'static str] = &["currency"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        stands_alone::<Self>(text, "cookie_")?;
        foreign::choice::<Self>(text, text)?;
        let wrong = Wrong::new(format!("`{text}` is not the name of one cookie"));
        if text.is_empty() {
            return Err(wrong.as_in(Self::EXAMPLES));
        }
        if text.contains([' ', '=', ';', ',', '*']) {
            return Err(wrong);
        }
        // It may contain a bar too (RFC 9110 section 5.6.2), and never does.
        if text.starts_with('~') || foreign::is_expression(text) {
            // A part that is no name has no bar, so this ends.
            return Err(if text.contains('|') {
                wrong.instead_all::<Self>(text.split('|'))
            } else {
                wrong
            });
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
