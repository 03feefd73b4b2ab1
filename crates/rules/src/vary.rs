//! Variants: nominated fields, and the comparison of request values (RFC 9111 section 4.1, RFC 9110 section 12.5.5).

pub(crate) mod member;
mod preference;

use crate::fields::has;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, ACCEPT_CHARSET, ACCEPT_ENCODING, ACCEPT_LANGUAGE, COOKIE, GetAll, VARY},
};
use preference::Ranked;

/// What a response's `Vary` nominates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nominated {
    /// `Vary` is absent or empty: any request matches.
    Nothing,
    /// `*`, or a value that cannot be read: no request ever matches.
    Everything,
    /// These fields: in lower case, sorted, without repetition.
    Fields(Vec<HeaderName>),
}

impl Nominated {
    /// The fields `names`, perhaps none. `names` must be sorted and without repetition.
    pub fn of(names: Vec<HeaderName>) -> Self {
        if names.is_empty() {
            Self::Nothing
        } else {
            Self::Fields(names)
        }
    }
}

/// Reads `Vary` over all its lines.
pub fn nominated(response: &HeaderMap) -> Nominated {
    let Some(mut names) = members(response).collect::<Option<Vec<_>>>() else {
        return Nominated::Everything;
    };
    names.sort_unstable_by(|one, two| one.as_str().cmp(two.as_str()));
    names.dedup();
    Nominated::of(names)
}

/// Whether `Vary` nominates everything, so that no request ever matches.
pub fn is_everything(response: &HeaderMap) -> bool {
    has(response, &VARY) && members(response).any(|member| member.is_none())
}

/// Iterates over the members of `Vary`; `None` stands for `*`, and for a member that cannot be read.
fn members(response: &HeaderMap) -> impl Iterator<Item = Option<HeaderName>> {
    let lines = response.get_all(VARY).iter();
    let members = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let members = members.map(<[u8]>::trim_ascii);
    // `*` is a token too, and would be accepted as a name.
    members
        .filter(|member| !member.is_empty())
        .map(|member| match member {
            b"*" => None,
            // Most responses name only this one.
            _ if member.eq_ignore_ascii_case(b"accept-encoding") => Some(ACCEPT_ENCODING),
            _ => HeaderName::from_bytes(member).ok(),
        })
}

/// Returns what the `Vary` of `stored` nominates and that of `update` leaves out, as a value; `None` if that is nothing,
/// or if `update` has no `Vary`.
pub(crate) fn left_out(stored: &HeaderMap, update: &HeaderMap) -> Option<HeaderValue> {
    if !has(stored, &VARY) || !has(update, &VARY) {
        return None;
    }
    let Nominated::Fields(old) = nominated(stored) else {
        return None;
    };
    let new = match nominated(update) {
        Nominated::Nothing => Vec::new(),
        Nominated::Fields(new) => new,
        Nominated::Everything => return None,
    };
    let mut names = old.iter().filter(|name| !new.contains(name));
    let first = names.next()?.as_str().to_owned();
    let list = names.fold(first, |list, name| list + ", " + name.as_str());
    HeaderValue::try_from(list).ok()
}

/// Appends the normalised values that `request` has for `nominated` to `into`. Two requests match exactly if the bytes
/// appended are equal. Absent, empty and present differ.
///
/// Each field makes one line, which no field value can forge, since none contains a line feed: `name` if the field is
/// absent, `name:` and the value in its normal form, or `name=` and the value as it stands if it has no normal form.
///
/// RFC 9111 section 4.1 lets these be equal. In every field, lines are combined and outer white space is removed. In
/// `Accept-Encoding`, case, order, repetition and spelling do not count as far as the meaning is the same. In
/// `Accept-Language`, `Accept-Charset` and `Accept`, case, white space, the spelling of weights, and the order between
/// different weights do not count; [`put_in_order`] lets origins see no other. The order among equal weights counts: RFC
/// 9110 section 12.5.4 notes that recipients read it as preference, and so do many for `Accept`.
pub fn variant_key(nominated: &[HeaderName], request: &HeaderMap, into: &mut Vec<u8>) {
    for name in nominated {
        into.extend_from_slice(name.as_str().as_bytes());
        let lines = request.get_all(name);
        if lines.iter().next().is_some() {
            append_value(name, &lines, into);
        }
        into.push(b'\n');
    }
}

/// Reads back what [`variant_key`] wrote: request fields whose variant key is `key`. A field that was absent stays
/// absent.
pub fn request_fields(key: &[u8]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in key.split(|byte| *byte == b'\n') {
        let Some(at) = line.iter().position(|byte| matches!(byte, b':' | b'=')) else {
            continue;
        };
        let (name, value) = line.split_at(at);
        let name = HeaderName::from_bytes(name);
        let value = HeaderValue::from_bytes(value.get(1..).unwrap_or_default());
        if let (Ok(name), Ok(value)) = (name, value) {
            fields.append(name, value);
        }
    }
    fields
}

/// Writes `Accept`, `Accept-Language` and `Accept-Charset` in falling order of weight, without repetition, as
/// [`variant_key`] compares them. Many applications take the first member without a look at weights: the answer to one
/// order would then be stored for all.
pub fn put_in_order(request: &mut HeaderMap) {
    for name in [ACCEPT, ACCEPT_LANGUAGE, ACCEPT_CHARSET] {
        if has(request, &name)
            && let Some(value) = in_order(&name, &request.get_all(&name))
        {
            request.insert(name, value);
        }
    }
}

/// Returns the field in order, if it is not as it stands and has a normal form.
fn in_order(name: &HeaderName, lines: &GetAll<'_, HeaderValue>) -> Option<HeaderValue> {
    let ranked = ranked(name, lines).filter(|ranked| !ranked.is_in_order())?;
    let mut value = Vec::new();
    let has_normal_form = ranked.append_to_send(&mut value);
    HeaderValue::from_bytes(&value)
        .ok()
        .filter(|_| has_normal_form)
}

fn ranked<'a>(name: &HeaderName, lines: &'a GetAll<'a, HeaderValue>) -> Option<Ranked<'a>> {
    if *name == ACCEPT {
        Ranked::media_ranges(lines)
    } else {
        Ranked::tokens(lines)
    }
}

fn append_value(name: &HeaderName, lines: &GetAll<'_, HeaderValue>, into: &mut Vec<u8>) {
    let start = into.len();
    into.push(b':');
    let has_normal_form = match *name {
        ACCEPT_ENCODING => preference::append_codings(lines, into),
        ACCEPT | ACCEPT_LANGUAGE | ACCEPT_CHARSET => {
            ranked(name, lines).is_some_and(|ranked| ranked.append(into))
        }
        // HTTP/2 may split cookies into several lines (RFC 9113 section 8.2.3).
        COOKIE => return append_combined(lines, b"; ", into),
        _ => return append_combined(lines, b", ", into),
    };
    if !has_normal_form {
        into.truncate(start);
        into.push(b'=');
        append_combined(lines, b", ", into);
    }
}

/// Appends the lines one after another, without white space around each or around the whole (RFC 9110 section 5.2). An
/// empty line leaves its separator.
fn append_combined(lines: &GetAll<'_, HeaderValue>, separator: &[u8], into: &mut Vec<u8>) {
    let start = into.len();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            into.extend_from_slice(separator);
        }
        into.extend_from_slice(line.as_bytes().trim_ascii());
    }
    let value = into.get(start..).unwrap_or_default();
    into.truncate(start + value.trim_ascii_end().len());
}

#[cfg(test)]
mod tests;
