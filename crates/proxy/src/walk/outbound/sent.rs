//! How the origin gets each field of the client's request.

use super::{
    message::is_withheld,
    trust::{is_ambiguous, is_named, may_be_passed, misleads},
};
use crate::{
    ask::Ask,
    policy::{Edit, Esi, Policy},
    walk::coding,
};
use http::{HeaderName, Method};
use rules::fields;

/// How the origin gets a field of the client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForwarding {
    /// As the client wrote it.
    AsAsked,
    /// The same for every request of one key: part of the key, set by the site, or removed.
    Same,
    /// The same for every request of one key as far as codings are settled here.
    Settled,
    /// Written anew, with a value that differs from client to client.
    ByClient,
}

/// Returns how the origin gets the field `name`, whether or not `ask` has it.
pub fn sent_as(ask: &Ask, name: &HeaderName) -> FieldForwarding {
    let policy = ask.policy();
    match name.as_str() {
        _ if is_edited(policy, name) => FieldForwarding::Same,
        _ if coding::settles(ask, name) => FieldForwarding::Settled,
        // The host is keyed, or is the same for all requests.
        "host" | "expect" => FieldForwarding::Same,
        "x-forwarded-proto" if policy.key.scheme || !is_named(ask, name) => FieldForwarding::Same,
        "x-forwarded-for" | "forwarded" => FieldForwarding::ByClient,
        "accept-encoding" if policy.esi == Esi::On => FieldForwarding::Same,
        // From a client that is no trusted proxy it was set aside.
        _ if misleads(name) && !may_be_passed(ask, name) => FieldForwarding::Same,
        _ if fields::is_hop_by_hop(name) => FieldForwarding::Same,
        // Removed if it holds the purge secret, which no variant may reveal.
        _ if ask.site.purge.is_told_in(name, &ask.fields) => FieldForwarding::ByClient,
        // A `POST` goes out as it came.
        _ if is_withheld(ask, name)
            && ask.method != Method::POST
            && ask.content.keyed.is_none() =>
        {
            FieldForwarding::Same
        }
        _ if is_ambiguous(name) && !is_named(ask, name) => FieldForwarding::Same,
        _ => FieldForwarding::AsAsked,
    }
}

/// Whether the site removes the field or sets its value.
pub(super) fn is_edited(policy: &Policy, name: &HeaderName) -> bool {
    policy.to_origin.edits.iter().any(|edit| match edit {
        Edit::Set(edited, _) | Edit::Remove(edited) => edited == name,
        Edit::Add(..) => false,
    })
}
