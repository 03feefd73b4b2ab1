//! Who may purge, and how purges are kept.

use super::{Sink, settings::values};
use crate::config::{
    Fault,
    value::{At, PathStart, PeerUrl, SecretField, SecretValue, SharedUrl, TagField, Text, quoted},
    written,
};
use http::{HeaderName, HeaderValue, StatusCode};
use proxy::policy::{PurgePolicy, Refetch};
use std::{ops::Range, path::PathBuf};

/// The shortest secret. Guesses are limited only by the speed of the network.
const SHORTEST_SECRET: usize = 8;

/// Purging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// Who may purge on the listeners, and how.
    pub policy: PurgePolicy,
    /// Directory in which purges are recorded. `None`: that of the disk tier, or nowhere.
    pub log: Option<PathBuf>,
    /// Whether a purge is acknowledged only once it would survive a power loss.
    pub durable: bool,
    /// What is fetched again after a soft purge. `None`: nothing.
    pub refresh: Option<Refetch>,
    /// Admin addresses of the nodes to which purges are sent on.
    pub peers: Vec<PeerUrl>,
}

pub(super) fn build(written: &written::Config, sink: &mut Sink<'_>) -> Purge {
    let none = written::Purge::default();
    let table = written.purge.as_ref().unwrap_or(&none);
    lasting(table, written.disk.is_some(), sink);
    peers(table, written.shared.as_ref(), sink);
    list(table, sink);
    Purge {
        policy: policy(table, sink),
        log: table.log.as_ref().map(|log| log.value.clone()),
        durable: table.durable.as_ref().is_none_or(|durable| durable.value),
        refresh: table
            .refresh
            .as_ref()
            .map(|refresh| self::refresh(refresh, sink)),
        peers: values(table.peers.as_ref()),
    }
}

fn policy(table: &written::Purge, sink: &mut Sink<'_>) -> PurgePolicy {
    let PurgePolicy { allow, .. } = PurgePolicy::default();
    let start = |text: &Text<PathStart>| {
        let PathStart(start) = &text.value;
        start.clone()
    };
    let secret = table.secret.as_ref();
    let tags = values(table.pass_tags.as_ref()).into_iter();
    PurgePolicy {
        allow: table
            .allow
            .as_ref()
            .map_or(allow, |list| values(Some(list))),
        secret: secret.and_then(|secret| self::secret(secret, sink)),
        pass_tags: tags.map(|TagField(name)| name).collect(),
        missed: table
            .miss_status
            .as_ref()
            .map_or(StatusCode::OK, |status| status.value.0.0),
        get_prefix: table.get_prefix.as_ref().map(start),
        souin: table.souin.as_ref().map(start),
    }
}

fn lasting(table: &written::Purge, has_disk: bool, sink: &mut Sink<'_>) {
    if let Some(log) = &table.log
        && log.value.as_os_str().is_empty()
    {
        sink.push(
            Fault::at(&log.span, "the path is empty").instead("write `log = \"/var/lib/larder\"`"),
        );
    }
    if let (Some(durable), None, false) = (&table.durable, &table.log, has_disk) {
        sink.missing_under(
            &["disk"],
            &["log", "disk"],
            Fault::at(
                &durable.span,
                "`durable` has no effect: purges are not kept on disk",
            )
            .instead("add `log = \"/var/lib/larder\"` or a table `[disk]`"),
        );
    }
}

fn peers(table: &written::Purge, shared: Option<&At<written::Shared>>, sink: &mut Sink<'_>) {
    let url = shared.and_then(|shared| shared.value.url.as_ref());
    let Some(url) = url.filter(|url| SharedUrl::carries_purges(&url.value)) else {
        return;
    };
    if let Some(peers) = &table.peers {
        let what = format!(
            "nodes get purges through {}: `peers` has no effect",
            url.value.shown()
        );
        sink.push(Fault::at(&peers.span, what).instead("leave `peers` out"));
    }
}

/// Reports a path of Souin's API that lies below the beginning of paths that purge.
fn list(table: &written::Purge, sink: &mut Sink<'_>) {
    let (Some(prefix), Some(souin)) = (&table.get_prefix, &table.souin) else {
        return;
    };
    let (PathStart(start), PathStart(path)) = (&prefix.value, &souin.value);
    let fault = |what| {
        let fault = Fault::at(&souin.span, what).beside(Some(&prefix.span));
        fault.instead("choose another path for one of them")
    };
    match path.strip_prefix(start.as_str()) {
        Some("") => sink.warn(fault(format!(
            "the same path as `get_prefix`: `GET {path}` would list what is stored, `GET {path}/…` would purge"
        ))),
        Some(below) if below.starts_with('/') => sink.push(fault(format!(
            "`GET {path}` would not list what is stored: it would purge `{below}`, as `get_prefix` says"
        ))),
        _ => {}
    }
}

fn secret(written: &At<written::Secret>, sink: &mut Sink<'_>) -> Option<(HeaderName, HeaderValue)> {
    let At { value: table, span } = written;
    if table.header.is_none() || table.value.is_none() {
        sink.missing(
            &["header", "value"],
            Fault::at(span, "a secret needs a `header` and a `value`")
                .instead("write `secret = { header = \"X-Purge-Key\", value = \"…\" }`"),
        );
    }
    let Text {
        value: SecretValue(value),
        span,
    } = table.value.as_ref()?;
    unusable(value, span, sink);
    let mut value = value.clone();
    // Keeps it out of logs.
    value.set_sensitive(true);
    let SecretField(name) = table.header.as_ref()?.value.clone();
    Some((name, value))
}

/// Reports a secret that anybody could guess, or that no client can send.
fn unusable(secret: &HeaderValue, span: &Range<usize>, sink: &mut Sink<'_>) {
    let sent = secret.as_bytes().trim_ascii();
    let is_short = sent.len() < SHORTEST_SECRET;
    // Whoever reads a field takes them off (RFC 9110 section 5.5).
    let what = if sent.len() < secret.len() {
        "a header has no spaces at the ends of its value: no client could send this secret"
    } else if is_short {
        "the secret is too easy to guess"
    } else {
        return;
    };
    let instead = if is_short {
        format!("at least {SHORTEST_SECRET} characters, chosen at random")
    } else {
        format!("write `value = {}`", quoted(&String::from_utf8_lossy(sent)))
    };
    sink.push(Fault::at(span, what).instead(instead));
}

fn refresh(written: &written::Refresh, sink: &mut Sink<'_>) -> Refetch {
    let most = sink.bounded("most", written.most.as_ref(), 100);
    Refetch {
        most: most as usize,
        rate: sink.bounded("rate", written.rate.as_ref(), 10),
    }
}
