//! HTTP/2 on one connection: `h2` reads and writes its frames, and answers are [streams](stream) beside each other.

mod frames;
mod head;
mod reply;
mod sending;
mod stream;

pub use frames::Frames;
pub(super) use reply::Reply;

use super::{
    Serve,
    config::Limits,
    counters::add,
    meter::Meter,
    service::Session,
    task::unless_told,
    watch::{Order, Stage},
};
use bytes::Bytes;
use h2::server::{Builder, Connection};
use std::{
    future::poll_fn,
    task::{Context, Poll, ready},
};

/// Serves HTTP/2 until the connection ends.
pub(super) async fn serve<S: Serve>(session: Session<S>, mut meter: Meter, limits: &Limits) {
    let watch = &session.watch;
    watch.enter(Stage::Http2);
    meter.follow(Frames::new(limits.header_size));
    let opening = builder(limits).handshake(meter);
    let Some(opened) = unless_told(watch, Order::Timeout, opening).await else {
        return;
    };
    let end = match opened {
        Ok(connection) => requests(&session, connection).await,
        Err(error) => Err(error),
    };
    if end.is_err_and(|error| !error.is_io()) {
        add(&watch.worker.counters.protocol_errors, 1);
    }
}

fn builder(limits: &Limits) -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(u32::try_from(limits.header_size).unwrap_or(u32::MAX))
        .initial_window_size(limits.http2_stream_window)
        .initial_connection_window_size(limits.http2_connection_window);
    builder
}

/// Answers requests until there are no more, or the connection is told to end.
async fn requests<S: Serve>(
    session: &Session<S>,
    mut connection: Connection<Meter, Bytes>,
) -> Result<(), h2::Error> {
    let watch = &session.watch;
    let mut draining = false;
    poll_fn(|cx| {
        watch.remember(cx.waker());
        if watch.order() > Order::Drain {
            return Poll::Ready(Ok(()));
        }
        let mut polled = poll_requests(cx, session, &mut connection);
        if polled.is_pending() && !draining && watch.order() == Order::Drain {
            // After a poll, so that a request already here is served.
            draining = true;
            connection.graceful_shutdown();
            polled = poll_requests(cx, session, &mut connection);
        }
        polled
    })
    .await
}

/// Begins with the requests that have come, and sends what is to be sent.
fn poll_requests<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    connection: &mut Connection<Meter, Bytes>,
) -> Poll<Result<(), h2::Error>> {
    while let Some(accepted) = ready!(connection.poll_accept(cx)) {
        let (request, respond) = accepted?;
        stream::begin(cx, session, request, respond);
    }
    Poll::Ready(Ok(()))
}
