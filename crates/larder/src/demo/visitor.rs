//! A visitor that requests a page from the cache, and sees what comes and when.

use crate::client::{self, Client};
use bytes::Bytes;
use http::Response;
use std::{io, net::SocketAddr, time::Duration};
use tokio::time::Instant;

/// The page that the tour requests; it has a lifetime of a second.
pub(super) const PATH: &str = "/tour";

/// Why the tour ended early.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// A result was not as promised: a fault in Larder.
    #[error("this did not come out as promised: {0}")]
    Promise(String),
    /// The cache did not answer.
    #[error("the cache did not answer: {0}")]
    Cache(#[from] client::Error),
    /// The application could not be started again, or nothing can be printed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// One request and its answer.
pub(super) struct Visit {
    pub(super) took: Duration,
    /// The number of the page, as the application counts.
    pub(super) page: u64,
    /// The value of `Cache-Status`.
    pub(super) said: String,
}

impl Visit {
    /// Whether it came from the store.
    pub(super) fn hit(&self) -> bool {
        self.said.split(';').any(|part| part.trim() == "hit")
    }
}

/// A connection to the cache.
pub(super) struct Visitor(Client);

impl Visitor {
    pub(super) async fn arrive(cache: SocketAddr) -> Result<Self, Broken> {
        Ok(Self(Client::connect(cache).await?))
    }

    pub(super) async fn visit(&mut self) -> Result<Visit, Broken> {
        let began = Instant::now();
        let response = self.0.get(PATH).await?;
        let took = began.elapsed();
        let said = response.headers().get("cache-status");
        let said = said.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let said = said.unwrap_or_default();
        let page = page(&response).ok_or_else(|| {
            let status = response.status();
            Broken::Promise(format!(
                "every request gets the page, but there came {status} ({said})"
            ))
        })?;
        Ok(Visit { took, page, said })
    }
}

/// The number on the page.
fn page(response: &Response<Bytes>) -> Option<u64> {
    let text = std::str::from_utf8(response.body()).ok()?;
    let (_, after) = text.split_once("Page <b>")?;
    let (number, _) = after.split_once("</b>")?;
    let number = number.parse().ok()?;
    response.status().is_success().then_some(number)
}

/// Ends the tour if `promise` was not `kept` by this visit.
pub(super) fn promise(kept: bool, promise: &str, visit: &Visit) -> Result<(), Broken> {
    if kept {
        return Ok(());
    }
    let (page, took, said) = (visit.page, visit.took.as_millis(), &visit.said);
    Err(Broken::Promise(format!(
        "{promise}, but page {page} came after {took} ms with Cache-Status: {said}"
    )))
}
