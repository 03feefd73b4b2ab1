//! What follows a failed attempt: another attempt, or the end of the fetch.

use super::{Fetch, Next};
use crate::{
    Error, Kind,
    exchange::{Failure, Said, Which, wants_http1, was_left},
    peer::Peer,
    upload::Outgoing,
};
use http::Request;
use rules::method::is_safe;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How many connections in a row may go away without having begun with the request, before that counts as a failure of
/// the server.
const MOST_LEFT: u32 = 4;

impl Fetch<'_> {
    /// Decides what follows a failed attempt at `peer`.
    ///
    /// A request that was never sent may always go to a server not yet asked. A request that may have been sent is sent
    /// again only if it is repeatable (RFC 9110 section 9.2.2), within `Retry`. A reused connection that turns out to
    /// be closing is nobody's fault: the same server gets a new connection, once, unless the checks have taken it out
    /// meanwhile. This costs nothing, unless the request may have been sent on the old one and is not safe: then it may
    /// have been carried out, and this is one of its attempts. A refusal on an HTTP/2 connection costs nothing: the server
    /// is asked once more, on another. If it wants the request over HTTP/1.1, it gets it so if it may speak that.
    pub(super) fn after(
        &mut self,
        failure: Failure,
        peer: Arc<Peer>,
        which: Which,
    ) -> Result<Next, Error> {
        let began = self.now;
        self.now = Instant::now();
        let took = self.now.saturating_duration_since(began);
        self.resolving = Duration::ZERO;
        let may_stay = !peer.health.is_down();
        match failure {
            Failure::Unsent {
                request,
                was_closing,
                error,
            } if may_stay && was_closing && self.may_move(which, &error) => Ok(Next {
                request,
                peer,
                which: Which::New,
            }),
            Failure::Refused { request, by, .. } if may_stay && self.said == Said::Nothing => {
                self.said = Said::Refused { by };
                Ok(Next {
                    request,
                    peer,
                    which: Which::New,
                })
            }
            Failure::Unsent { request, error, .. } | Failure::Refused { request, error, .. } => {
                self.go_on(request, error, peer)
            }
            Failure::Sent {
                error,
                again: Some(request),
                ..
            } if may_stay && self.may_speak_http1() && wants_http1(&error) => {
                self.said = Said::WantsHttp1;
                Ok(Next {
                    request,
                    peer,
                    which: Which::New,
                })
            }
            Failure::Sent {
                error,
                was_closing,
                again,
            } if may_stay && was_closing && which == Which::Any => self.replace(error, again, peer),
            Failure::Sent { error, again, .. } => self.retry(error, again, peer, took),
        }
    }

    /// Whether the same server gets another connection, because the one that closed was nobody's fault. A new one
    /// may have gone away without the request too: some servers end each connection after a number of requests.
    fn may_move(&mut self, which: Which, error: &Error) -> bool {
        self.left += u32::from(was_left(error));
        which == Which::Any || was_left(error) && self.left < MOST_LEFT
    }

    /// Continues on a new connection to `peer` after a reused one closed on which the request may have been sent.
    fn replace(
        &mut self,
        error: Error,
        again: Option<Box<Request<Outgoing>>>,
        peer: Arc<Peer>,
    ) -> Result<Next, Error> {
        let Some(request) = again else {
            return Err(error);
        };
        if !is_safe(request.method()) {
            if !self.has_attempts() {
                return Err(error);
            }
            self.retried += 1;
        }
        self.replaced = true;
        Ok(Next {
            request,
            peer,
            which: Which::New,
        })
    }

    /// Continues after a failure at `peer` of a request that was never sent.
    fn go_on(
        &mut self,
        mut request: Box<Request<Outgoing>>,
        error: Error,
        peer: Arc<Peer>,
    ) -> Result<Next, Error> {
        let kind = error.kind();
        let may_stay = self.may_be_for_upgrade(kind) && !peer.health.is_down();
        if may_stay && self.goes_without_upgrade(&mut request) {
            return Ok(Next {
                request,
                peer,
                which: Which::Any,
            });
        }
        if kind == Kind::NoSocket {
            self.origin.refuse(&error);
        }
        if kind == Kind::Configuration || !kind.is_the_servers() {
            return Err(error);
        }
        self.blame(&peer, &error);
        match self.other() {
            Some(peer) => Ok(Next {
                request,
                peer,
                which: Which::Any,
            }),
            None => Err(error),
        }
    }

    /// Continues after a failure of a request that may have been sent, and may be sent `again`. The attempt `took` that
    /// long.
    fn retry(
        &mut self,
        error: Error,
        again: Option<Box<Request<Outgoing>>>,
        peer: Arc<Peer>,
        took: Duration,
    ) -> Result<Next, Error> {
        let kind = error.kind();
        if !kind.is_the_servers() {
            return Err(error);
        }
        if self.is_to_blame(kind, took) {
            self.blame(&peer, &error);
        } else {
            self.tried.push(peer.number);
        }
        let rule = self.origin.config.retry;
        let Some(request) = again else {
            return Err(error);
        };
        if !may_retry(kind) || !self.has_attempts() {
            return Err(error);
        }
        let budget = &self.origin.budget;
        // Asked before a server is chosen, which may take its trial.
        if !budget.has_room(self.origin.at(self.now), rule.percent) {
            return Err(error);
        }
        // Another server, or the same one once more if it only hung up (for example because one of its workers was
        // restarted). A retry that fails is not tried again there (RFC 9110 section 9.2.2).
        let hung_up = kind == Kind::Truncated && !self.replaced;
        let same = (hung_up && !peer.health.is_down()).then_some(peer);
        let Some(peer) = self.other().or(same) else {
            return Err(error);
        };
        budget.spend();
        self.retried += 1;
        Ok(Next {
            request,
            peer,
            which: Which::New,
        })
    }

    /// Whether a request that may have been sent already may be sent again.
    fn has_attempts(&self) -> bool {
        self.retried < self.origin.config.retry.attempts
    }

    /// Whether a server is to blame that failed like this in an attempt that took this long. If the whole time has run
    /// out, it is to blame only if it had at least half of it: the time in our own queue, or with other servers, is not
    /// its fault.
    fn is_to_blame(&self, kind: Kind, took: Duration) -> bool {
        let Some(until) = self.until.filter(|_| kind == Kind::WholeTimeout) else {
            return true;
        };
        took >= until.saturating_duration_since(self.began) / 2
    }

    /// Whether a connection may have failed only because the request asks for an upgrade, so that HTTP/1.1 alone was
    /// offered. A server that does not speak it should say so (RFC 7301 section 3.2), but some just end the handshake.
    fn may_be_for_upgrade(&self, kind: Kind) -> bool {
        let had_choice = kind == Kind::Tls && self.origin.may_share();
        self.asked.upgrade.is_some() && (had_choice || kind == Kind::NoUpgrade)
    }

    /// Leaves a server, which counts as failed if it is to blame.
    fn blame(&mut self, peer: &Peer, error: &Error) {
        let kind = error.kind();
        if self.may_be_for_upgrade(kind) {
            if let Some(trial) = self.trial.take() {
                self.origin.leave_untried(peer, trial);
            }
        } else if kind.is_a_failure() {
            self.origin.blame(peer, error);
        }
        self.tried.push(peer.number);
    }

    /// Whether a server that spoke HTTP/2 may speak HTTP/1.1 instead.
    fn may_speak_http1(&self) -> bool {
        self.said != Said::WantsHttp1 && !self.origin.config.protocol.is_http2()
    }

    fn other(&mut self) -> Option<Arc<Peer>> {
        self.said = Said::Nothing;
        let in_time = self.until.is_none_or(|until| self.now < until);
        if in_time { self.choose() } else { None }
    }
}

/// Whether another server may do better after such a failure.
fn may_retry(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Tls
            | Kind::Truncated
            | Kind::FirstByteTimeout
            | Kind::Malformed
            | Kind::UnaskedSwitch
            | Kind::Protocol
            | Kind::HeadTooLarge
    )
}
