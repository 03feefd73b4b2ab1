//! Targeted fields (RFC 9213): dictionaries of structured fields, read more strictly than `Cache-Control`.

use super::{MOST_SECONDS, Qualified, ResponseDirectives};
use crate::fields::has;
use http::{HeaderMap, HeaderName};
use sfv::{BareItem, Dictionary, Item, ListEntry, Parser};

/// Reads the directives of the targeted field `name`; `None` if it is absent, empty, or not a dictionary (RFC 9213
/// section 2.1).
pub(super) fn read(fields: &HeaderMap, name: &HeaderName) -> Option<ResponseDirectives> {
    if !has(fields, name) {
        return None;
    }
    let mut members = Dictionary::new();
    for line in fields.get_all(name) {
        members = Parser::new(line.as_bytes())
            .parse_dictionary_with_visitor(members)
            .ok()?;
    }
    if members.is_empty() {
        return None;
    }
    let mut directives = ResponseDirectives::default();
    for (name, member) in &members {
        let value = match member {
            ListEntry::Item(Item { bare_item, .. }) => Some(bare_item),
            ListEntry::InnerList(_) => None,
        };
        add(&mut directives, name.as_str(), value);
    }
    Some(directives)
}

/// Adds a directive. `value` is `None` for an inner list, which none has.
///
/// A value of another type is not consumed (RFC 9213 section 2.1). Then the directive has the meaning that keeps the
/// response for the shorter time: what forbids is said all the same, and what allows is not.
fn add(directives: &mut ResponseDirectives, name: &str, value: Option<&BareItem>) {
    match name {
        "no-store" => directives.no_store = is_said(value),
        "no-cache" => directives.no_cache = qualified(value),
        "private" => directives.private = qualified(value),
        "public" => directives.public = is_true(value),
        "must-revalidate" => directives.must_revalidate = is_said(value),
        "proxy-revalidate" => directives.proxy_revalidate = is_said(value),
        "must-understand" => directives.must_understand = is_true(value),
        // An argument has no meaning (RFC 8246 section 2).
        "immutable" => directives.immutable = is_said(value),
        "no-transform" => directives.no_transform = is_said(value),
        "max-age" => directives.max_age = Some(lifetime(value)),
        "s-maxage" => directives.s_maxage = Some(lifetime(value)),
        "stale-while-revalidate" => directives.stale_while_revalidate = seconds(value),
        "stale-if-error" => directives.stale_if_error = seconds(value),
        _ => {}
    }
}

fn is_true(value: Option<&BareItem>) -> bool {
    matches!(value, Some(BareItem::Boolean(true)))
}

/// `?0` is how a dictionary says that a member does not hold.
fn is_said(value: Option<&BareItem>) -> bool {
    !matches!(value, Some(BareItem::Boolean(false)))
}

fn qualified(value: Option<&BareItem>) -> Qualified {
    let mut found = Qualified::Absent;
    match value {
        Some(BareItem::Boolean(false)) => {}
        Some(BareItem::String(list)) => found.join(Some(list.as_str().as_bytes())),
        _ => found.join(None),
    }
    found
}

fn seconds(value: Option<&BareItem>) -> Option<u32> {
    let Some(BareItem::Integer(seconds)) = value else {
        return None;
    };
    let seconds = u64::try_from(i64::from(*seconds)).ok()?;
    Some(u32::try_from(seconds).map_or(MOST_SECONDS, |seconds| seconds.min(MOST_SECONDS)))
}

/// Reads a lifetime. One that is negative or no number is zero, like a malformed one in `Cache-Control`: otherwise the
/// heuristic would keep for hours what was meant for seconds (RFC 9111 section 4.2.1).
fn lifetime(value: Option<&BareItem>) -> u32 {
    seconds(value).unwrap_or(0)
}
