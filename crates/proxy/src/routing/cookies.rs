//! The cookies of a request, and the cookies that applications may take them for.

mod disputed;
mod readings;

pub use disputed::{may_hide_chosen, put_chosen_first};

use crate::policy::{NamePattern, TextPattern};
use http::{HeaderMap, HeaderValue, header};
use memchr::memchr;
use regex::Regex;
use rules::key;
use std::{
    borrow::{Borrow, Cow},
    cell::{Cell, OnceCell},
    iter,
};

/// Whether upper and lower case differ in names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    /// They do.
    Counts,
    /// They do not: Jetty and ASP.NET take a cookie for another that is so called but for its case.
    Ignored,
}

/// One cookie as it is written. In bytes, so that values that are not text differ too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie<'a> {
    /// The name with the white space after it, which PHP takes for part of the name.
    pub spelled: &'a [u8],
    /// The value with the white space around it, which PHP takes for part of the value. Empty if there is no `=`, as in
    /// PHP and Go.
    pub value: &'a [u8],
}

/// A cookie as text.
#[derive(Debug)]
struct CookieText<'a> {
    cookie: Cookie<'a>,
    /// [`Cookie::name`].
    name: Cow<'a, str>,
    /// The value, without white space around it; `None` if it is not known ([`Cookie::within`]). Then no pattern for
    /// values matches: whoever is let in by a value must have it.
    value: Option<Cow<'a, str>>,
    /// Other names that applications may give it, if they were looked up; kept for several lookups.
    others: Option<Vec<Vec<u8>>>,
}

/// The cookies of a request, for several lookups.
#[derive(Debug)]
pub struct Cookies<'a> {
    fields: &'a HeaderMap,
    was_asked: Cell<bool>,
    /// Read on the second lookup: for most requests at most one route looks at cookies.
    all: OnceCell<Vec<CookieText<'a>>>,
}

impl<'a> Cookies<'a> {
    /// Returns the cookies of a request with these `fields`. Nothing is read yet.
    pub const fn of(fields: &'a HeaderMap) -> Self {
        Self {
            fields,
            was_asked: Cell::new(false),
            all: OnceCell::new(),
        }
    }

    /// As [`any_cookie_matches`].
    pub fn any_matches(&self, patterns: &[NamePattern]) -> bool {
        if !self.was_asked.replace(true) {
            return any_cookie_matches(patterns, self.fields);
        }
        let all = self.all.get_or_init(|| {
            let lines = self.fields.get_all(header::COOKIE).iter();
            let all = lines.flat_map(|line| as_read(line.as_bytes()));
            all.map(CookieText::with_others).collect()
        });
        let mut all = all.iter();
        all.any(|cookie| cookie.is_like(patterns, Case::Ignored))
    }
}

/// Returns the cookies of one `Cookie` line (RFC 6265 section 4.2.1).
pub fn cookies(line: &[u8]) -> impl Iterator<Item = Cookie<'_>> {
    line.split(|byte| *byte == b';').filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=');
        let (name, value) = pair.split_at_checked(at.unwrap_or(pair.len()))?;
        let (spelled, value) = (name.trim_ascii_start(), value.get(1..).unwrap_or_default());
        (at.is_some() || !spelled.is_empty()).then_some(Cookie { spelled, value })
    })
}

/// Returns one `Cookie` line of several lines or pairs, if anything is in it. No white space is left at its ends: over
/// HTTP/2 the request would be malformed (RFC 9113 section 8.2.1), and servers may end the connection for that.
pub fn joined(all: &[impl Borrow<[u8]>]) -> Option<HeaderValue> {
    let line = all.join(b"; ".as_slice());
    let line = HeaderValue::from_bytes(line.trim_ascii());
    line.ok().filter(|line| !line.is_empty())
}

/// Returns the cookies that applications may read in one `Cookie` line, wherever they take one to end.
fn as_read(line: &[u8]) -> impl Iterator<Item = CookieText<'_>> {
    cookies(line).flat_map(|cookie| {
        let others = cookie.ends_within().then(|| {
            let within = cookie.within().map(CookieText::of_unknown_value);
            cookie.cut().map(CookieText::from).chain(within)
        });
        iter::once(cookie.into()).chain(others.into_iter().flatten())
    })
}

impl<'a> Cookie<'a> {
    /// Returns the name, without white space around it.
    pub fn name(&self) -> &'a [u8] {
        self.spelled.trim_ascii_end()
    }

    /// Whether some applications take it, or what is within it, for the cookie `name`, and others do not.
    pub fn may_pass_for(&self, name: &str) -> bool {
        let lower = |byte: u8| byte.to_ascii_lowercase();
        let is_called = |cookie: &Self| {
            cookie.name().eq_ignore_ascii_case(name.as_bytes())
                || cookie.may_be_called(|other| other.map(lower).eq(name.bytes().map(lower)))
        };
        self.spelled != name.as_bytes()
            && (is_called(self)
                || (self.ends_within() && self.within().any(|cookie| is_called(&cookie))))
    }

    /// As [`CookieText::is_like`].
    fn is_like(self, patterns: &[NamePattern], case: Case) -> bool {
        CookieText::from(self).is_like(patterns, case)
    }
}

impl<'a> From<Cookie<'a>> for CookieText<'a> {
    fn from(cookie: Cookie<'a>) -> Self {
        Self {
            cookie,
            name: text(cookie.name()),
            value: Some(text(cookie.value.trim_ascii())),
            others: None,
        }
    }
}

impl<'a> CookieText<'a> {
    fn of_unknown_value(cookie: Cookie<'a>) -> Self {
        Self {
            value: None,
            ..cookie.into()
        }
    }

