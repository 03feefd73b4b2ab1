//! Tasks that run beside the fetches: active health checks, and resolving names again.

use crate::{
    Error, Sent, Servers,
    config::{ActiveHealth, Protocol},
    exchange::{Attempt, ExchangeAnswer, Said, Which, wants_http1},
    fastcgi::{self, Complaints},
    message,
    peer::{Configured, Peer},
    upload::Outgoing,
};
use http::{HeaderValue, Request, Uri, header::HOST};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{Instant, Interval, MissedTickBehavior, interval, timeout, timeout_at},
};

/// The log's words for a check that took too long.
const LATE: &str = "no answer in time";

/// Watches over all servers until dropped.
pub(crate) async fn keep(origin: Arc<Servers>) {
    let mut tasks = JoinSet::new();
    if let Protocol::FastCgi(_) = origin.config.protocol {
        let origin = Arc::clone(&origin);
        tasks.spawn_local(async move { Complaints::write(&origin).await });
    }
    for server in origin.roster.servers() {
        if server.name.is_some() {
            tasks.spawn_local(resolve(Arc::clone(&origin), Arc::clone(server)));
        }
    }
    if let Some(rule) = &origin.config.active {
        tasks.spawn_local(check_all(Arc::clone(&origin), rule.clone()));
    }
    // The tasks end with this set, which is dropped with this future.
    while tasks.join_next().await.is_some() {}
}

