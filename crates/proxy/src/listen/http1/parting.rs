//! The end of a connection over HTTP/1.

use super::{
    super::{
        Serve,
        counters::add,
        fault::Fault,
        meter::Meter,
        own,
        service::Session,
        task::unless_told,
        watch::{Order, Stage},
    },
    End,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How a connection ends.
enum Parting {
    /// At once.
    Drop,
    /// As after the last answer. With TLS, the client is told.
    Close,
    /// With a last word of ours if there is one, and after what the client still sends.
    Linger(Option<Fault>),
}

/// Ends the connection after `hyper`'s turn has ended like this. `more` says whether the client has sent more than was
/// answered.
pub(super) async fn part<S: Serve>(
    session: &Session<S>,
    mut meter: Meter,
    end: End,
    may_answer: bool,
    more: bool,
) {
    match parting(session, end, may_answer && meter.is_clean(), more) {
        Parting::Drop => {}
        Parting::Close => {
            let _ = unless_told(&session.watch, Order::Timeout, meter.shutdown()).await;
        }
        Parting::Linger(last_word) => linger(session, meter, last_word).await,
    }
}

fn parting<S: Serve>(session: &Session<S>, end: End, may_answer: bool, more: bool) -> Parting {
    let protocol_errors = &session.watch.worker.counters.protocol_errors;
    match end {
        End::Told(Order::Close) if may_answer => Parting::Close,
        End::Told(order) => {
            let fault = last_word(order);
            if fault.is_some_and(Fault::is_of_head) {
                add(protocol_errors, 1);
            }
            match fault {
                Some(fault) if may_answer => Parting::Linger(Some(fault)),
                _ => Parting::Drop,
            }
        }
        End::Over(Err(error)) if error.is_parse() => {
            add(protocol_errors, 1);
            own::by_hyper(&*session.service, error.is_parse_too_large());
            Parting::Linger(None)
        }
        End::Over(Ok(())) | End::AtRest if more => Parting::Linger(None),
        End::Over(_) | End::AtRest => Parting::Drop,
    }
}

/// What the client is told before a connection is closed by `order`.
fn last_word(order: Order) -> Option<Fault> {
    match order {
        Order::Timeout => Some(Fault::TimedOut),
        Order::TargetTooLong => Some(Fault::TargetTooLong),
        Order::ForeignVersion => Some(Fault::ForeignVersion),
        Order::HeadTooLarge => Some(Fault::HeadTooLarge),
        Order::TooManyFields => Some(Fault::TooManyFields),
        Order::NoRoom => Some(Fault::NoRoom),
        Order::Serve | Order::Drain | Order::Close => None,
    }
}

/// Sends the last word if there is one, and keeps reading for a moment what the client may still be sending.
///
/// To close with unread bytes makes the kernel reset the connection. The client would lose an answer that it has not
/// read (RFC 9112 section 9.6).
pub(super) async fn linger<S: Serve>(
    session: &Session<S>,
    mut meter: Meter,
    last_word: Option<Fault>,
) {
    let watch = &session.watch;
    watch.enter(Stage::Linger);
    watch.outbox.close();
    meter.forget_head();
    let farewell = async {
        if let Some(fault) = last_word {
            let word = own::last_word(&*session.service, fault);
            if meter.write_all(&word).await.is_err() {
                return;
            }
        }
        let _ = meter.shutdown().await;
        let mut waste = [0; 1024];
        while !meter.is_ended() {
            if meter.read(&mut waste).await.is_err() {
                return;
            }
        }
    };
    // Boxed: it is rare, and large because of its buffer.
    let _ = unless_told(watch, Order::Close, Box::pin(farewell)).await;
}
