//! HTTP/2 on one connection: `hyper`'s, a task for each stream.

mod head;

pub(super) use head::room;

use super::{
    Serve,
    config::Limits,
    counters::add,
    meter::Meter,
    service::{Session, answer},
    watch::{Order, Stage, Wait, Watch},
};
use hyper::{rt::Executor, server::conn::http2, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    cell::Cell,
    future::poll_fn,
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

/// The wait of the stream whose turn it is for its client, which is to take a piece of the answer: its body begins and ends it, and its
/// task ends where it takes too long. `hyper` stands between the two, and asks the body for nothing meanwhile.
pub(super) type Taking = Cell<Option<Wait>>;

/// Runs streams as tasks of this thread.
#[derive(Clone)]
struct Streams {
    watch: Arc<Watch>,
    taking: Rc<Taking>,
}

impl<F: Future + 'static> Executor<F> for Streams {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(Stream {
            // Boxed: the runtime moves what it is given several times.
            future: Box::pin(future),
            all: self.clone(),
            own: None,
        });
    }
}

/// One stream. Dropped before its end, it is reset (RFC 9113 section 5.4.2), and the others go on.
struct Stream<F> {
    future: Pin<Box<F>>,
    all: Streams,
    own: Option<Wait>,
}

impl<F: Future> Future for Stream<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let stream = self.get_mut();
        let Streams { watch, taking } = &stream.all;
        if stream.own.is_some_and(|wait| watch.pieces.is_late(wait)) {
            add(&watch.worker.counters.timeouts, 1);
            return Poll::Ready(());
        }
        taking.set(stream.own.take());
        let polled = stream.future.as_mut().poll(cx);
        stream.own = taking.take();
        polled.map(drop)
    }
}

impl<F> Drop for Stream<F> {
    fn drop(&mut self) {
        if let Some(wait) = self.own {
            self.all.watch.pieces.end(wait);
        }
    }
}

/// Serves HTTP/2 until the connection ends.
pub(super) async fn serve<S: Serve>(mut session: Session<S>, meter: Meter, limits: &Limits) {
    let watch = Arc::clone(&session.watch);
    watch.enter(Stage::Http2);
    let taking = Rc::<Taking>::default();
    session.taking = Some(Rc::clone(&taking));
    let streams = Streams {
        watch: Arc::clone(&watch),
        taking,
    };
    let mut builder = http2::Builder::new(streams);
    builder
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(u32::try_from(limits.header_size).unwrap_or(u32::MAX))
        .initial_stream_window_size(limits.http2_stream_window)
        .initial_connection_window_size(limits.http2_connection_window);
    let service = service_fn(move |request| answer(&session, request));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(meter), service));
    let mut draining = false;
    let end = poll_fn(|cx| {
        watch.remember(cx.waker());
        if watch.order() > Order::Drain {
            return Poll::Ready(Ok(()));
        }
        let mut polled = connection.as_mut().poll(cx);
        if polled.is_pending() && !draining && watch.order() == Order::Drain {
            draining = true;
            connection.as_mut().graceful_shutdown();
            polled = connection.as_mut().poll(cx);
        }
        polled
    })
    .await;
    if end.is_err_and(|error| error.is_parse() || !error.is_closed()) {
        add(&watch.worker.counters.protocol_errors, 1);
    }
}