/// Ticks at once and then every `period`, without making up for missed ticks.
fn every(period: Duration) -> Interval {
    // tokio panics on a period of zero.
    let mut ticks = interval(period.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Resolves a server's name at intervals. A failure is logged once, and so is its end.
async fn resolve(origin: Arc<Servers>, server: Arc<Configured>) {
    let mut ticks = every(origin.config.resolve_every);
    let mut fails = false;
    loop {
        ticks.tick().await;
        let refreshed = origin.roster.refresh(&server).await;
        let has_failed = std::mem::replace(&mut fails, refreshed.is_err());
        let (name, label) = (origin.name(), &server.label);
        match refreshed {
            Err(error) if !has_failed && origin.roster.knows(&server) => {
                tracing::warn!(origin = name, server = %label, %error, "name not resolved; last addresses kept");
            }
            Err(error) if !has_failed => {
                tracing::warn!(origin = name, server = %label, %error, "name not resolved, and no address is known");
            }
            Ok(()) if has_failed => {
                tracing::info!(origin = name, server = %label, "name resolved again");
            }
            Err(_) | Ok(()) => {}
        }
    }
}

/// Checks all servers. Each address of a name is checked separately.
async fn check_all(origin: Arc<Servers>, rule: ActiveHealth) {
    let mut checks = JoinSet::new();
    let mut checked = BTreeSet::new();
    loop {
        let peers = origin.roster.peers().to_vec();
        let known: BTreeSet<u64> = peers.iter().map(|peer| peer.number).collect();
        for peer in peers {
            if !checked.contains(&peer.number) {
                checks.spawn_local(check(Arc::clone(&origin), peer, rule.clone()));
            }
        }
        checked = known;
        origin.roster.changed().await;
        // The checks of servers that are gone have ended, or soon will.
        while checks.try_join_next().is_some() {}
    }
}

/// Checks one server at intervals, as long as it belongs to the origin. Takes it out after enough failures in a row,
/// and brings it back after enough good answers.
async fn check(origin: Arc<Servers>, peer: Arc<Peer>, rule: ActiveHealth) {
    let mut ticks = every(rule.every);
    let (mut good, mut bad) = (0_u32, 0_u32);
    loop {
        ticks.tick().await;
        if !origin.roster.has(&peer) {
            return;
        }
        let failed = probe(&origin, &peer, &rule).await.err();
        let (origin_name, server) = (origin.name(), &peer.label);
        let failed = match failed {
            Some(Unfit::Unasked) => continue,
            Some(Unfit::Bad(why) | Unfit::WantsHttp1(why)) => Some(why),
            None => None,
        };
        (good, bad) = match &failed {
            None => (good.saturating_add(1), 0),
            Some(error) => {
                tracing::debug!(origin = origin_name, %server, error, "health check failed");
                (0, bad.saturating_add(1))
            }
        };
        if bad >= rule.unhealthy_after.max(1) && peer.health.mark_down() {
            tracing::warn!(origin = origin_name, %server, error = failed, "server is down");
        }
        if good >= rule.healthy_after.max(1) && peer.health.mark_up(origin.now()) {
            tracing::info!(origin = origin_name, %server, "server is back");
        }
    }
}

/// Why a check got no good answer.
enum Unfit {
    /// The server is not fit, for this reason.
    Bad(String),
    /// It wants to be asked over HTTP/1.1 (RFC 9113 section 7). These are the words for the log.
    WantsHttp1(String),
    /// The check says nothing about the server: this machine could not ask.
    Unasked,
}

impl From<String> for Unfit {
    fn from(why: String) -> Self {
        Self::Bad(why)
    }
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Self {
        if wants_http1(&error) {
            Self::WantsHttp1(error.to_string())
        } else if error.kind().is_the_servers() {
            Self::Bad(error.to_string())
        } else {
            Self::Unasked
        }
    }
}

/// Sends one check on a connection of its own, so that connecting is checked too.
async fn probe(origin: &Servers, peer: &Arc<Peer>, rule: &ActiveHealth) -> Result<(), Unfit> {
    if peer.is_unknown() {
        let resolved = timeout(rule.timeout, origin.roster.resolve(&peer.server)).await;
        return resolved.map_err(|_| LATE.to_owned())?.map_err(Unfit::from);
    }
    let began = Instant::now();
    let mut answered = ask(origin, peer, rule, (Said::Nothing, began)).await;
    let may_speak_http1 = !origin.config.protocol.is_http2();
    if matches!(&answered, Err(Unfit::WantsHttp1(_))) && may_speak_http1 {
        answered = ask(origin, peer, rule, (Said::WantsHttp1, began)).await;
    }
    let status = answered?;
    if rule.status.contains(&status) {
        return Ok(());
    }
    Err(format!("status {status}").into())
}

/// Asks for the status of one answer, over HTTP/1.1 if that is what the server has `said`, within the limit of a check
/// that `began` then.
async fn ask(
    origin: &Servers,
    peer: &Arc<Peer>,
    rule: &ActiveHealth,
    (said, began): (Said, Instant),
) -> Result<u16, Unfit> {
    let mut request = Request::new(Outgoing::empty());
    *request.uri_mut() = rule
        .path
        .parse::<Uri>()
        .map_err(|cause| cause.to_string())?;
    let host = rule.host.as_deref().unwrap_or_else(|| peer.host());
    let host = HeaderValue::from_str(host).map_err(|cause| cause.to_string())?;
    request.headers_mut().insert(HOST, host);
    let call = match &origin.config.protocol {
        Protocol::FastCgi(cgi) => Some(fastcgi::probe(origin, cgi, &request).await?),
        _ => None,
    };
    let asked = message::frame(&mut request);
    let attempt = Attempt {
        origin,
        peer,
        asked,
        call: call.as_ref(),
        which: Which::Alone,
        began: Instant::now(),
        // Of two addresses the first gets half of this. The other must get its own half before the check is given up.
        patience: origin.config.timeouts.connect.min(rule.timeout),
        said,
        repeatable: false,
        content: None,
        interim: None,
        sent: &Sent::default(),
        until: None,
    };
    let answer = timeout_at(began + rule.timeout, attempt.make(Box::new(request)))
        .await
        .map_err(|_| LATE.to_owned())?
        .map_err(|failure| Unfit::from(failure.into_error()))?;
    Ok(match &answer {
        ExchangeAnswer::Direct(response) => response.status().as_u16(),
        ExchangeAnswer::Http(response, _) => response.status().as_u16(),
        ExchangeAnswer::FastCgi(arrived, _) => arrived.status().as_u16(),
    })
}

#[cfg(test)]
mod tests;
