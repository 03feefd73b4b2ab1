//! One fetch: chooses a server, makes an attempt, and decides after a failure whether another attempt is safe and
//! allowed.

mod retry;

use crate::{
    Context, Error, Interim, Kind, RequestBody, Sent, Servers,
    balance::{Choice, Chosen},
    body::{ResponseBody, UnderWay},
    exchange::{Attempt, ExchangeAnswer, Failure, Said, Which},
    fastcgi,
    fetch_guard::FetchGuard,
    health::TakenTrial,
    message::{self, RequestFraming, Upgrade},
    pace::Pace,
    peer::{Peer, Serving},
    pool,
    upload::Outgoing,
    waited::Waited,
};
use bytes::Bytes;
use http::{Request, Response, header::EXPECT};
use http_body::Body as _;
use std::{sync::Arc, time::Duration};
use tokio::{
    task::yield_now,
    time::{Instant, timeout},
};

/// How often a fetch looks whether all content has come. Between two looks the listener reads one piece of it, if asked
/// for one.
const LOOKS: usize = 4;

/// A fetch on its way through the attempts.
struct Fetch<'a> {
    origin: &'a Arc<Servers>,
    asked: RequestFraming,
    call: Option<Arc<fastcgi::Call>>,
    hash: u64,
    until: Option<Instant>,
    /// Whether the request may be sent twice.
    repeatable: bool,
    /// The content it is then sent with.
    content: Option<Bytes>,
    /// Whether some of it may have reached a server already.
    sent: Sent,
    interim: Option<Interim>,
    /// When the fetch was asked for.
    began: Instant,
    /// When the attempt under way began, with its server's name resolved. The clock is read once for everything that
    /// happens before the request is out.
    now: Instant,
    /// How long it took to resolve a name for this attempt.
    resolving: Duration,
    /// Servers that are not asked again, by `Peer::number`.
    tried: Vec<u64>,
    /// The trial of the server that is asked, if it was taken for this fetch.
    trial: Option<TakenTrial>,
    /// Further attempts that count against the retry limit.
    retried: u32,
    /// Whether an idle connection closed with the request on it, which may have arrived after all, and another
    /// connection took its place. The same server is then not asked again.
    replaced: bool,
    /// Attempts that the server said it had not begun with (`retry::MOST_LEFT`).
    left: u32,
    /// What the server that is asked has said of it.
    said: Said,
}

/// What the next attempt is made with.
struct Next {
    request: Box<Request<Outgoing>>,
    peer: Arc<Peer>,
    which: Which,
}

/// When a fetch begins, and when all of it must have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) began: Instant,
    pub(crate) until: Option<Instant>,
}

/// Asks the servers.
///
/// What is made of `request` is boxed here, before the first wait, because it passes through each step of each attempt.
pub(crate) fn fetch(
    origin: &Arc<Servers>,
    request: Request<RequestBody>,
    context: Context,
    call: Option<Arc<fastcgi::Call>>,
    bounds: Bounds,
) -> impl Future<Output = Result<Response<ResponseBody>, Error>> {
    let mut request = Box::new(request.map(Outgoing::new));
    // The extensions are the listener's. None of them is meant for hyper's client.
    request.extensions_mut().clear();
    let asked = message::frame(&mut request);
    let fetch = Fetch {
        origin,
        asked,
        call,
        hash: context.hash,
        until: bounds.until,
        repeatable: context.repeatable
            && (context.content.is_some() || request.body().is_end_stream()),
        content: context.content,
        sent: context.sent,
        interim: context.interim,
        began: bounds.began,
        now: bounds.began,
        resolving: Duration::ZERO,
        tried: Vec::new(),
        trial: None,
        retried: 0,
        replaced: false,
        left: 0,
        said: Said::Nothing,
    };
    fetch.answer(request)
}

