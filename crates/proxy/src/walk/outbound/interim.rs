//! Interim answers (RFC 9110 section 15.2), which go to the client before it is known what becomes of the final one.

use super::edit;
use crate::{
    ask::Ask,
    policy::{Edit, Policy, Site},
    user_group,
};
use http::{HeaderMap, header};
use origin::Interim;
use rules::{fields, storable::SetCookie};
use std::slice;

/// Returns what passes the interim answers on to the client.
pub(super) fn to_client(ask: &Ask) -> Interim {
    let sink = ask.receipt.interim.clone();
    let (site, route) = (ask.site.shared(), ask.route);
    Interim::new(move |status, fields| {
        let mut fields = fields.clone();
        if let Some(route) = site.routes.get(route) {
            take_off(&site, &route.policy, &mut fields);
        }
        sink.send(status, &fields);
    })
}

/// Removes what a final answer would not have, so that no client reads before it what it is not to see. Whether the
/// final one will be stored, and so lose its cookies where the site strips them, is not known: they are left to it.
fn take_off(site: &Site, policy: &Policy, fields: &mut HeaderMap) {
    fields::remove_where(fields, |name| site.ends_here(name));
    if policy.set_cookie == SetCookie::Strip {
        fields.remove(header::SET_COOKIE);
    }
    if policy.user_context.is_some() {
        user_group::translate(fields);
    }
    for one in &policy.to_client.edits {
        let concerns = match one {
            Edit::Remove(_) => true,
            Edit::Set(name, _) => fields.contains_key(name),
            // What is added is said once, by the final answer.
            Edit::Add(..) => false,
        };
        if concerns {
            edit(fields, slice::from_ref(one));
        }
    }
}
