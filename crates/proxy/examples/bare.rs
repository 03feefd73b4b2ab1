//! What benchmarks compare with: a bare hyper server on one current-thread runtime that answers every request with the
//! same bytes and ten header fields. `--listen ADDR --size N`.

mod flags;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use std::{convert::Infallible, error::Error, net::SocketAddr};
use tokio::{net::TcpListener, runtime::Builder, task::LocalSet};

/// Ten fields like those of a stored page; `Date` is hyper's.
const FIELDS: [(HeaderName, &str); 9] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CACHE_CONTROL, "public, max-age=3600"),
    (header::ETAG, "\"5f3c-61b0c8a9d1e40\""),
    (header::LAST_MODIFIED, "Wed, 01 Oct 2025 10:00:00 GMT"),
    (header::VARY, "Accept-Encoding"),
    (header::SERVER, "bare"),
    (header::AGE, "17"),
    (header::VIA, "1.1 bare"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let (listen, size) = flags::read(&mut [])?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve(listen, Bytes::from(vec![b'x'; size])))
}

async fn serve(listen: SocketAddr, body: Bytes) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(listen).await?;
    // As Larder has it on a loopback address; the system's own where it knows none of that name.
    let _ = SockRef::from(&listener).set_tcp_congestion(b"reno");
    println!("listening on {}", listener.local_addr()?);
    let mut fields = HeaderMap::with_capacity(FIELDS.len());
    for (name, value) in FIELDS {
        fields.insert(name, HeaderValue::from_static(value));
    }
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (fields, body) = (fields.clone(), body.clone());
        let service = service_fn(move |_request| {
            let mut response = Response::new(Full::new(body.clone()));
            *response.headers_mut() = fields.clone();
            async move { Ok::<_, Infallible>(response) }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::task::spawn_local(async move {
            // A client that leaves is no news.
            let _ = connection.await;
        });
    }
}
