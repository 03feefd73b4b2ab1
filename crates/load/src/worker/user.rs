//! An asker: a user, or a connection's stream, with its connections, cookies and pauses.

mod lane;
mod own;

use super::Worker;
use crate::{cookies::Jar, http2, plan::Version, shape::Shape};
use lane::Lane;
use std::{
    rc::Rc,
    time::{Duration, Instant},
};
use tokio::{task::spawn_local, time::sleep_until};

/// After a refusal, the least time between the last request and the next: a loop of refusals measures nothing.
const REST: Duration = Duration::from_millis(50);

/// An asker.
struct User {
    worker: Rc<Worker>,
    /// Its index among the worker's askers.
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
        worker.come();
        if worker.common.plan.keep_alive {
            self.prepare().await;
        }
        while self.ask_when_allowed().await {}
        worker.go();
    }

    /// Asks again and again, with a random rest of up to `pause` between two requests.
    async fn rested(&mut self, pause: Duration) {
        let worker = Rc::clone(&self.worker);
        worker.come();
        while self.ask_when_allowed().await {
            if !pause.is_zero() {
                let rest = pause.mul_f64(worker.random.borrow_mut().f64());
                tokio::time::sleep(rest).await;
            }
        }
        worker.go();
    }

    /// Asks for requests as they become due.
    async fn open(&mut self) {
        let worker = Rc::clone(&self.worker);
        while let Some(due) = worker.queue.next().await {
            worker.come();
            self.ask(due).await;
            worker.go();
        }
    }

    /// Asks once when the rate allows it. Returns false if the run has no requests left.
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

    /// Sends one request, whose latency counts from `began`. Returns whether an answer came.
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
}

/// Returns when in a ramp a user comes: the first at the beginning, the last at the end.
fn ratio(number: u64, users: usize) -> f64 {
    #[allow(
        clippy::cast_precision_loss,
        reason = "nobody has so many users that a float does not count them"
    )]
    let ratio = number as f64 / users.saturating_sub(1).max(1) as f64;
    ratio
}
