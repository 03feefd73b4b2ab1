//! One that asks: a user, or a connection's stream, with its connections, cookies and pauses.

use super::{Worker, cookies::Jar};
use crate::{
    fault::Fault,
    http1::{Answer, Connection},
    http2,
    plan::{Plan, Version},
    shape::Shape,
    site::{Form, One, Request, Two, USER},
    stream::Stream,
};
use bytes::Bytes;
use http::{HeaderName, Method, header};
use std::{
    rc::Rc,
    time::{Duration, Instant},
};
use tokio::{
    task::spawn_local,
    time::{sleep_until, timeout_at},
};

/// Who was refused does not ask again before this time has gone by since it last asked: a loop of refusals measures nothing.
const REST: Duration = Duration::from_millis(50);

/// The way to a server.
#[derive(Debug)]
enum Lane {
    /// HTTP/1.1, on a connection of one's own; none while it is not open.
    One(Option<Connection>),
    /// HTTP/2, on a connection that may be shared.
    Two(Rc<http2::Lane>),
}

/// One that asks.
struct User {
    worker: Rc<Worker>,
    /// Its place among the worker's.
    seat: usize,
    /// Its number among all.
    number: u64,
    lanes: Vec<Lane>,
    jar: Jar,
}

/// Starts all askers of a worker.
pub(super) fn start_all(worker: &Rc<Worker>) {
    let plan = &worker.common.plan;
    let (workers, per_lane) = (plan.threads(), plan.per_lane());
    let origins = plan.site.origins.len();
    let mut shared: Vec<Rc<http2::Lane>> = Vec::new();
    for seat in 0..worker.flights.len() {
        if seat % per_lane == 0 {
            shared = (0..origins).map(|_| Rc::default()).collect();
        }
        let lanes = match plan.version {
            Version::One => (0..origins).map(|_| Lane::One(None)).collect(),
            Version::Two => shared.iter().cloned().map(Lane::Two).collect(),
        };
        let lane = seat / per_lane * workers + worker.index;
        let user = User {
            worker: Rc::clone(worker),
            seat,
            number: (lane * per_lane + seat % per_lane) as u64,
            lanes,
            jar: Jar::default(),
        };
        spawn_local(user.live());
    }
}

impl User {
    async fn live(mut self) {
        let worker = Rc::clone(&self.worker);
        let plan = &worker.common.plan;
        match plan.shape {
            Shape::Closed { .. } => self.closed().await,
            Shape::Users { users, ramp, pause } => {
                let share = |of: Duration| of.mul_f64(ratio(self.number, users));
                let begin = worker.common.begin + share(ramp);
                sleep_until(begin.into()).await;
                self.rested(pause).await;
            }
            Shape::Open { .. } => self.open().await,
        }
        worker.askers.set(worker.askers.get() - 1);
    }

    /// Asks again and again, on a connection that is open before the first request.
    async fn closed(&mut self) {
        let worker = Rc::clone(&self.worker);
        worker.users.set(worker.users.get() + 1);
        if worker.common.plan.keep_alive {
            self.prepare().await;
        }
        while self.ask_when_allowed().await {}
        worker.users.set(worker.users.get() - 1);
    }

    /// Asks, and rests up to `pause` before it asks again.
    async fn rested(&mut self, pause: Duration) {
        let worker = Rc::clone(&self.worker);
        worker.users.set(worker.users.get() + 1);
        while self.ask_when_allowed().await {
            if !pause.is_zero() {
                let rest = pause.mul_f64(worker.random.borrow_mut().f64());
                tokio::time::sleep(rest).await;
            }
        }
        worker.users.set(worker.users.get() - 1);
    }

    /// Asks what is due.
    async fn open(&mut self) {
        let worker = Rc::clone(&self.worker);
        while let Some(due) = worker.queue.next().await {
            self.ask(due).await;
        }
    }

    /// Asks once, if the run has requests left, when the rate allows it.
    async fn ask_when_allowed(&mut self) -> bool {
        if !self.worker.permit() {
            return false;
        }
        if let Some(pace) = &self.worker.pace {
            let moment = pace.next(Instant::now());
            sleep_until(moment.into()).await;
        }
        let began = Instant::now();
        if !self.ask(began).await {
            sleep_until((began + REST).into()).await;
        }
        true
    }

    /// One request, whose latency counts from `began`. Whether an answer came.
    async fn ask(&mut self, began: Instant) -> bool {
        let worker = Rc::clone(&self.worker);
        let plan = &worker.common.plan;
        let Some(request) = plan.site.requests.get(worker.pick()) else {
            return false;
        };
        let flight = worker.flights.get(self.seat);
        if let Some(flight) = flight {
            flight.set(Some(began));
        }
        let result = self.exchange(request).await;
        if let Some(flight) = flight {
            flight.set(None);
        }
        let now = Instant::now();
        let mut tally = worker.tally.borrow_mut();
        tally.last = now.saturating_duration_since(worker.common.begin);
        match result {
            Ok(answer) => {
                tally.answer(&answer, now.saturating_duration_since(began));
                for line in &answer.cookies {
                    self.jar.set(request.origin, line);
                }
                true
            }
            Err(fault) => {
                tally.fault(fault);
                false
            }
        }
    }

