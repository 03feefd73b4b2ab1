//! What the origin is sent: the fields of a request that goes as it came, and whether it goes without range and
//! condition.

use super::max_forwards;
use crate::{
    ask::{Ask, Upgrade},
    error::Failure,
    listen::RequestBody,
    policy::Esi,
    walk::{coding, outbound, page},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use rules::{fields, method::is_retrieval};

/// The fields for the origin, which go before this content.
pub fn outgoing(
    ask: &Ask,
    upgrade: Option<&Upgrade>,
    content: &RequestBody,
) -> Result<HeaderMap, Failure> {
    let mut fields = outbound::fields(ask)?;
    coding::for_origin(ask, &mut fields);
    max_forwards::count_down(ask, &mut fields);
    if let Some(upgrade) = upgrade {
        // Removing the hop-by-hop fields removed the client's wish to upgrade. It is made anew for the next hop.
        fields.insert(header::UPGRADE, upgrade.protocol.clone());
        fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    pass_expectation(ask, content, &mut fields);
    if ask.version == Version::HTTP_2
        && let Some(taken) = ask.fields.get(header::TE)
    {
        // It is said anew for the next hop. Over HTTP/2 it can only say that trailers are taken (RFC 9113 section
        // 8.2.2).
        fields.insert(header::TE, taken.clone());
    }
    let may_trail = |name: &HeaderName| outbound::may_trail(ask.policy(), name);
    if ask.version == Version::HTTP_2
        && let Some(names) = fields::trailing_names(&ask.fields, may_trail)
    {
        // Some applications take only the trailers that the head has named.
        fields.insert(header::TRAILER, names);
    }
    Ok(fields)
}

/// Passes `Expect` on, so that the client is told to send its content once the origin has told us (RFC 9110 section
/// 10.1.1). A client that does not wait for that need not be told, and its content waits for nobody.
fn pass_expectation(ask: &Ask, content: &RequestBody, fields: &mut HeaderMap) {
    if ask.receipt.has_content
        && ask.version >= Version::HTTP_11
        && let Some(expected) = ask.fields.get(header::EXPECT)
        && !(expected.as_bytes().eq_ignore_ascii_case(b"100-continue") && content.has_come())
    {
        fields.insert(header::EXPECT, expected.clone());
    }
}

/// Returns `fields` without range and, where pages may be composed, without condition: for asking again if the answer
/// is of no use because of them. `None` if they have neither, or if the request must not be sent twice.
///
/// With methods other than `GET` a range means nothing (RFC 9110 section 14.2). An origin that honours one anyway would
/// send a part of a page that is composed here, and a request that does something, or brings content, is not sent
/// twice. So with these the range is removed from `fields` at once. So is a condition on a route of pages. Elsewhere a
/// conditional `HEAD` is asked again if a `GET` is: its answer is about the composed page too.
pub fn whole(ask: &Ask, fields: &mut HeaderMap) -> Option<HeaderMap> {
    const PART: [HeaderName; 2] = [header::RANGE, header::IF_RANGE];
    const CONDITION: [HeaderName; 2] = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE];
    let esi = ask.policy().esi;
    if is_retrieval(&ask.method)
        && (esi == Esi::On || (esi == Esi::Told && ask.receipt.has_content))
    {
        fields::remove_where(fields, |name| CONDITION.contains(name));
    }
    let may_be_part = ask.method == Method::GET && !ask.receipt.has_content;
    if !may_be_part && esi != Esi::Off {
        fields::remove_where(fields, |name| PART.contains(name));
    }
    let asks_once = !is_retrieval(&ask.method) || ask.receipt.has_content;
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

/// Whether the answer to a request for a part, or to a conditional one, is of no use: only the whole can be composed,
/// or the client may hold it in another coding.
pub fn only_whole_is_right(ask: &Ask, status: StatusCode, fields: &HeaderMap) -> bool {
    match status {
        StatusCode::PARTIAL_CONTENT => {
            page::is_part_of_page(ask, fields) || coding::is_of_another(ask, fields, None)
        }
        StatusCode::NOT_MODIFIED | StatusCode::RANGE_NOT_SATISFIABLE => {
            page::is_about_page(ask, fields)
        }
        _ => false,
    }
}
