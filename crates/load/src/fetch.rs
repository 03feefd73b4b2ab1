//! Fetches one complete document (a sitemap) before the run.

use crate::{
    site::Origin,
    stream::{ForHyper, Stream},
    tls::Tls,
};
use bytes::Bytes;
use http::header;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use std::{rc::Rc, time::Duration};
use tokio::{
    task::{LocalSet, spawn_local},
    time::timeout,
};

/// The largest document, in bytes: the limit of a sitemap.
const LARGEST: usize = 50 << 20;

/// Fetches `target` of `origin` over HTTP/1.1.
///
/// # Errors
/// No text with status 200 came within the time. The message is for a person.
pub fn fetch(origin: &Origin, target: &str, tls: &Tls, within: Duration) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let fetching = async {
        let fetched = timeout(within, fetched(origin, target, tls, within)).await;
        fetched.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    };
    LocalSet::new().block_on(&runtime, fetching)
}

async fn fetched(
    origin: &Origin,
    target: &str,
    tls: &Tls,
    within: Duration,
) -> Result<String, String> {
    let opened = Stream::open(origin, tls, &Rc::default(), within).await;
    let stream = opened.map_err(|unopened| {
        let meaning = unopened.fault.meaning();
        match unopened.handshake {
            Some(words) => format!("{meaning}: {words}"),
            None => meaning.to_owned(),
        }
    })?;
    let failed = |error: hyper::Error| error.to_string();
    let (mut sender, connection) = http1::handshake(ForHyper::new(stream))
        .await
        .map_err(failed)?;
    spawn_local(async move {
        // The task that waits for the answer gets the error there.
        let _ = connection.await;
    });
    let request = http::Request::get(target)
        .header(header::HOST, origin.url.authority())
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(failed)?;
    if response.status() != http::StatusCode::OK {
        return Err(format!("status {}", response.status()));
    }
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    String::from_utf8(body.into()).map_err(|_| "not text in UTF-8".to_owned())
}
