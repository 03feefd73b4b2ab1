//! HTTP/2 on one connection: `h2` reads and writes the frames, and answers are concurrent [streams](stream).

mod head;
mod reply;
mod sending;
mod stream;

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
use h2::{
    Reason,
    server::{Builder, Connection},
};
use origin::http2::{Frames, Gathering, SMALL_FRAMES};
use std::{
    future::poll_fn,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Interval, interval_at};

/// How long a client at rest has to confirm that it has read the GOAWAY. A client that is there does so within a round
/// trip, and none may hold up a stop.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serves HTTP/2 until the connection ends.
pub(super) async fn serve<S: Serve>(session: Session<S>, mut meter: Meter, limits: &Limits) {
    let watch = &session.watch;
    watch.enter(Stage::Silent);
    let gathering = Gathering::default();
    meter.follow(Frames::new(limits.header_size), gathering.clone());
    let opening = builder(limits).handshake(meter);
    let Some(opened) = unless_told(watch, Order::Timeout, opening).await else {
        return;
    };
    watch.enter(Stage::Http2);
    let end = match opened {
        Ok(connection) => requests(&session, connection, &gathering).await,
        Err(error) => Err(error),
    };
    if end.is_err_and(|error| !error.is_io()) {
        add(&watch.worker.counters.protocol_errors, 1);
    }
}

/// How many streams that we have ended `h2` remembers, of each that there may be, and for how long. What was on its way
/// for them is dropped; with too much for others, it ends the connection.
const REMEMBERED: usize = 10;
const REMEMBERED_FOR: Duration = Duration::from_secs(5);

fn builder(limits: &Limits) -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.http2_streams)
        .max_pending_accept_reset_streams(limits.http2_resets as usize + 1)
        .data_frame_budget(SMALL_FRAMES)
        .max_concurrent_reset_streams(REMEMBERED * limits.http2_streams as usize)
        .reset_stream_duration(REMEMBERED_FOR)
        .max_header_list_size(u32::try_from(limits.header_size).unwrap_or(u32::MAX))
        .initial_window_size(limits.http2_stream_window)
        .initial_connection_window_size(limits.http2_connection_window());
    builder
}

/// Answers requests until there are no more, or the connection is told to end.
async fn requests<S: Serve>(
    session: &Session<S>,
    mut connection: Connection<Meter, Bytes>,
    gathering: &Gathering,
) -> Result<(), h2::Error> {
    let watch = &session.watch;
    let mut farewell = None;
    poll_fn(|cx| {
        watch.remember(cx.waker());
        if watch.order() > Order::Drain {
            return Poll::Ready(Ok(()));
        }
        let mut polled = poll_requests(cx, session, (&mut connection, gathering));
        if polled.is_pending() && farewell.is_none() && watch.order() == Order::Drain {
            // After a poll, so that a request that is already here is served.
            farewell = Some(interval_at(Instant::now() + FAREWELL, FAREWELL));
            connection.graceful_shutdown();
            polled = poll_requests(cx, session, (&mut connection, gathering));
        }
        if polled.is_pending()
            && farewell.as_mut().is_some_and(|clock| is_due(cx, clock))
            && watch.is_quiet()
        {
            // What comes from now on was not read.
            connection.abrupt_shutdown(Reason::NO_ERROR);
            let _ = poll_requests(cx, session, (&mut connection, gathering));
            return Poll::Ready(Ok(()));
        }
        polled
    })
    .await
}

/// Whether `clock` has ticked since it was last asked. Wakes the task at the next tick.
fn is_due(cx: &mut Context<'_>, clock: &mut Interval) -> bool {
    let mut due = false;
    while clock.poll_tick(cx).is_ready() {
        due = true;
    }
    due
}

/// Begins to answer the requests that have come, and sends what is ready.
fn poll_requests<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    (connection, gathering): (&mut Connection<Meter, Bytes>, &Gathering),
) -> Poll<Result<(), h2::Error>> {
    while let Poll::Ready(accepted) = connection.poll_accept(cx) {
        let Some(accepted) = accepted.transpose()? else {
            return Poll::Ready(Ok(()));
        };
        stream::begin(cx, session, accepted, gathering);
    }
    gathering.gather();
    Poll::Pending
}