    /// Opens the first server's connection. Whether that fails shows when it is asked.
    async fn prepare(&mut self) {
        let plan = Rc::clone(&self.worker);
        let plan = &plan.common.plan;
        match self.lanes.first() {
            Some(Lane::One(None)) => {
                if let Ok(opened) = self.connect(0).await {
                    let connection = Connection::new(opened, plan.cookies);
                    if let Some(lane) = self.lanes.first_mut() {
                        *lane = Lane::One(Some(connection));
                    }
                }
            }
            Some(Lane::Two(lane)) => {
                let lane = Rc::clone(lane);
                let _ = self.sender(&lane, 0).await;
            }
            _ => (),
        }
    }

    async fn exchange(&mut self, request: &Request) -> Result<Answer, Fault> {
        let worker = Rc::clone(&self.worker);
        let plan = &worker.common.plan;
        match (self.lanes.get_mut(request.origin), &request.form) {
            (Some(Lane::Two(lane)), Form::Two(two)) => {
                let lane = Rc::clone(lane);
                self.exchange_two(&lane, request, two, plan).await
            }
            (Some(Lane::One(kept)), Form::One(one)) => {
                let mut kept = kept.take();
                if let Some(connection) = &mut kept
                    && connection.is_stale(&worker.scratch).await
                {
                    kept = None;
                }
                let mut connection = if let Some(connection) = kept {
                    connection
                } else {
                    let opened = self.connect(request.origin).await?;
                    Connection::new(opened, plan.cookies)
                };
                let head = self.head(request, one);
                let to_head = request.method == Method::HEAD;
                let deadline = (Instant::now() + plan.timeout).into();
                let exchange =
                    connection.exchange([&head, &one.rest], to_head, deadline, &worker.scratch);
                let answer = exchange.await?;
                if plan.keep_alive
                    && !answer.closes
                    && let Some(Lane::One(kept)) = self.lanes.get_mut(request.origin)
                {
                    *kept = Some(connection);
                }
                Ok(answer)
            }
            // A lane and its requests are made for one version; there is no server without a lane.
            _ => Err(Fault::UnknownHost),
        }
    }

    async fn exchange_two(
        &mut self,
        lane: &http2::Lane,
        request: &Request,
        two: &Two,
        plan: &Plan,
    ) -> Result<Answer, Fault> {
        let sender = self.sender(lane, request.origin).await?;
        let message = http2::message(request, two, &self.own(request));
        let deadline = (Instant::now() + plan.timeout).into();
        let answer = http2::exchange(sender, message, plan.cookies, deadline).await;
        if !plan.keep_alive {
            lane.close();
        }
        answer
    }

    /// The way to send on a shared connection, which is opened where it is not open.
    async fn sender(
        &self,
        lane: &http2::Lane,
        origin: usize,
    ) -> Result<hyper::client::conn::http2::SendRequest<http_body_util::Full<Bytes>>, Fault> {
        if let Some(sender) = lane.sender() {
            return Ok(sender);
        }
        // Those who wait for one that fails to open it must not wait for each other as well.
        let deadline = Instant::now() + self.worker.common.plan.timeout;
        let turn = timeout_at(deadline.into(), lane.turn()).await;
        let _turn = turn.map_err(|_| Fault::ConnectTimeout)?;
        if let Some(sender) = lane.sender() {
            return Ok(sender);
        }
        let stream = timeout_at(deadline.into(), self.connect(origin)).await;
        let stream = stream.map_err(|_| Fault::ConnectTimeout)??;
        lane.begin(stream, deadline.into()).await
    }

    async fn connect(&self, origin: usize) -> Result<Stream, Fault> {
        let worker = &self.worker;
        let plan = &worker.common.plan;
        let origin = plan.site.origins.get(origin).ok_or(Fault::UnknownHost)?;
        let began = Instant::now();
        let stream = Stream::open(origin, &plan.tls, &worker.traffic, plan.timeout).await?;
        let mut tally = worker.tally.borrow_mut();
        tally.opened += 1;
        tally.connecting.record(began.elapsed());
        let agreed = &worker.common.agreed;
        if agreed.get().is_none()
            && let Some(found) = stream.agreed()
        {
            // Another worker may have been faster: one word is as good as the other.
            let _ = agreed.set(found);
        }
        Ok(stream)
    }

    /// The head as bytes, with the fields that are this user's own, and what is written with it.
    fn head(&self, request: &Request, one: &One) -> Bytes {
        let own = self.own(request);
        if own.is_empty() {
            return one.head.clone();
        }
        let (common, rest) = one.head.split_at_checked(one.common).unwrap_or_default();
        let mut bytes = common.to_vec();
        for (name, value) in own {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(rest);
        bytes.into()
    }

    /// The fields of a request that are this user's own: its number filled in, its cookies in one line.
    fn own(&self, request: &Request) -> Vec<(HeaderName, String)> {
        let mut own: Vec<_> = request
            .own
            .iter()
            .map(|(name, value)| (name.clone(), value.replace(USER, &self.number.to_string())))
            .collect();
        if self.worker.common.plan.cookies {
            let given = own.iter().position(|(name, _)| name == header::COOKIE);
            let given = given.map(|at| own.swap_remove(at).1);
            if let Some(cookies) = self.jar.field(request.origin, given.as_deref()) {
                own.push((header::COOKIE, cookies));
            }
        }
        own
    }
}

/// When in a ramp a user comes: the first at once, the last at its end.
fn ratio(number: u64, users: usize) -> f64 {
    // Nobody has so many users that a float does not count them.
    #[allow(clippy::cast_precision_loss)]
    let ratio = number as f64 / users.saturating_sub(1).max(1) as f64;
    ratio
}
