//! What is allowed, but hardly meant.

mod cookies;
mod keys;
mod names;
mod paths;

use super::{Sink, matches_everything, routes::refuses};
use crate::config::{
    Fault,
    value::Text,
    written::{self, Defaults, TtlMode},
};
use http::header::AUTHORIZATION;
use proxy::purge_clients::is_ours;

/// Warns of what is hardly meant in a configuration without faults.
/// `source` is the text of the file.
pub(super) fn find(written: &written::Config, source: &str, sink: &mut Sink<'_>) {
    let none = Defaults::default();
    let defaults = written.defaults.as_ref().unwrap_or(&none);
    let tables = written.route.iter().flatten();
    let routes: Vec<_> = tables.map(|table| &table.value).collect();
    let has_last = !routes.iter().any(|route| matches_everything(route));
    let policies = routes.iter().map(|route| route.policy(defaults));
    let last = has_last.then(|| defaults.clone());
    let policies: Vec<_> = policies.chain(last).collect();
    paths::find(&routes, policies.iter().filter_map(bypassed_paths), sink);
    if written.defaults.is_none() {
        paths::home_alone(&routes, sink);
    }
    cookies::find(written, defaults, has_last, sink);
    names::find(&routes, &policies, source, sink);
    for policy in &policies {
        keyed_credentials(policy, sink);
        keys::find(policy, sink);
    }
    for route in &routes {
        refused_purges(route, defaults, sink);
    }
}

/// Warns of a route that is to refuse requests for Larder itself. Of several methods, the first is named.
fn refused_purges(route: &written::Route, defaults: &Defaults, sink: &mut Sink<'_>) {
    if route.policy(defaults).refuse.is_none() {
        return;
    }
    let mut methods = route.method.iter().flat_map(|methods| &methods.list);
    if let Some(Text { value, span }) = methods.find(|method| is_ours(&method.value)) {
        let what = format!(
            "`refuse` has no effect on `{value}`: it is for Larder itself, whatever the routes say"
        );
        let instead = "write under `[purge]` who may purge: with `allow = []` and without `secret`, nobody may";
        sink.warn(Fault::at(span, what).instead(instead));
    }
}

fn bypassed_paths(policy: &Defaults) -> Option<&paths::Paths> {
    policy.bypass.as_ref()?.value.paths.as_ref()
}

/// Warns of `Authorization` in the key where lifetimes are forced: neither makes storable what is for its client alone
/// (RFC 9111 section 3.5).
fn keyed_credentials(policy: &Defaults, sink: &mut Sink<'_>) {
    let mode = policy.ttl_mode.as_ref().map(|mode| mode.value);
    let is_forced = policy.ttl.is_some() && matches!(mode, Some(TtlMode::Override));
    let stores = policy.cache.unwrap_or(true) && !refuses(policy);
    if !is_forced || !stores || bypasses_credentials(policy) {
        return;
    }
    let keyed = policy.key.iter().filter_map(|key| key.headers.as_ref());
    let mut names = keyed.flat_map(|names| &names.list);
    if let Some(name) = names.find(|name| name.value.0 == AUTHORIZATION) {
        let what = "an answer to a request with `Authorization` is stored only if it says `public`: \
                    neither the key nor `ttl_mode = \"override\"` changes that";
        let instead = "write `bypass.headers = [\"Authorization\"]` instead; or have the application say `public`, \
                       with `Vary: Authorization` for other caches";
        sink.warn(Fault::at(&name.span, what).instead(instead));
    }
}

/// Whether every request with `Authorization` bypasses the store.
fn bypasses_credentials(policy: &Defaults) -> bool {
    let bypass = policy
        .bypass
        .iter()
        .flat_map(|bypass| &bypass.value.headers);
    let mut headers = bypass.flat_map(|headers| &headers.list);
    headers.any(|header| header.value.name == AUTHORIZATION && header.value.value.is_none())
}
