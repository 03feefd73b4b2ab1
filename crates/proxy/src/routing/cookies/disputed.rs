//! `Cookie` lines in which not all applications find the same cookies: a quotation mark, or what is no cookie, may hide
//! others from some of them.

use super::{Case, Cookie, CookieText, as_read, cookies, joined};
use crate::policy::{KeySpec, NamePattern, Route};
use http::{HeaderMap, HeaderValue, header};
use memchr::memchr;

/// Names that some applications do not take for cookies: those of attributes, as in Python's `SimpleCookie`.
const ATTRIBUTES: [&[u8]; 10] = [
    b"comment",
    b"domain",
    b"expires",
    b"httponly",
    b"max-age",
    b"partitioned",
    b"path",
    b"samesite",
    b"secure",
    b"version",
];

/// No application leaves cookies out where there are fewer: Tomcat refuses 200, PHP leaves out those after 1,000
/// (`max_input_vars`), and Go all of 3,000.
const MOST: usize = 150;

/// The cookies on which the answers of a route may depend.
struct Chosen<'a> {
    spec: &'a KeySpec,
    /// Those that it matches, if the application gets them.
    matched: &'a [NamePattern],
}

impl<'a> Chosen<'a> {
    fn by(route: &'a Route) -> Self {
        let spec = &route.policy.key;
        let matched = (!spec.drop_cookies).then_some(&*route.matcher.cookies);
        Self {
            spec,
            matched: matched.unwrap_or_default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.spec.cookies.is_empty() && self.matched.is_empty()
    }

    /// Returns the place of a pair among those that are chosen; `None` if it is not.
    fn place(&self, pair: &[u8]) -> Option<usize> {
        let is_keyed = |cookie: &Cookie<'_>, name: &str| {
            cookie.name() == name.as_bytes() || cookie.may_pass_for(name)
        };
        let by_name = cookies(pair).find_map(|cookie| {
            let mut names = self.spec.cookies.iter();
            names.position(|name| is_keyed(&cookie, name))
        });
        by_name.or_else(|| {
            let is_like = |cookie: CookieText<'_>| cookie.is_like(self.matched, Case::Ignored);
            let is_matched = !self.matched.is_empty() && as_read(pair).any(is_like);
            is_matched.then_some(self.spec.cookies.len())
        })
    }
}

/// Whether some applications may not find all the cookies of the request that the route chooses. They may find none at
/// all, wherever these stand.
pub fn may_hide_chosen(route: &Route, fields: &HeaderMap) -> bool {
    let chosen = Chosen::by(route);
    !chosen.is_empty()
        && fields
            .get(header::COOKIE)
            .map(HeaderValue::as_bytes)
            .is_some_and(|line| {
                !is_plain(line) && pairs(line).any(|pair| chosen.place(pair).is_some())
            })
}

/// Puts the cookies that the route chooses before the others, if applications may not find the same ones in the line.
/// Then what hides cookies follows on those that are keyed, and what the application reads of these is a matter of the
/// key alone. They keep their order, and so do the others.
pub fn put_chosen_first(fields: &mut HeaderMap, route: &Route) {
    if !may_hide_chosen(route, fields) {
        return;
    }
    let chosen = Chosen::by(route);
    let Some(line) = fields.get_mut(header::COOKIE) else {
        return;
    };
    let mut all: Vec<_> = pairs(line.as_bytes()).collect();
    all.sort_by_cached_key(|pair| chosen.place(pair).unwrap_or(usize::MAX));
    if let Some(sorted) = joined(&all) {
        *line = sorted;
    }
}

/// Whether all applications find the same cookies in a line: it is written as RFC 6265 section 4.2.1 has it, nothing in it
/// is called like an attribute, and there are not too many.
fn is_plain(line: &[u8]) -> bool {
    let mut left = MOST;
    pairs(line).all(|pair| {
        left -= 1;
        left > 0 && is_plain_pair(pair)
    })
}

fn pairs(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b';')
        .map(<[u8]>::trim_ascii_start)
}

fn is_plain_pair(pair: &[u8]) -> bool {
    let at = memchr(b'=', pair);
    let Some((name, [_, value @ ..])) = at.and_then(|at| pair.split_at_checked(at)) else {
        return false;
    };
    let begun = value.strip_prefix(b"\"");
    let value = begun
        .and_then(|begun| begun.strip_suffix(b"\""))
        .unwrap_or(value);
    !name.is_empty()
        && name.iter().copied().all(is_token)
        && !name.starts_with(b"$")
        && !ATTRIBUTES.iter().any(|one| name.eq_ignore_ascii_case(one))
        && value.iter().copied().all(is_of_value)
}

/// `tchar` (RFC 9110 section 5.6.2).
const fn is_token(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
        || byte.is_ascii_alphanumeric()
}

/// `cookie-octet` (RFC 6265 section 4.1.1).
const fn is_of_value(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'+' | b'-'..=b':' | b'<'..=b'[' | b']'..=b'~')
}

#[cfg(test)]
mod tests;
