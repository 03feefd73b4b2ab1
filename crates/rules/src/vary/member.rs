//! Reads lists of weighted members (RFC 9110 sections 5.6.1 and 12.4.2) without allocation.

use crate::fields::is_tchar;
use http::{HeaderValue, header::GetAll};

/// The greatest number of members. A field with more has no normal form.
const MOST_MEMBERS: usize = 24;

/// The weight of a member without `q` (RFC 9110 section 12.4.2), in thousandths.
pub(crate) const FULL: u16 = 1000;

/// One member of a list: what is weighed, and its weight in thousandths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    /// Without outer white space; empty only in unused places of [`Members`].
    pub(crate) name: &'a [u8],
    pub(crate) weight: u16,
}

impl Member<'_> {
    /// Whether the names are equal, apart from case and white space.
    pub(crate) fn same_name(&self, other: &Self) -> bool {
        self.bare().eq(other.bare())
    }

    fn bare(&self) -> impl Iterator<Item = u8> {
        let solid = self.name.iter().filter(|byte| !is_space(**byte));
        solid.map(u8::to_ascii_lowercase)
    }
}

/// The members of a field, in its order.
pub(crate) struct Members<'a> {
    places: [Member<'a>; MOST_MEMBERS],
    count: usize,
}

impl<'a> Members<'a> {
    /// Reads all lines. `name_of` checks and reduces what precedes the weight. Returns `None` if a member or a weight
    /// is malformed, a quoted string is not closed, or there are too many members.
    pub(crate) fn read(
        lines: &'a GetAll<'a, HeaderValue>,
        name_of: impl Fn(&'a [u8]) -> Option<&'a [u8]>,
    ) -> Option<Self> {
        let unused = Member {
            name: &[],
            weight: FULL,
        };
        let mut members = Self {
            places: [unused; MOST_MEMBERS],
            count: 0,
        };
        for line in lines {
            for text in Unquoted::new(line.as_bytes(), b',') {
                let text = text?.trim_ascii();
                if text.is_empty() {
                    continue;
                }
                let (name, weight) = split_weight(text)?;
                let name = name_of(name)?;
                *members.places.get_mut(members.count)? = Member { name, weight };
                members.count += 1;
            }
        }
        Some(members)
    }

    pub(crate) fn as_ref(&self) -> &[Member<'a>] {
        self.places.get(..self.count).unwrap_or_default()
    }

    pub(crate) fn as_mut(&mut self) -> &mut [Member<'a>] {
        self.places.get_mut(..self.count).unwrap_or_default()
    }
}

/// Iterates over the pieces between separators outside quoted strings. The last piece is `None` if its quote is not
/// closed.
pub(crate) struct Unquoted<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Unquoted<'a> {
    pub(crate) const fn new(text: &'a [u8], separator: u8) -> Self {
        Self {
            rest: Some(text),
            separator,
        }
    }
}

impl<'a> Iterator for Unquoted<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let (mut quoted, mut escaped) = (false, false);
        for (index, &byte) in rest.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ if byte == self.separator && !quoted => {
                    self.rest = rest.get(index + 1..);
                    return Some(rest.get(..index));
                }
                _ => {}
            }
        }
        Some((!quoted).then_some(rest))
    }
}

/// Splits a member into what precedes its weight, and the weight; `None` if the weight is malformed. A semicolon inside
/// a quoted string does no harm: because of the closing quote, what follows the semicolon is not a weight.
fn split_weight(text: &[u8]) -> Option<(&[u8], u16)> {
    let Some(at) = text.iter().rposition(|&byte| byte == b';') else {
        return Some((text, FULL));
    };
    match text.get(at + 1..)?.trim_ascii() {
        [b'q' | b'Q', b'=', value @ ..] => {
            Some((text.get(..at)?.trim_ascii_end(), thousandths(value)?))
        }
        _ => Some((text, FULL)),
    }
}

/// Parses a `qvalue` (RFC 9110 section 12.4.2) into thousandths.
fn thousandths(value: &[u8]) -> Option<u16> {
    let (whole, fraction) = match value {
        [whole] => (whole, &[][..]),
        [whole, b'.', fraction @ ..] if fraction.len() <= 3 => (whole, fraction),
        _ => return None,
    };
    let mut sum = match whole {
        b'0' => 0,
        b'1' => FULL,
        _ => return None,
    };
    let mut place = 100;
    for digit in fraction {
        sum += digit
            .is_ascii_digit()
            .then(|| u16::from(digit - b'0') * place)?;
        place /= 10;
    }
    (sum <= FULL).then_some(sum)
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Whether the name is a token (RFC 9110 section 5.6.2), such as a coding, a language range or a charset.
pub(crate) fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| is_tchar(*byte))
}