    fn with_others(self) -> Self {
        let mut others = Vec::new();
        self.cookie.may_be_called(|name| {
            others.push(name.collect());
            false
        });
        others.dedup();
        Self {
            others: Some(others),
            ..self
        }
    }

    /// Whether any pattern matches one of its names and its value, as written or as read: some applications accept as a
    /// cookie what others do not.
    fn is_like(&self, patterns: &[NamePattern], case: Case) -> bool {
        let has_other = |wanted: &TextPattern| match &self.others {
            Some(others) => {
                let mut others = others.iter();
                others.any(|other| is_name(wanted, &mut other.iter().copied(), case))
            }
            None => self
                .cookie
                .may_be_called(|other| is_name(wanted, other, case)),
        };
        let is_written = |wanted: &TextPattern| is_text(wanted, &self.name, case);
        let is_called = |wanted: &TextPattern| is_written(wanted) || has_other(wanted);
        let has_value = |wanted: &Regex| {
            let Some(value) = &self.value else {
                return false;
            };
            let is_read_so = |read: Vec<u8>| wanted.is_match(&text(&read));
            wanted.is_match(value) || self.cookie.values().into_iter().any(is_read_so)
        };
        let mut patterns = patterns.iter();
        patterns
            .any(|pattern| is_called(&pattern.name) && pattern.value.as_ref().is_none_or(has_value))
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn is_text(wanted: &TextPattern, name: &str, case: Case) -> bool {
    match case {
        Case::Counts => wanted.matches(name),
        Case::Ignored => wanted.matches_in_any_case(name),
    }
}

/// Whether a name matches that is given as bytes, without a string of its own.
fn is_name(wanted: &TextPattern, name: &mut dyn Iterator<Item = u8>, case: Case) -> bool {
    let alike = |own: u8, other: u8| match case {
        Case::Counts => own == other,
        Case::Ignored => own.eq_ignore_ascii_case(&other),
    };
    let mut begins = |begin: &str| {
        let mut bytes = begin.bytes();
        bytes.all(|byte| name.next().is_some_and(|other| alike(byte, other)))
    };
    match wanted {
        TextPattern::Exact(exact) => begins(exact) && name.next().is_none(),
        TextPattern::Prefix(prefix) => begins(prefix),
        TextPattern::Regex(_) | TextPattern::CookieRegex { .. } => {
            is_text(wanted, &text(&name.collect::<Vec<_>>()), case)
        }
    }
}

/// Whether any cookie of the request matches any of these patterns, in any case, as written or as an application may read
/// it. The request is read once.
pub fn any_cookie_matches(patterns: &[NamePattern], fields: &HeaderMap) -> bool {
    let is_like = |cookie: CookieText<'_>| cookie.is_like(patterns, Case::Ignored);
    let mut lines = fields.get_all(header::COOKIE).iter();
    !patterns.is_empty() && lines.any(|line| as_read(line.as_bytes()).any(is_like))
}

/// Whether any cookie of the request is one of these as it is written, so that all applications take it for that. Without
/// `=`, few do: to browsers and Django it is a value without a name (RFC 6265bis), and Node and Python's `SimpleCookie`
/// find no cookie there.
pub fn any_cookie_is(patterns: &[NamePattern], fields: &HeaderMap) -> bool {
    let is_one = |Cookie { spelled, value }: Cookie<'_>| {
        let (name, value) = (text(spelled), text(value));
        patterns
            .iter()
            .any(|pattern| pattern.matches(&name, &value))
    };
    let mut lines = fields.get_all(header::COOKIE).iter();
    lines.any(|line| {
        let pairs = line.as_bytes().split(|byte| *byte == b';');
        let named = pairs.filter(|pair| memchr(b'=', pair).is_some());
        named.flat_map(cookies).any(is_one)
    })
}

/// Whether any parameter of the query matches any of these patterns, as written or as an application may read it: PHP
/// treats the names of parameters like those of cookies, some applications take `;` for `&`, and Jetty 9 and ASP.NET
/// decode `%u0061`.
pub fn any_parameter_matches(patterns: &[NamePattern], query: Option<&str>) -> bool {
    let Some(query) = query.filter(|_| !patterns.is_empty()) else {
        return false;
    };
    let is_meant = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (spelled, value) = (name.as_bytes(), value.as_bytes());
        Cookie { spelled, value }.is_like(patterns, Case::Counts)
    };
    let has_any = |query: &str| {
        let has_other = || query.contains(';') && query.split(['&', ';']).any(is_meant);
        query.split('&').any(is_meant) || has_other()
    };
    has_any(query) || matches!(key::spell_units(query), Cow::Owned(spelled) if has_any(&spelled))
}

/// Whether an application may give a parameter of the query another name or value than is written, as
/// [`any_parameter_matches`] takes into account: a cheap check, which can be true where none does.
pub fn has_special_name(query: Option<&str>) -> bool {
    let is_special = |byte: u8| matches!(byte, b'.' | b'[' | b'%' | b'+' | b';');
    query.is_some_and(|query| query.bytes().any(is_special))
}

/// Whether a response sets a cookie that matches any of these patterns, in any case.
pub fn sets_any_cookie(patterns: &[NamePattern], fields: &HeaderMap) -> bool {
    !patterns.is_empty()
        && fields.get_all(header::SET_COOKIE).iter().any(|line| {
            // Only the first pair is a cookie: attributes follow it (RFC 6265 section 4.1.1).
            let mut first = cookies(line.as_bytes()).take(1);
            first.any(|cookie| cookie.is_like(patterns, Case::Ignored))
        })
}

#[cfg(test)]
mod tests;
