//! HTTP/1 on one connection. Requests without content are answered [directly](direct), the rest by `hyper`, in turn.

mod parting;
mod request;
mod target;

use super::{
    Serve,
    config::Limits,
    direct::{self, Rest},
    meter::Meter,
    service::Session,
    task::unless_told,
    watch::{Order, Stage, Watch},
};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parting::{linger, part};
use request::answer;
use std::{future::poll_fn, pin::Pin, task::Poll};
use tokio::io::AsyncWriteExt;

/// Serves HTTP/1 until the connection ends or changes to another protocol.
pub(super) async fn serve<S: Serve>(session: Session<S>, mut meter: Meter, limits: &Limits) {
    let watch = &session.watch;
    watch.enter(Stage::Http1);
    loop {
        match direct::serve(&session, &mut meter).await {
            Rest::Others => {}
            Rest::Over { more } => {
                // With TLS, this says that the connection ends. Nothing depends on it.
                let _ = unless_told(watch, Order::Timeout, meter.shutdown()).await;
                if more {
                    linger(&session, meter, None).await;
                }
                return;
            }
            Rest::Broken => return,
        }
        // Boxed: it is large, and many connections never need it.
        match Box::pin(by_hyper(&session, meter, limits)).await {
            Some(at_rest) => meter = at_rest,
            None => return,
        }
    }
}

/// How `hyper`'s turn ended.
enum End {
    Over(hyper::Result<()>),
    Told(Order),
    /// The client waits for nothing, and we wait for its next request.
    AtRest,
}

impl End {
    /// Whether it comes in the middle of an answer.
    fn breaks_off(&self, watch: &Watch, may_answer: bool) -> bool {
        match self {
            Self::Told(_) => !may_answer || !watch.is_between(),
            Self::Over(Err(error)) => error.is_user(),
            Self::Over(Ok(())) | Self::AtRest => false,
        }
    }
}

/// Makes `hyper` serve the connection until that is at rest; `None` if it has ended or become a tunnel.
async fn by_hyper<S: Serve>(session: &Session<S>, meter: Meter, limits: &Limits) -> Option<Meter> {
    let watch = &session.watch;
    watch.turn();
    let mut builder = http1::Builder::new();
    builder
        .max_header_size(limits.header_size.max(8192))
        .max_buf_size(limits.http1_buffer());
    // Only if it differs: `hyper` keeps its own 100 on the stack.
    if limits.headers != 100 {
        builder.max_headers(limits.headers);
    }
    let service = service_fn(|request| answer(session, request));
    let mut connection = builder
        .serve_connection(TokioIo::new(meter), service)
        .with_upgrades();
    let mut draining = false;
    let end = poll_fn(|cx| {
        watch.remember(cx.waker());
        if watch.order() > Order::Drain {
            return Poll::Ready(End::Told(watch.order()));
        }
        let mut polled = Pin::new(&mut connection).poll(cx);
        if polled.is_pending() && !draining && watch.is_at_rest() {
            return Poll::Ready(End::AtRest);
        }
        if polled.is_pending() && !draining && watch.order() == Order::Drain {
            // After a poll, so that a request that is already here is served.
            draining = true;
            Pin::new(&mut connection).graceful_shutdown();
            polled = Pin::new(&mut connection).poll(cx);
        }
        if polled.is_pending() && watch.has_answered() && watch.has_unread() {
            return Poll::Ready(End::Over(Ok(())));
        }
        polled.map(End::Over)
    })
    .await;
    // Before the connection is taken apart, since that ends what was in flight.
    let may_answer = watch.may_answer();
    let is_late = matches!(end, End::Told(Order::Timeout));
    session.connection.late.set(is_late && may_answer);
    let breaks_off = end.breaks_off(watch, may_answer);
    let Some(parts) = connection.into_parts() else {
        watch.enter(Stage::Tunnel);
        return None;
    };
    let mut meter = parts.io.into_inner();
    meter.unbound();
    if matches!(end, End::AtRest) {
        meter.forget_head();
        meter.put_back(parts.read_buf);
        return Some(meter);
    }
    if breaks_off && session.is_old.get() {
        // Content that ends with the connection would look complete.
        meter.reset_at_close();
        return None;
    }
    let more = !parts.read_buf.is_empty() || meter.has_ahead() || watch.has_unread();
    part(session, meter, end, may_answer, more).await;
    None
}