impl Fetch<'_> {
    async fn answer(
        mut self,
        mut request: Box<Request<Outgoing>>,
    ) -> Result<Response<ResponseBody>, Error> {
        let origin = self.origin;
        if self.asked.upgrade.is_some() && origin.lacks_upgrades() {
            // Before it waits for a turn, or takes the trial of a server.
            if !self.goes_without_upgrade(&mut request) {
                return Err(Error::new(Kind::NoUpgrade));
            }
        }
        if self.asked.content && !request.body().is_end_stream() {
            match origin.uploads.at_once() {
                Some(turn) => request.body_mut().hold(turn),
                None => Box::pin(self.await_upload(&mut request)).await?,
            }
        }
        let pass = if let Some(pass) = origin.gate.at_once() {
            pass
        } else {
            let pass = Box::pin(origin.gate.enter(self.began, self.until)).await?;
            self.now = Instant::now();
            pass
        };
        if self.until.is_some_and(|until| until <= self.now) {
            // Fetches that came together run out of time together: a pass that one of them gives back is no use to the
            // others.
            return Err(Error::new(Kind::QueueTimeout));
        }
        origin.budget.note(origin.at(self.now));
        let attempts = self.attempts(request).await;
        let (answer, serving) =
            attempts.map_err(|error| error.having_sent_if(self.sent.was_sent()))?;
        let waited = self.now.saturating_duration_since(self.began);
        let endless_since = answer.is_endless().then(Instant::now);
        let guard = FetchGuard {
            origin: Arc::clone(origin),
            serving,
            began: self.now,
            pace: Pace::new(&origin.config.timeouts, self.until),
            _pass: endless_since.is_none().then_some(pass),
            endless_since,
            is_judged: false,
        };
        let response = match answer {
            ExchangeAnswer::Direct(response) => Ok(response.map(|mut body| {
                body.hold(guard);
                ResponseBody::direct(body)
            })),
            ExchangeAnswer::Http(response, carried) => Ok(response.map(|incoming| {
                let carried = *carried;
                let under_way = UnderWay { carried, guard };
                ResponseBody::new(incoming, under_way)
            })),
            ExchangeAnswer::FastCgi(arrived, exchange) => {
                fastcgi::answered(arrived, *exchange, guard)
                    .map_err(|error| error.having_sent_if(true))
            }
        }?;
        Ok(Waited::and(response, waited))
    }

    /// Whether the request goes on without the upgrade that it asks for, which is taken off it then.
    fn goes_without_upgrade(&mut self, request: &mut Request<Outgoing>) -> bool {
        let is_optional = self.asked.upgrade == Some(Upgrade::Optional);
        if is_optional {
            self.asked.upgrade = None;
            message::ignore_upgrade(request.headers_mut());
        }
        is_optional
    }

    /// Waits for a turn among uploads when none is free. Needs none once all of the content is here, because no slow
    /// client can delay it then.
    async fn await_upload(&mut self, request: &mut Request<Outgoing>) -> Result<(), Error> {
        // Reading content would tell the client to continue, which only the server may decide.
        let looks = if request.headers().contains_key(EXPECT) {
            0
        } else {
            LOOKS
        };
        let outgoing = request.body_mut();
        for _ in 0..looks {
            if outgoing.take_what_came() {
                return Ok(());
            }
            yield_now().await;
        }
        outgoing.hold(self.origin.uploads.enter(self.began, self.until).await?);
        self.now = Instant::now();
        Ok(())
    }

    /// Makes attempts until one succeeds, or no other may be made.
    async fn attempts(
        &mut self,
        request: Box<Request<Outgoing>>,
    ) -> Result<(ExchangeAnswer, Serving), Error> {
        let peer = self
            .choose()
            .ok_or_else(|| Error::new(Kind::NoHealthyServer))?;
        let mut next = Next {
            request,
            peer,
            which: Which::Any,
        };
        loop {
            if next.peer.is_unknown() {
                next = Box::pin(self.resolve(next)).await?;
                continue;
            }
            let serving = next.peer.serve();
            let was_sent = self.sent.was_sent();
            let attempt = Attempt {
                origin: self.origin,
                peer: serving.peer(),
                asked: self.asked,
                call: self.call.as_ref(),
                which: next.which,
                began: self.now,
                patience: self.patience(),
                said: self.said,
                repeatable: self.repeatable,
                content: self.content.as_ref(),
                interim: self.interim.as_ref(),
                sent: &self.sent,
                until: self.until,
            };
            match attempt.make(next.request).await {
                Ok(answer) => {
                    let switched = answer.is_upgrade();
                    self.origin.note_head(serving.peer(), self.now, switched);
                    return Ok((answer, serving));
                }
                Err(failure) => {
                    if failure.is_unsent() {
                        self.sent.set(was_sent);
                    } else {
                        self.sent.note_unheard();
                    }
                    let peer = Arc::clone(serving.peer());
                    drop(serving);
                    next = self.after(failure, peer, next.which)?;
                }
            }
        }
    }

    /// Finds the addresses of a name that stands for them, and chooses among all servers. If it has none, another
    /// server is asked.
    async fn resolve(&mut self, next: Next) -> Result<Next, Error> {
        let began = Instant::now();
        let resolving = self.origin.roster.resolve(&next.peer.server);
        let resolved = timeout(self.patience(), resolving).await;
        let resolved = resolved.unwrap_or_else(|_| Err(Error::new(Kind::ConnectTimeout)));
        if let Err(error) = resolved {
            let failure = Failure::Unsent {
                request: next.request,
                error: error.at(&next.peer.label),
                was_closing: false,
            };
            return self.after(failure, next.peer, next.which);
        }
        self.now = Instant::now();
        self.resolving += self.now.saturating_duration_since(began);
        let chosen = self.choose();
        let peer = chosen.ok_or_else(|| Error::new(Kind::NoHealthyServer))?;
        Ok(Next { peer, ..next })
    }

    /// Returns the time for connecting, as the attempt begins.
    fn patience(&self) -> Duration {
        let connect = self.origin.config.timeouts.connect;
        let left = connect.saturating_sub(self.resolving);
        match self.until {
            Some(until) => left.min(until.saturating_duration_since(self.now)),
            None => left,
        }
    }

    fn choose(&mut self) -> Option<Arc<Peer>> {
        self.trial = None;
        let peers = self.origin.roster.peers();
        let choice = Choice {
            peers: &peers,
            tried: &self.tried,
            balance: self.origin.config.balance,
            hash: self.hash,
            now: self.origin.at(self.now),
            slow_start: self.origin.config.slow_start,
            rest: self.origin.config.passive.rest,
        };
        if let [only] = choice.peers {
            return choice.allows(only).then(|| Arc::clone(only));
        }
        let chosen = pool::with_weights(&self.origin.identity, |weights| choice.make(weights));
        let Chosen { peer, trial } = chosen?;
        self.trial = trial;
        Some(Arc::clone(peer))
    }
}
