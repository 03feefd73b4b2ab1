//! What a route matches.

use super::settings::values;
use crate::config::written::Route;
use proxy::policy::{HostPattern, Matcher, PathPattern};

pub(super) fn build(written: &Route) -> Matcher {
    Matcher {
        hosts: values(written.host.as_ref()),
        paths: values(written.path.as_ref()),
        methods: values(written.method.as_ref()),
        headers: values(written.header.as_ref()),
        cookies: values(written.cookie.as_ref()),
        query: values(written.query.as_ref()),
        clients: values(written.client.as_ref()),
    }
}

/// Whether every path of every request is matched. `/*` counts: only `OPTIONS *` escapes it, and a route that is meant
/// for everything is meant for that too.
pub(super) fn everything(matcher: &Matcher) -> bool {
    let Matcher {
        hosts,
        paths,
        methods,
        headers,
        cookies,
        query,
        clients,
    } = matcher;
    let any_host = |host: &HostPattern| matches!(host, HostPattern::Any);
    let any_path =
        |path: &PathPattern| matches!(path, PathPattern::Prefix(prefix) if prefix == "/");
    (hosts.is_empty() || hosts.iter().any(any_host))
        && (paths.is_empty() || paths.iter().any(any_path))
        && methods.is_empty()
        && headers.is_empty()
        && cookies.is_empty()
        && query.is_empty()
        && clients.is_empty()
}
