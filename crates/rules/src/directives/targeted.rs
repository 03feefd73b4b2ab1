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
        // No directive has an inner list as its value.
        if let ListEntry::Item(Item { bare_item, .. }) = member {
            add(&mut directives, name.as_str(), bare_item);
        }
    }
    Some(directives)
}

/// Adds a directive if its value has the right type; otherwise ignores it (RFC 9213 section 2.1).
fn add(directives: &mut ResponseDirectives, name: &str, value: &BareItem) {
    match name {
        "no-store" => directives.no_store = is_true(value),
        "no-cache" => directives.no_cache = qualified(value),
        "private" => directives.private = qualified(value),
        "public" => directives.public = is_true(value),
        "must-revalidate" => directives.must_revalidate = is_true(value),
        "proxy-revalidate" => directives.proxy_revalidate = is_true(value),
        "must-understand" => directives.must_understand = is_true(value),
        // An argument has no meaning (RFC 8246 section 2); `?0` is how a dictionary says that a member does not hold.
        "immutable" => directives.immutable = !matches!(value, BareItem::Boolean(false)),
        "no-transform" => directives.no_transform = is_true(value),
        "max-age" => directives.max_age = lifetime(value),
        "s-maxage" => directives.s_maxage = lifetime(value),
        "stale-while-revalidate" => directives.stale_while_revalidate = seconds(value),
        "stale-if-error" => directives.stale_if_error = seconds(value),
        _ => {}
    }
}

fn is_true(value: &BareItem) -> bool {
    matches!(value, BareItem::Boolean(true))
}

fn qualified(value: &BareItem) -> Qualified {
    let mut found = Qualified::Absent;
    match value {
        BareItem::Boolean(true) => found.join(None),
        BareItem::String(list) => found.join(Some(list.as_str().as_bytes())),
        _ => {}
    }
    found
}

fn seconds(value: &BareItem) -> Option<u32> {
    let BareItem::Integer(seconds) = value else {
        return None;
    };
    let seconds = u64::try_from(i64::from(*seconds)).ok()?;
    Some(u32::try_from(seconds).map_or(MOST_SECONDS, |seconds| seconds.min(MOST_SECONDS)))
}

/// Reads a lifetime. A negative one has the right type but ended before it began: it is zero, like a malformed one in
/// `Cache-Control`.
fn lifetime(value: &BareItem) -> Option<u32> {
    match value {
        BareItem::Integer(_) => seconds(value).or(Some(0)),
        _ => None,
    }
}
