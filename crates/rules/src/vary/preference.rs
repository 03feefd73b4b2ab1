//! Normal forms of the fields of content negotiation (RFC 9110 section 12.5).
//!
//! Each function appends the normal form of a field and returns true. It returns false if there is none: the field is
//! malformed, contradicts itself or is too long. The caller drops what was appended by then. Nothing is allocated
//! except for the growth of `into`: a hit on a response with `Vary: Accept-Encoding` comes through here.

use super::member::{FULL, Member, Members, Unquoted, is_token};
use http::{HeaderValue, header::GetAll};
use std::cmp::{Ordering, Reverse};

/// What browsers and the usual tools send as `Accept-Encoding`, with its normal form, so that it is not parsed on every
/// hit.
pub(super) const COMMON_CODINGS: [(&[u8], &[u8]); 6] = [
    (b"gzip, deflate, br, zstd", b"br,deflate,gzip,zstd"),
    (b"gzip, deflate, br", b"br,deflate,gzip"),
    (b"gzip, deflate", b"deflate,gzip"),
    (b"gzip,deflate", b"deflate,gzip"),
    (b"gzip", b"gzip"),
    (b"identity", b""),
];

fn common_codings(lines: &GetAll<'_, HeaderValue>) -> Option<&'static [u8]> {
    let mut lines = lines.iter();
    let (Some(only), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let known = |(written, _): &&(&[u8], &[u8])| *written == only.as_bytes();
    COMMON_CODINGS.iter().find(known).map(|(_, normal)| *normal)
}

/// Appends `Accept-Encoding` (RFC 9110 section 12.5.3) by meaning: `x-gzip` is `gzip`, order and repetition do not
/// count, and a member is dropped if it says no more than its absence would.
pub(super) fn append_codings(lines: &GetAll<'_, HeaderValue>, into: &mut Vec<u8>) -> bool {
    if let Some(normal) = common_codings(lines) {
        into.extend_from_slice(normal);
        return true;
    }
    let Some(mut members) =
        Members::read(lines, |name| is_token(name).then(|| without_alias(name)))
    else {
        return false;
    };
    let members = members.as_mut();
    members.sort_unstable_by(|one, two| compare_caseless(one.name, two.name));
    let others = members
        .iter()
        .find(|one| one.name == b"*")
        .map(|one| one.weight);
    let identity = members
        .iter()
        .find(|one| is_identity(one.name))
        .map(|one| one.weight);
    let only_identity = members
        .iter()
        .all(|one| one.weight == 0 || is_identity(one.name));
    let start = into.len();
    if others.is_none() && identity == Some(0) {
        // The list refuses all that it does not name, which `*;q=0` says too.
        append_lower(b"*", into);
        append_weight(0, into);
    }
    let mut last: Option<&Member<'_>> = None;
    for member in &*members {
        let before = last.replace(member);
        if before.is_some_and(|before| before.name.eq_ignore_ascii_case(member.name)) {
            if before.is_some_and(|before| before.weight != member.weight) {
                return false;
            }
            continue;
        }
        if !is_implied(*member, (others, identity), only_identity) {
            separate(start, into);
            append_lower(member.name, into);
            append_weight(member.weight, into);
        }
    }
    true
}

/// Resolves an alias: "A recipient SHOULD consider 'x-gzip' to be equivalent to 'gzip'", and `x-compress` likewise (RFC
/// 9110 section 8.4.1).
fn without_alias(coding: &[u8]) -> &[u8] {
    let is_alias =
        coding.eq_ignore_ascii_case(b"x-gzip") || coding.eq_ignore_ascii_case(b"x-compress");
    if is_alias {
        coding.get(2..).unwrap_or(coding)
    } else {
        coding
    }
}

fn is_identity(coding: &[u8]) -> bool {
    coding.eq_ignore_ascii_case(b"identity")
}

fn compare_caseless(one: &[u8], two: &[u8]) -> Ordering {
    let lower = |byte: &u8| byte.to_ascii_lowercase();
    one.iter().map(lower).cmp(two.iter().map(lower))
}

/// Whether the list says the same without this member. `others` and `identity` are the weights of `*` and `identity`,
/// if listed.
fn is_implied(
    member: Member<'_>,
    (others, identity): (Option<u16>, Option<u16>),
    only_identity: bool,
) -> bool {
    match (member.name, member.weight, others) {
        // About what is not listed, it says something new only for `identity`.
        (b"*", 0, _) => identity.is_some_and(|weight| weight > 0),
        (b"*", ..) => false,
        // `identity` is acceptable unless excluded, by name or by `*;q=0` (rule 2). Its weight counts only if there is
        // a choice.
        (name, 0, None | Some(0)) if is_identity(name) => true,
        (name, 1.., None | Some(0)) if is_identity(name) => only_identity,
        (name, ..) if is_identity(name) => false,
        // A coding that is not listed has the weight of `*`, and is unacceptable without it (section 12.4.3).
        (_, weight, others) => weight == others.unwrap_or(0),
    }
}

/// A list that ranks what the client prefers: `Accept`, `Accept-Language` or `Accept-Charset`.
pub(super) struct Ranked<'a> {
    members: Members<'a>,
    append_name: AppendName,
}

type AppendName = fn(&[u8], &mut Vec<u8>);

impl<'a> Ranked<'a> {
    /// Reads `Accept-Language` or `Accept-Charset` (RFC 9110 sections 12.5.4 and 12.5.2).
    pub(super) fn tokens(lines: &'a GetAll<'a, HeaderValue>) -> Option<Self> {
        let members = Members::read(lines, |name| is_token(name).then_some(name))?;
        Some(Self {
            members,
            append_name: append_lower,
        })
    }

    /// Reads `Accept` (RFC 9110 section 12.5.1).
    pub(super) fn media_ranges(lines: &'a GetAll<'a, HeaderValue>) -> Option<Self> {
        let members = Members::read(lines, |name| is_media_range(name).then_some(name))?;
        Some(Self {
            members,
            append_name: append_media_range,
        })
    }

    /// Whether weights fall and no name stands twice, so that [append](Self::append) keeps all members in their places.
    pub(super) fn is_in_order(&self) -> bool {
        let members = self.members.as_ref();
        let is_repeated = |(index, member): (usize, &Member<'_>)| {
            let mut before = members.iter().take(index);
            before.any(|before| before.same_name(member))
        };
        members.is_sorted_by_key(|member| Reverse(member.weight))
            && !members.iter().enumerate().any(is_repeated)
    }

    /// Appends the members by falling weight, keeps the order among equal weights, and drops repetitions. Returns false
    /// if a name stands twice with different weights: nobody can tell which of them counts, so order matters.
    pub(super) fn append(self, into: &mut Vec<u8>) -> bool {
        let append_name = self.append_name;
        self.append_by_weight(append_name, into)
    }

    /// The same for origins: case is kept, since applications may compare names as they come.
    pub(super) fn append_to_send(self, into: &mut Vec<u8>) -> bool {
        self.append_by_weight(append_solid, into)
    }

    fn append_by_weight(mut self, append_name: AppendName, into: &mut Vec<u8>) -> bool {
        let normal = self.append_name;
        let members = self.members.as_mut();
        members.sort_by_key(|member| Reverse(member.weight));
        let start = into.len();
        for (index, member) in members.iter().enumerate() {
            let before = members.iter().take(index);
            let mut same = before.filter(|before| before.same_name(member));
            match same.next() {
                Some(same) if same.weight != member.weight => return false,
                // Names may be equal while values of parameters differ in case or white space.
                Some(same) if written(normal, same) != written(normal, member) => return false,
                Some(_) => {}
                None => {
                    separate(start, into);
                    append_name(member.name, into);
                    append_weight(member.weight, into);
                }
            }
        }
        true
    }
}

/// The member's name as it is appended.
fn written(append_name: AppendName, member: &Member<'_>) -> Vec<u8> {
    let mut name = Vec::new();
    append_name(member.name, &mut name);
    name
}

fn separate(start: usize, into: &mut Vec<u8>) {
    if into.len() > start {
        into.push(b',');
    }
}

fn append_lower(name: &[u8], into: &mut Vec<u8>) {
    into.extend(name.iter().map(u8::to_ascii_lowercase));
}

/// Appends a weight below 1, with three digits.
fn append_weight(weight: u16, into: &mut Vec<u8>) {
    if weight < FULL {
        into.extend_from_slice(b";q=0.");
        for place in [100, 10, 1] {
            into.extend(u8::try_from(weight / place % 10).map(|digit| b'0' + digit));
        }
    }
}

/// Whether the text is `type/subtype`, then parameters with a name and a value. None of them may be a weight: what
/// follows a weight has meant different things (RFC 9110 section 12.5.1).
fn is_media_range(text: &[u8]) -> bool {
    let mut parts = Unquoted::new(text, b';').map(|part| part.unwrap_or_default().trim_ascii());
    let range = parts.next().and_then(|range| split_at_byte(range, b'/'));
    range.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
        && parts.all(|parameter| {
            split_at_byte(parameter, b'=').is_some_and(|(name, value)| {
                is_token(name) && !name.eq_ignore_ascii_case(b"q") && is_value(value)
            })
        })
}

/// Splits before and after the first `middle`.
fn split_at_byte(text: &[u8], middle: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == middle)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Whether the value is a token or a quoted string.
fn is_value(value: &[u8]) -> bool {
    is_token(value) || (value.len() >= 2 && value.starts_with(b"\"") && value.ends_with(b"\""))
}

/// Appends a media range. Type, subtype and names of parameters are case-insensitive; values of parameters may be
/// case-sensitive (RFC 9110 section 8.3.1).
fn append_media_range(text: &[u8], into: &mut Vec<u8>) {
    for (index, part) in Unquoted::new(text, b';').enumerate() {
        let part = part.unwrap_or_default().trim_ascii();
        match split_at_byte(part, b'=') {
            Some((name, value)) if index > 0 => {
                into.push(b';');
                append_lower(name, into);
                into.push(b'=');
                into.extend_from_slice(value);
            }
            _ => append_lower(part, into),
        }
    }
}

/// Appends a name without the white space around its parameters.
fn append_solid(name: &[u8], into: &mut Vec<u8>) {
    for (index, part) in Unquoted::new(name, b';').enumerate() {
        if index > 0 {
            into.push(b';');
        }
        into.extend_from_slice(part.unwrap_or_default().trim_ascii());
    }
}
