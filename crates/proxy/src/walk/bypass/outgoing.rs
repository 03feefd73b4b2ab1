//! What the origin is sent: the fields of a request that goes as it came, and when it is to go without range and condition.

use super::max_forwards;
use crate::{
    ask::{Ask, Upgrade},
    error::Failure,
    policy::Esi,
    walk::{coding, esi, outbound},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use rules::{fields, method::is_retrieval};

/// The fields that the origin gets.
pub fn outgoing(ask: &Ask, upgrade: Option<&Upgrade>) -> Result<HeaderMap, Failure> {
    let mut fields = outbound::fields(ask)?;
    coding::for_origin(ask, &mut fields);
    max_forwards::count_down(ask, &mut fields);
    if let Some(upgrade) = upgrade {
        // Hop-by-hop removal took the wish away; it is made anew, for the next hop.
        fields.insert(header::UPGRADE, upgrade.protocol.clone());
        fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    pass_expectation(ask, &mut fields);
    Ok(fields)
}

/// The client is told to send its content once the origin has told us (RFC 9110 section 10.1.1).
fn pass_expectation(ask: &Ask, fields: &mut HeaderMap) {
    if ask.has_content
        && ask.version >= Version::HTTP_11
        && let Some(expected) = ask.fields.get(header::EXPECT)
    {
        fields.insert(header::EXPECT, expected.clone());
    }
}

/// The `fields` of a request for a part, or on condition where pages may be composed, without that. With methods other than `GET` a range
/// means nothing (RFC 9110 section 14.2); an origin that takes it for one would send a part of a page that is composed here, and what does
/// something, or brings content, is not asked for twice: there it goes at once. So does a condition on a route of pages. Elsewhere a
/// `HEAD` on condition is asked again where a `GET` is: what it tells is of the composed page too.
pub fn whole(ask: &Ask, fields: &mut HeaderMap) -> Option<HeaderMap> {
    const PART: [HeaderName; 2] = [header::RANGE, header::IF_RANGE];
    const CONDITION: [HeaderName; 2] = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE];
    let esi = ask.policy().esi;
    if is_retrieval(&ask.method) && (esi == Esi::On || (esi == Esi::Told && ask.has_content)) {
        fields::remove_where(fields, |name| CONDITION.contains(name));
    }
    let may_be_part = ask.method == Method::GET && !ask.has_content;
    if !may_be_part && esi != Esi::Off {
        fields::remove_where(fields, |name| PART.contains(name));
    }
    let asks_once = !is_retrieval(&ask.method) || ask.has_content;
    let is_left = |name: &HeaderName| {
        (may_be_part && PART.contains(name)) || (esi != Esi::Off && CONDITION.contains(name))
    };
    if asks_once || !fields.keys().any(is_left) {
        return None;
    }
    let mut whole = fields.clone();
    fields::remove_where(&mut whole, is_left);
    Some(whole)
}

/// Whether the answer to a request for a part, or on condition, is of no use: only the whole can be composed, and the client may hold it in
/// another coding.
pub fn only_whole_is_right(ask: &Ask, status: StatusCode, fields: &HeaderMap) -> bool {
    match status {
        StatusCode::PARTIAL_CONTENT => {
            esi::is_part_of_page(ask, fields) || coding::is_of_another(ask, fields, None)
        }
        StatusCode::NOT_MODIFIED | StatusCode::RANGE_NOT_SATISFIABLE => {
            esi::is_about_page(ask, fields)
        }
        _ => false,
    }
}
