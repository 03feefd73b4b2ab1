//! Explains the meaning of a configuration in plain words.

mod keyed;
mod matching;

use crate::config::{meant::Config, value::SharedUrl};
use keyed::{edited, keyed, passed};
use matching::{expression, field, matches, named, path};
use proxy::policy::{
    BypassRules, Compress, Esi, Lifetime, LifetimeMode, NamePattern, Policy, StatusPattern,
};
use rules::{coding::Coding, storable::SetCookie};
use std::{
    io::{self, Write},
    time::Duration,
};

/// Writes what is kept where, who may purge, and the policy of each route.
pub(super) fn write(config: &Config, out: &mut impl Write) -> io::Result<()> {
    tiers(config, out)?;
    purging(config, out)?;
    for (number, route) in config.site.routes.iter().enumerate() {
        writeln!(
            out,
            "\n{}. {}: {}",
            number + 1,
            route.name,
            matches(&route.matcher)
        )?;
        for line in holds(&route.policy) {
            writeln!(out, "   {line}")?;
        }
    }
    Ok(())
}

/// Writes the configuration that presets stand for: it means the same without them.
pub(super) fn presets(plain: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let Some(plain) = plain else {
        return Ok(());
    };
    writeln!(
        out,
        "\n# Without presets: this in place of `[defaults]` and every `[[route]]` means the same.\n\n{plain}"
    )
}

/// Describes the tiers below memory.
fn tiers(config: &Config, out: &mut impl Write) -> io::Result<()> {
    if let Some(disk) = &config.disk {
        let size = bytesize::ByteSize(disk.size).display().iec();
        writeln!(out, "\non disk: {size} at most in {}", disk.path.display())?;
        if let Some(rate) = disk.write_rate {
            let rate = bytesize::ByteSize(rate).display().iec();
            writeln!(out, "   written at {rate} a second at most")?;
        }
    }
    if let Some(shared) = &config.shared {
        let url = SharedUrl(shared.url.clone());
        writeln!(out, "\nshared with other nodes: {}", url.shown())?;
        writeln!(
            out,
            "   this node is {}, keys begin with {}",
            shared.node, shared.prefix
        )?;
        writeln!(
            out,
            "   no request waits longer than {} for it",
            shown(shared.timeout)
        )?;
        let body = bytesize::ByteSize(shared.largest_body).display().iec();
        writeln!(
            out,
            "   bodies up to {body}, for {} at most",
            shown(shared.max_ttl)
        )?;
        if url.carries_purges() {
            let trust = shown(shared.trust);
            writeln!(
                out,
                "   purges go to all nodes; after {trust} without news, stored responses are validated"
            )?;
        }
    }
    Ok(())
}

fn purging(config: &Config, out: &mut impl Write) -> io::Result<()> {
    let purge = &config.purge;
    let list = |list: Vec<String>| {
        if list.is_empty() {
            "nobody".to_owned()
        } else {
            list.join(", ")
        }
    };
    let allowed = list(purge.policy.allow.iter().map(ToString::to_string).collect());
    writeln!(out, "\npurging on the listeners: {allowed}")?;
    if let Some((name, _)) = &purge.policy.secret {
        writeln!(out, "   and every client that sends the secret in {name}")?;
    }
    let kept = purge
        .log
        .as_ref()
        .or(config.disk.as_ref().map(|disk| &disk.path));
    match kept {
        Some(path) if purge.durable => writeln!(
            out,
            "   a purge is acknowledged when it is safe in {}",
            path.display()
        )?,
        Some(path) => writeln!(
            out,
            "   purges are written to {} after they are acknowledged",
            path.display()
        )?,
        None => writeln!(
            out,
            "   purges are not remembered over a restart, and neither is what is stored here"
        )?,
    }
    if let Some(prefix) = &purge.policy.get_prefix {
        writeln!(out, "   GET {prefix}/… purges the path that follows")?;
    }
    if let Some(refresh) = &purge.refresh {
        writeln!(
            out,
            "   after a soft purge, the {} busiest URLs are fetched again, {} a second",
            refresh.most, refresh.rate
        )?;
    }
    if !purge.peers.is_empty() {
        let peers = list(purge.peers.iter().map(ToString::to_string).collect());
        writeln!(out, "   purges are sent on to {peers}")?;
    }
    Ok(())
}

fn holds(policy: &Policy) -> Vec<String> {
    if let Some(status) = policy.refuses {
        return vec![format!("refused with {}", status.as_u16())];
    }
    let mut lines = vec![format!("answered by {}", policy.origin.name())];
    let mut say = |text: String| lines.push(text);
    if policy.redirect_https {
        say("http requests are redirected to https".to_owned());
    }
    if let Some(host) = &policy.host {
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
    if let Some(time) = policy.browser_ttl {
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
    let windows = [
        (stale.while_revalidate, "while it is refreshed"),
        (stale.if_error, "when the origin answers with an error"),
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
        StatusPattern::Exact(code) => code.to_string(),
        StatusPattern::Class(digit) => format!("{digit}xx"),
        StatusPattern::Any => "any other".to_owned(),
    }
}

fn shown(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}
