//! Admit: whether an answer is stored, and in which form. The answer's lifetime is in `lifetime`, its stored fields in
//! `fields`, the stored response in `made`, and what becomes of it after an update in `update`. `pump` brings its body
//! into the store.

mod fields;
mod lifetime;
mod made;
mod static_files;
mod update;

pub use fields::{FirstLine, complete, own_fields, own_updated};
pub use lifetime::may_be_of_one_user;
pub use made::{Update, carried_or_new, confirmed, marks, new_stored, tags, updated};
pub use static_files::usual_type;
pub use update::{judge_merged, judge_update, merged};

use crate::{
    ask::Ask,
    routing,
    walk::{
        coding,
        outbound::{self, FieldForwarding},
    },
};
use http::{Extensions, HeaderMap, Method, StatusCode, header};
use lifetime::{freshness_site, is_no_file};
use rules::{
    coding::varies_by_coding,
    storable::{self, Exchange, NotStorable, SetCookie, Storable},
    time::Time,
    vary::{self, Nominated},
};
use store::{Stored, Variant};

/// When an exchange with an origin took place.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// When the request went out (`request_time` of RFC 9111 section 4.2.3). Time that the request waited before that
    /// is not counted.
    pub request: Time,
    /// When the head of the response came (`response_time` there).
    pub response: Time,
    /// How long the answer holds, if the origin knows it and no field says so.
    pub lifetime: Option<origin::Lifetime>,
}

impl Times {
    /// The times of an exchange that began at `began` and whose response, with these extensions, came at `response`.
    /// Time that the request waited does not make the response older (RFC 9111 section 4.2.3).
    pub fn of(began: Time, response: Time, extensions: &Extensions) -> Self {
        let waited = extensions.get::<origin::Waited>();
        Self {
            request: waited.map_or(began, |waited| began.plus(waited.0)),
            response,
            lifetime: extensions.get().copied(),
        }
    }
}

/// An answer that may be stored.
pub struct Admitted {
    /// The result of judging it.
    pub storable: Storable,
    variant: Option<Box<Variant>>,
}

impl Admitted {
    /// An answer to `ask` with the fields `response`, which was judged to be `storable`.
    pub fn new(ask: &Ask, storable: Storable, response: &HeaderMap) -> Self {
        Self {
            storable,
            variant: variant(ask, response),
        }
    }
}

/// Judges an answer to a GET for `ask`.
pub fn admit(
    ask: &Ask,
    times: Times,
    status: StatusCode,
    fields: &HeaderMap,
) -> Result<Admitted, NotStorable> {
    let (storable, nominated) = judged(ask, &Method::GET, times, status, fields)?;
    Ok(Admitted {
        storable,
        variant: selected_by(ask, nominated),
    })
}

/// Like [`admit`], for an answer to a request of `method` from which nothing new is made.
pub fn judge(
    ask: &Ask,
    method: &Method,
    times: Times,
    status: StatusCode,
    fields: &HeaderMap,
) -> Result<Storable, NotStorable> {
    judged(ask, method, times, status, fields).map(|(storable, _)| storable)
}

fn judged(
    ask: &Ask,
    method: &Method,
    times: Times,
    status: StatusCode,
    fields: &HeaderMap,
) -> Result<(Storable, Nominated), NotStorable> {
    // Only for a POST is the target compared with anything.
    let uri = if *method == Method::POST {
        ask.uri()
    } else {
        String::new()
    };
    let exchange = Exchange {
        method,
        request: &ask.fields,
        request_directives: &ask.directives,
        target: &uri,
        status,
        response: fields,
        request_time: times.request,
        response_time: times.response,
    };
    if times.lifetime == Some(origin::Lifetime::Never) {
        return Err(NotStorable::NoStore);
    }
    let policy = ask.policy();
    if routing::sets_any_cookie(&policy.bypass.sets, fields) {
        return Err(NotStorable::SetCookie);
    }
    let set_cookie = match policy.set_cookie {
        SetCookie::Strip if is_no_file(ask, fields) => SetCookie::Never,
        choice => choice,
    };
    let site = storable::Site {
        freshness: freshness_site(ask, status, fields, times.lifetime),
        set_cookie,
        targets: &ask.site.targets,
    };
    let storable = storable::judge(&exchange, &site)?;
    if may_be_of_one_user(ask, &storable.facts) {
        return Err(NotStorable::Cookies);
    }
    match nominated(ask, fields) {
        Nominated::Everything => Err(NotStorable::VaryStar),
        nominated @ (Nominated::Nothing | Nominated::Fields(_)) => Ok((storable, nominated)),
    }
}

/// What selects the response among its key's variants; `None` if any request does.
pub fn variant(ask: &Ask, response: &HeaderMap) -> Option<Box<Variant>> {
    selected_by(ask, nominated(ask, response))
}

/// Like [`variant`], for `fields` that were merged from those of `old` and the newly arrived `update`. `Accept-Encoding`
/// that has not selected `old` and is not in the `Vary` of `update` is our own word to clients ([`coding::vary`]), and
/// selects nothing, unless it was left out because every client could be given the content, and now not every client
/// can.
pub fn variant_after(
    ask: &Ask,
    old: &Stored,
    update: &HeaderMap,
    fields: &HeaderMap,
) -> Option<Box<Variant>> {
    let mut selected_before = old.variant.iter().flat_map(|by| &by.nominated);
    let is_said = selected_before.any(|name| *name == header::ACCEPT_ENCODING)
        || varies_by_coding(update)
        // Until now it was of no matter whether the application said it.
        || (!coding::suits_everybody(ask, fields) && coding::suits_everybody(ask, &old.fields.unpack(0)));
    let nominated = match nominated(ask, fields) {
        Nominated::Fields(mut names) if !is_said => {
            names.retain(|name| *name != header::ACCEPT_ENCODING);
            Nominated::of(names)
        }
        nominated => nominated,
    };
    selected_by(ask, nominated)
}

fn selected_by(ask: &Ask, nominated: Nominated) -> Option<Box<Variant>> {
    match nominated {
        Nominated::Fields(nominated) => {
            let mut key = Vec::new();
            vary::variant_key(&nominated, &ask.fields, &mut key);
            let (nominated, key) = (nominated.into(), key.into());
            Some(Box::new(Variant { nominated, key }))
        }
        // `*` is refused by `judged`.
        Nominated::Nothing | Nominated::Everything => None,
    }
}

/// The nominated fields in which requests for this key can differ as the *origin* sees them. Fields that are the same
/// for all of them are left out. So is `Accept-Encoding`, unless the answer is in a coding that not every client can be
/// given. A field that we write anew for each client selects by something that no later request can know: then the
/// result is [`Nominated::Everything`].
fn nominated(ask: &Ask, response: &HeaderMap) -> Nominated {
    let fields = match vary::nominated(response) {
        Nominated::Fields(fields) => fields,
        other => return other,
    };
    let mut kept = Vec::with_capacity(fields.len());
    for name in fields {
        match outbound::sent_as(ask, &name) {
            FieldForwarding::Same => {}
            FieldForwarding::Settled if coding::suits_everybody(ask, response) => {}
            FieldForwarding::Settled | FieldForwarding::AsAsked => kept.push(name),
            FieldForwarding::ByClient => return Nominated::Everything,
        }
    }
    Nominated::of(kept)
}
