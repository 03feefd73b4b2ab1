//! Describes what holds on a route.

use super::{
    keyed::{edited, keyed, passed},
    matching::{expression, field, named, path},
    shown,
};
use proxy::policy::{
    BypassRules, Compress, Esi, Lifetime, LifetimeMode, NamePattern, Policy, StatusPattern,
};
use rules::{coding::Coding, storable::SetCookie};

/// Describes the policy, a line for each thing that is worth telling.
pub(super) fn holds(policy: &Policy) -> Vec<String> {
    if let Some(status) = policy.refuses {
        return vec![format!("refused with {}", status.as_u16())];
    }
    let mut lines = vec![format!("answered by {}", policy.origin.name())];
    let mut say = |text: String| lines.push(text);
    if policy.redirect_https {
        say("http requests are redirected to https".to_owned());
    }
    if let Some(host) = &policy.to_origin.host {
        say(format!(
            "the application gets the host {}",
            String::from_utf8_lossy(host.as_bytes())
        ));
    }
    lines.extend(passed(policy));
    lines.extend(compressed(policy.compress.as_ref()));
    lines.extend(match policy.esi {
        Esi::On => Some("ESI is processed in all HTML and XML".to_owned()),
        Esi::Off => Some("ESI is not processed".to_owned()),
        Esi::Told => None,
    });
    if policy.cache {
        lines.extend(stored(policy));
    } else {
        lines.push("nothing is stored".to_owned());
    }
    lines.extend(edited(policy));
    lines
}

/// Describes what is stored, how, and for how long.
fn stored(policy: &Policy) -> Vec<String> {
    let mut lines = vec![lifetime(&policy.lifetime)];
    if !policy.lifetime.heuristic {
        lines.push("no lifetime is guessed from Last-Modified".to_owned());
    }
    lines.extend(stale(policy));
    if let Some(time) = policy.to_client.browser_ttl {
        lines.push(format!("browsers get the lifetime {}", shown(time)));
    }
    let largest = bytesize::ByteSize(policy.largest_body).display().iec();
    lines.push(format!("bodies up to {largest} are stored"));
    lines.extend(keyed(&policy.key));
    let cookie = match policy.set_cookie {
        SetCookie::Refuse => None,
        SetCookie::Never => Some("answers that set a cookie are never stored"),
        SetCookie::Strip => Some("answers that set a cookie are stored without it"),
        SetCookie::Store => Some("answers that set a cookie are stored with it, for everybody"),
    };
    lines.extend(cookie.map(str::to_owned));
    if !policy.client_may_force {
        lines.push("clients may not force a fetch".to_owned());
    }
    lines.extend(passed_by(&policy.bypass));
    lines.extend(of_requests(policy));
    lines
}

/// Describes how long past its lifetime a response is sent.
fn stale(policy: &Policy) -> Vec<String> {
    let stale = &policy.stale;
    let error = match stale.own_statuses() {
        None => "an error".to_owned(),
        Some(statuses) => {
            let list: Vec<_> = statuses.iter().map(ToString::to_string).collect();
            list.join(" or ")
        }
    };
    let error = format!("when the origin answers with {error}");
    let windows = [
        (stale.while_revalidate, "while it is refreshed"),
        (stale.if_error, &*error),
        (Some(stale.unreachable), "when the origin cannot be reached"),
    ];
    let told = windows.into_iter().filter_map(|(window, when)| {
        let window = shown(window?);
        Some(format!("stale for {window} {when}"))
    });
    told.collect()
}

/// Describes which requests bypass the store, a line for each kind.
fn passed_by(bypass: &BypassRules) -> Vec<String> {
    let names = |list: &[NamePattern]| list.iter().map(named).collect();
    let plain = bypass.paths.plain().iter().map(path);
    let expressions = bypass.paths.expressions().iter();
    let kinds: [(&str, Vec<String>); 7] = [
        ("bypassed with the cookie", names(&bypass.cookies)),
        (
            "bypassed with the header",
            bypass.headers.iter().map(field).collect(),
        ),
        (
            "bypassed for the path",
            plain
                .chain(expressions.map(|regex| expression(regex)))
                .collect(),
        ),
        (
            "bypassed for the method",
            bypass.methods.iter().map(ToString::to_string).collect(),
        ),
        ("bypassed with the parameter", names(&bypass.query)),
        (
            "misses not stored with the cookie",
            names(&bypass.misses_with),
        ),
        (
            "not stored if the answer sets the cookie",
            names(&bypass.sets),
        ),
    ];
    let some = kinds.into_iter().filter(|(_, list)| !list.is_empty());
    some.map(|(what, list)| format!("{what} {}", list.join(" or ")))
        .collect()
}

/// Describes what is read from requests, or withheld from the origin, if it differs from the default.
fn of_requests(policy: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    if policy.key.drop_cookies {
        lines.push(
            "what may be stored is fetched without cookies, except those in the key".to_owned(),
        );
    }
    if let Some(path) = &policy.user_context {
        lines.push(format!("the answer of {path} gives the group of each user"));
    }
    if let Some(graphql) = &policy.graphql {
        let own = graphql.operations.len();
        lines.push(format!(
            "GraphQL queries by GET and POST, {own} operations with rules of their own"
        ));
    }
    lines
}

/// Describes the compression, if it differs from the default.
fn compressed(compress: Option<&Compress>) -> Option<String> {
    let Some(compress) = compress else {
        return Some("nothing is compressed".to_owned());
    };
    let codings = compress.codings.iter();
    let codings = codings.map(|coding| coding.token()).collect::<Vec<_>>();
    let all = compress.codings == Coding::ALL;
    let personal = if compress.personal {
        ", personal answers too"
    } else {
        ""
    };
    (!all || compress.personal).then(|| format!("compressed in {}{personal}", codings.join(", ")))
}

fn lifetime(lifetime: &Lifetime) -> String {
    let list: Vec<String> = lifetime
        .by_status
        .iter()
        .map(|(pattern, time)| format!("{} for {}", status(*pattern), shown(*time)))
        .collect();
    let list = list.join(", ");
    match (lifetime.mode, list.is_empty()) {
        (_, true) => "lifetimes as the origin says".to_owned(),
        (LifetimeMode::Default, _) => format!("lifetimes as the origin says, else {list}"),
        (LifetimeMode::Static, _) => {
            format!("lifetimes as the origin says, else, and for static types always, {list}")
        }
        (LifetimeMode::Override, _) => format!("lifetimes whatever the origin says: {list}"),
    }
}

fn status(pattern: StatusPattern) -> String {
    match pattern {
        StatusPattern::Any => "any other".to_owned(),
        some => some.to_string(),
    }
}
