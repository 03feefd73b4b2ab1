//! Another node, which is sent purges until it has confirmed them.

use super::{lock, queue::Queue};
use crate::{
    admin::error::Written,
    client::{ANSWER, Client, Error},
    config::value::PeerUrl,
};
use bytes::Bytes;
use http::Response;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::watch, time::sleep};

/// The pauses between attempts: the first, and the longest.
const REST: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Another node, and the purges that it has yet to get.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) url: PeerUrl,
    queue: Mutex<Queue>,
    /// The number of the last purge in the queue.
    asked: watch::Sender<u64>,
    /// The number of the last purge that the node has applied.
    pub(super) applied: watch::Sender<u64>,
}

impl Peer {
    /// The node at `url`. It gets nothing before [`run`](Self::run).
    pub(super) fn new(url: &PeerUrl) -> Arc<Self> {
        Arc::new(Self {
            url: url.clone(),
            queue: Mutex::default(),
            asked: watch::Sender::new(0),
            applied: watch::Sender::new(0),
        })
    }

    pub(super) fn push(&self, number: u64, text: String) {
        lock(&self.queue).push(number, text);
        self.asked.send_replace(number);
    }

    /// Sends purges as they come, for ever.
    pub(super) async fn run(self: Arc<Self>) {
        let mut asked = self.asked.subscribe();
        let mut client = None;
        let mut rest = REST.0;
        // The failure that was logged last. A node that fails or refuses is asked again and again; the log has it once.
        let mut said = None;
        loop {
            let batch = lock(&self.queue).batch();
            let Some((number, body)) = batch else {
                if asked.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let Err(untold) = self.tell(&mut client, body).await else {
                if said.take().is_some() {
                    tracing::info!(peer = %self.url, "purges reach the peer again");
                }
                rest = REST.0;
                lock(&self.queue).done(number);
                self.applied.send_replace(number);
                continue;
            };
            if matches!(untold, Untold::Refused(_)) {
                lock(&self.queue).replace(number);
            }
            if said.as_ref() != Some(&untold) {
                untold.log(&self.url);
                said = Some(untold);
            }
            client = None;
            sleep(rest).await;
            rest = (rest * 2).min(REST.1);
        }
    }

    async fn tell(&self, client: &mut Option<Client>, body: Bytes) -> Result<(), Untold> {
        let answer = self.post(client, body).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let why = match serde_json::from_slice::<Written>(answer.body()) {
            Ok(Written { error }) => format!("status {status}: {error}"),
            // A proxy in between may answer with other text, of any length.
            Err(_) => format!("status {status}"),
        };
        // It came too slowly, too early or too often: that is no fault of the purge.
        let may_pass = matches!(status.as_u16(), 408 | 425 | 429);
        Err(if status.is_client_error() && !may_pass {
            Untold::Refused(why)
        } else {
            Untold::Failed(why)
        })
    }

    /// Sends `body` over the connection that is kept, or over a new one, which is kept then.
    async fn post(
        &self,
        client: &mut Option<Client>,
        body: Bytes,
    ) -> Result<Response<Bytes>, Error> {
        if let Some(kept) = client {
            match kept.post("/purge", body.clone(), ANSWER).await {
                // A node that has restarted is no longer at the other end. What it has got is only purged once more.
                Err(Error::Ended | Error::Answer(_)) => {}
                answered => return answered,
            }
        }
        let connected = Client::connect((self.url.host.as_str(), self.url.port)).await?;
        client.insert(connected).post("/purge", body, ANSWER).await
    }
}

/// Why a node has not got a purge, in words.
#[derive(Debug, PartialEq, Eq)]
enum Untold {
    /// The node does not understand the purge, and never will.
    Refused(String),
    /// Another attempt makes sense.
    Failed(String),
}

impl Untold {
    fn log(&self, peer: &PeerUrl) {
        match self {
            Self::Refused(why) => {
                tracing::error!(%peer, "the peer refuses purges, and is asked to purge everything instead: {why}");
            }
            Self::Failed(error) => {
                tracing::warn!(%peer, %error, "purges cannot be sent to the peer");
            }
        }
    }
}

impl From<Error> for Untold {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}
