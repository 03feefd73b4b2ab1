//! One connection from the first byte to the last.

use super::{
    Connection, Serve,
    accept::{Accepted, WorkerListener, canonical, claim_address},
    config::{Limits, ListenConfig},
    counters::add,
    direct::Desk,
    http1, http2,
    limiter::ConnectionSlot,
    meter::Meter,
    proxy_protocol::{self, Header},
    service::Session,
    splice::Splices,
    stream::Stream,
    texts::Texts,
    tls::TlsStore,
    under_tls::UnderTls,
    watch::{Order, Stage, Watch},
    wire::Wire,
};
use std::{
    cell::Cell, future::poll_fn, io, net::SocketAddr, pin::pin, rc::Rc, sync::Arc, task::Poll,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// The connection preface (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The answer to a request without TLS on a port of TLS, as nginx gives it. The first letter is enough to take it for a
/// request.
const NOT_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 38\r\n\
    Connection: close\r\n\r\nThis port speaks HTTPS: use https://.\n";

/// Whether a connection from `peer` begins with a PROXY protocol header.
pub(super) fn expects_proxy(config: &ListenConfig, peer: Option<SocketAddr>) -> bool {
    let trusted = &config.proxy_protocol;
    match peer {
        Some(peer) => trusted.iter().any(|network| network.contains(&peer.ip())),
        None => !trusted.is_empty(),
    }
}

/// Serves one connection until it ends.
pub(super) async fn run<S: Serve>(
    place: Rc<WorkerListener<S>>,
    accepted: Accepted,
    slot: ConnectionSlot,
    watch: Arc<Watch>,
    limits: Arc<Limits>,
) {
    let Some(opened) = open(&place, accepted, slot, &watch, &limits).await else {
        return;
    };
    let session = Session {
        service: Rc::clone(&place.service),
        connection: Rc::new(opened.connection),
        watch: Arc::clone(&watch),
        limits: Arc::clone(&limits),
        redirect_https: place.config.redirect_https,
        is_for_one: limits.allows_no_rest(),
        begun: Cell::default(),
        is_old: Cell::default(),
        desk: Rc::clone(&place.desk),
    };
    let meter = Meter::new(opened.stream, watch, &limits, opened.slot);
    match opened.protocol {
        Protocol::Http1 => http1::serve(session, meter, &limits).await,
        // Boxed: it is larger than what HTTP/1 needs, and each connection's task has room for its largest part.
        Protocol::Http2 => Box::pin(http2::serve(session, meter, &limits)).await,
    }
}

/// Polls `future`, but gives up with `None` if it is not ready and the order is at least `stop`.
pub(super) async fn unless_told<T>(
    watch: &Watch,
    stop: Order,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        watch.remember(cx.waker());
        match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if watch.order() >= stop => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[derive(Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

/// A connection on which HTTP can begin.
struct Opened {
    stream: Stream,
    connection: Connection,
    protocol: Protocol,
    slot: ConnectionSlot,
}

/// Reads the PROXY protocol header, does the TLS handshake and detects the protocol; `None` if that fails, and nothing
/// is to be answered.
async fn open<S: Serve>(
    place: &WorkerListener<S>,
    accepted: Accepted,
    mut slot: ConnectionSlot,
    watch: &Arc<Watch>,
    limits: &Limits,
) -> Option<Opened> {
    let counters = &place.worker.counters;
    let mut connection = Connection {
        peer: accepted.peer,
        peer_asks: true,
        local: accepted.local,
        // A request that is not redirected to HTTPS is served as if it had come there.
        tls: place.config.tls.is_some() || place.config.redirect_https.is_some(),
        splices: None,
        is_ours: false,
        texts: Texts::default(),
        idle_time: limits.idle_time,
        write_time: limits.write_time,
        late: Cell::new(false),
    };
    let mut wire = Wire::new(accepted.socket);
    if expects_proxy(&place.config, accepted.peer) {
        let reading = read_proxy_header(&mut wire, &place.desk);
        let Some(Ok(header)) = unless_told(watch, Order::Timeout, reading).await else {
            add(&counters.handshakes_failed, 1);
            return None;
        };
        adopt(&mut connection, header);
        if !claim_address(&mut slot, connection.peer, limits) {
            place.turn_away(wire.socket());
            return None;
        }
    }
    let (stream, protocol) = if let Some(store) = &place.config.tls {
        let (tls, protocol) = open_tls(store, wire, &place.desk, watch).await?;
        (Stream::Tls(tls), protocol)
    } else {
        let protocol = open_plain(&mut wire, &mut connection, &place.desk, watch).await?;
        (Stream::Plain(wire), protocol)
    };
    Some(Opened {
        stream,
        connection,
        protocol,
        slot,
    })
}

/// Shakes hands, and over HTTP/1 waits for the first bytes of a request.
async fn open_tls(
    store: &TlsStore,
    wire: Wire,
    desk: &Desk,
    watch: &Arc<Watch>,
) -> Option<(Box<TlsStream<UnderTls>>, Protocol)> {
    // Boxed: what a handshake needs is freed before the first request, and a task is as large as its largest part.
    let (mut tls, protocol) = Box::pin(shake_hands(store, wire, desk, watch)).await?;
    if matches!(protocol, Protocol::Http1) {
        // Who has just shaken hands is about to ask, in a stop as well: like a plain connection, it is silent until its
        // first bytes have come. HTTP/2 has its own way to end.
        watch.enter(Stage::Silent);
        let first = unless_told(watch, Order::Timeout, tls.fill_buf()).await;
        // What failed, or ended, is found out again where HTTP begins.
        if first.is_none() {
            // TLS says that the connection ends (RFC 9112 section 9.8), if the socket takes that at once.
            unless_told(watch, Order::Timeout, tls.shutdown()).await;
            return None;
        }
    }
    Some((tls, protocol))
}

/// Detects the protocol by the first bytes. Over HTTP/1, content can go by the kernel alone.
async fn open_plain(
    wire: &mut Wire,
    connection: &mut Connection,
    desk: &Desk,
    watch: &Watch,
) -> Option<Protocol> {
    watch.enter(Stage::Silent);
    let protocol = protocol(wire, desk, watch).await?;
    if matches!(protocol, Protocol::Http1) {
        let splices = Arc::<Splices>::default();
        wire.splice(splices.clone());
        connection.splices = Some(splices);
    }
    Some(protocol)
}

async fn shake_hands(
    store: &TlsStore,
    wire: Wire,
    desk: &Desk,
    watch: &Arc<Watch>,
) -> Option<(Box<TlsStream<UnderTls>>, Protocol)> {
    let counters = &watch.worker.counters;
    let accepting = accept_tls(store, wire, desk, watch);
    let Some(Some(tls)) = unless_told(watch, Order::Timeout, accepting).await else {
        add(&counters.handshakes_failed, 1);
        return None;
    };
    add(&counters.handshakes, 1);
    let protocol = match tls.get_ref().1.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    Some((Box::new(tls), protocol))
}

/// Accepts TLS; `None` if that fails. A client that speaks HTTP without TLS is told so.
async fn accept_tls(
    store: &TlsStore,
    mut wire: Wire,
    desk: &Desk,
    watch: &Arc<Watch>,
) -> Option<TlsStream<UnderTls>> {
    let speaks_http = |bytes: &[u8]| Ok(bytes.first().map(|first| (first.is_ascii_uppercase(), 0)));
    let mut seen = Vec::new();
    if wire.peel(desk, 1, &mut seen, speaks_http).await.ok()? {
        // If the client does not take it, nothing else can tell it.
        let _ = wire.write_all(NOT_TLS).await;
        return None;
    }
    let under = UnderTls::new(wire, Arc::clone(watch));
    TlsAcceptor::from(store.config()).accept(under).await.ok()
}

async fn read_proxy_header(wire: &mut Wire, desk: &Desk) -> io::Result<Header> {
    let parse = |bytes: &[u8]| {
        proxy_protocol::parse(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    };
    let mut seen = Vec::new();
    wire.peel(desk, proxy_protocol::LONGEST, &mut seen, parse)
        .await
}

fn adopt(connection: &mut Connection, header: Header) {
    match header {
        Header::For {
            source,
            destination,
            tls,
        } => {
            connection.peer = Some(canonical(source));
            connection.local = Some(canonical(destination));
            connection.tls |= tls;
        }
        Header::Direct => connection.peer_asks = false,
    }
}

/// Detects the protocol of a plain connection. What stays too short to tell is a part of an HTTP/1 head, and is
/// answered as such.
async fn protocol(wire: &mut Wire, desk: &Desk, watch: &Watch) -> Option<Protocol> {
    let mut seen = Vec::new();
    let detecting = detect(wire, desk, watch, &mut seen);
    match unless_told(watch, Order::Timeout, detecting).await {
        Some(found) => found.ok(),
        None if watch.order() == Order::Timeout => {
            wire.put_back(seen);
            Some(Protocol::Http1)
        }
        None => None,
    }
}

/// Detects HTTP/2 by prior knowledge in the first bytes (RFC 9113 section 3.3). Anything else is for HTTP/1 to judge.
async fn detect(
    wire: &mut Wire,
    desk: &Desk,
    watch: &Watch,
    seen: &mut Vec<u8>,
) -> io::Result<Protocol> {
    let decide = |bytes: &[u8]| {
        let alike = bytes.iter().zip(PREFACE).all(|(a, b)| a == b);
        Ok(match (alike, bytes.len() >= PREFACE.len()) {
            (false, _) => Some((Protocol::Http1, 0)),
            (true, true) => {
                watch.has_no_head();
                Some((Protocol::Http2, 0))
            }
            (true, false) => {
                watch.may_have_head();
                None
            }
        })
    };
    wire.peel(desk, PREFACE.len(), seen, decide).await
}
