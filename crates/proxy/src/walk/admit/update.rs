//! What an update means for a stored response: a 304, the answer to a HEAD, or another part (RFC 9111 section 3.2).

use super::{Times, judge};
use crate::{ask::Ask, routing};
use http::{HeaderMap, Method, StatusCode, header};
use rules::{
    storable::{self, NotStorable, SetCookie, Storable},
    surrogate, validate,
};
use store::Stored;

/// Returns how `stored` may be stored after a message about it with the fields `update`, and its fields then.
///
/// A cookie that is not for everybody forbids to store a 200. But the content that such a message confirms is
/// everybody's already, so it takes from the message what a cache must know (RFC 9111 section 4.3.4). All else goes with
/// the cookie to the one client, since it may be that client's too.
pub fn judge_update(
    ask: &Ask,
    times: Times,
    stored: &Stored,
    update: &HeaderMap,
) -> Result<(Storable, HeaderMap), NotStorable> {
    let with = |update| {
        let mut fields = merged(ask, stored, update);
        judge_merged(ask, times, stored.status, &mut fields, update)
            .map(|storable| (storable, fields))
    };
    let judged = with(update);
    let is_withheld = matches!(judged, Err(NotStorable::SetCookie))
        && update.contains_key(header::SET_COOKIE)
        && !routing::sets_any_cookie(&ask.policy().bypass.sets, update);
    if is_withheld {
        return with(&validate::for_caches(update, &ask.site.targets));
    }
    judged
}

/// Returns the fields of `stored`, freshened with those of `update`.
pub fn merged(ask: &Ask, stored: &Stored, update: &HeaderMap) -> HeaderMap {
    let mut fields = stored.all_fields(8);
    validate::freshen(&mut fields, update, &ask.site.targets);
    keep_language(stored, &mut fields);
    fields
}

/// Like [`judge`] for a GET, where `fields` were merged from a stored response and the newly arrived `update`. A cookie
/// that may no longer be stored and is not in `update` is removed: it was for another client. So is one that `update`
/// brings without saying itself that all may have it.
pub fn judge_merged(
    ask: &Ask,
    times: Times,
    status: StatusCode,
    fields: &mut HeaderMap,
    update: &HeaderMap,
) -> Result<Storable, NotStorable> {
    let judged = judge(ask, &Method::GET, times, status, fields);
    let brings_cookie = update.contains_key(header::SET_COOKIE);
    let is_withheld = match judged {
        Ok(_) => {
            brings_cookie
                && ask.policy().set_cookie == SetCookie::Refuse
                && !storable::means_cookie(update, &ask.site.targets)
        }
        Err(why) => !brings_cookie && why == NotStorable::SetCookie,
    };
    if !is_withheld {
        return judged;
    }
    fields.remove(header::SET_COOKIE);
    judge(ask, &Method::GET, times, status, fields)
}

/// Keeps the mark of a page of fragments in its freshened `fields`: its body is the same, and so is the language in
/// which it is written.
fn keep_language(stored: &Stored, fields: &mut HeaderMap) {
    if stored.is_esi() && !surrogate::wants_esi(fields) {
        fields.append(surrogate::CONTROL, surrogate::CONTENT_ESI);
    }
}
