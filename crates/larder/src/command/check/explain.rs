//! Explains the meaning of a configuration in plain words.

mod holds;
mod keyed;
mod matching;

use crate::config::{meant::Config, value::SharedUrl};
use holds::holds;
use matching::matches;
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

fn shown(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}
