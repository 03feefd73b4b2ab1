//! The way to a server: its connections, and one exchange on them.

use super::User;
use crate::{
    fault::Fault,
    http1::{Answer, Connection},
    http2,
    plan::Plan,
    site::{Form, Request, Two},
    stream::Stream,
};
use bytes::Bytes;
use http::Method;
use std::{rc::Rc, time::Instant};
use tokio::time::timeout_at;

/// The way to a server.
#[derive(Debug)]
pub(super) enum Lane {
    /// HTTP/1.1, on the user's own connection. `None`: it is not open.
    One(Option<Connection>),
    /// HTTP/2, on a connection that may be shared.
    Two(Rc<http2::Lane>),
}

impl User {
    /// Opens the connection to the first server. A failure shows at the first request.
    pub(super) async fn prepare(&mut self) {
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

    pub(super) async fn exchange(&mut self, request: &Request) -> Result<Answer, Fault> {
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
            // A lane and its requests are made for the same version, and every server has a lane.
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

    /// Returns the sender of a shared connection, which is opened if necessary.
    async fn sender(
        &self,
        lane: &http2::Lane,
        origin: usize,
    ) -> Result<hyper::client::conn::http2::SendRequest<http_body_util::Full<Bytes>>, Fault> {
        if let Some(sender) = lane.sender() {
            return Ok(sender);
        }
        // If opening fails for one asker, those that wait must not also wait for each other.
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
        let opened = Stream::open(origin, &plan.tls, &worker.traffic, plan.timeout).await;
        let stream = opened.map_err(|unopened| {
            if let Some(words) = unopened.handshake {
                worker.common.refused.get_or_init(|| words);
            }
            unopened.fault
        })?;
        let mut tally = worker.tally.borrow_mut();
        tally.opened += 1;
        tally.connecting.record(began.elapsed());
        let agreed = &worker.common.agreed;
        if agreed.get().is_none()
            && let Some(found) = stream.agreed()
        {
            // Another worker may have been faster: both have found the same.
            let _ = agreed.set(found);
        }
        Ok(stream)
    }
}
