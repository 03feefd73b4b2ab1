//! What decides besides the stored response: properties of the request, of its client and of the site.

use crate::{
    ask::Ask,
    policy::{self, Policy},
    walk::{coding, shape},
    way::Terms,
};
use http::header;
use rules::{fields::has, precondition, reuse};
use store::Stored;

/// Returns the terms on which a request asks. They decide how it goes on if no stored response answers it.
pub fn terms(ask: &Ask) -> Terms {
    Terms {
        stores_nothing: ask.stores_nothing,
        // What is fetched would not yet have the form that such a condition names.
        on_condition: has_condition_for_origin(ask) || coding::is_on_form(ask),
        only_if_cached: ask.directives.only_if_cached,
        for_itself: ask.directives.no_store
            || has(&ask.fields, &header::AUTHORIZATION)
            || wants_events(ask),
    }
}

/// Whether the client wants a stream of events, as every `EventSource` says. Streams are rarely stored, and begin when
/// there is an event: whoever waited for another's would miss it.
fn wants_events(ask: &Ask) -> bool {
    let accepted = ask.fields.get(header::ACCEPT);
    accepted.is_some_and(|accepted| {
        accepted
            .as_bytes()
            .eq_ignore_ascii_case(b"text/event-stream")
    })
}

/// Whether the request has a condition that only an origin may judge.
fn has_condition_for_origin(ask: &Ask) -> bool {
    ask.said.conditions
        && (ask.fields.contains_key(header::IF_MATCH)
            || ask.fields.contains_key(header::IF_UNMODIFIED_SINCE))
}

/// Whether the request has a condition for the origin that the stored response does not meet.
pub fn condition_is_the_origins(ask: &Ask, stored: &Stored) -> bool {
    has_condition_for_origin(ask) && stored.status.is_success() && {
        let representation = shape::representation(stored);
        let judged = precondition::judge(&ask.method, &ask.fields, &representation, ask.now);
        judged == precondition::Verdict::Failed
    }
}

/// Returns the site's settings for reuse, for the rules.
pub fn reuse_site(policy: &Policy) -> reuse::Site {
    reuse::Site {
        client_may_force: policy.client_may_force,
        unreachable: policy::seconds(policy.stale.unreachable),
    }
}

/// Like [`reuse_site`], for this client: a client that may purge may have anything validated.
pub fn reuse_site_for(ask: &Ask) -> reuse::Site {
    let mut site = reuse_site(ask.policy());
    site.client_may_force |= may_force(ask);
    site
}

/// Whether this client's request may have stored responses validated, whatever the site says about other clients.
fn may_force(ask: &Ask) -> bool {
    let speaks_for_itself = ask.receipt.connection.peer_asks && !ask.receipt.for_another;
    let peer = ask.receipt.connection.peer.filter(|_| speaks_for_itself);
    let peer = peer.map(|peer| peer.ip());
    let admitted = || ask.site.purge.admit(peer, &ask.target, &ask.fields);
    ask.directives.no_cache && admitted().is_ok()
}

/// Whether the client wants the origin's own answer (`no-cache`, `max-age=0`): what was under way before it asked will
/// not do.
pub fn is_forced(ask: &Ask) -> bool {
    let said = &ask.directives;
    (said.no_cache || said.max_age == Some(0)) && reuse_site_for(ask).client_may_force
}
