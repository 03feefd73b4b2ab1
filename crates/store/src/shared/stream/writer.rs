//! Appends to the stream.

use super::{
    Common, Done, Event, MOST_ENTRIES,
    entry::{BY, By, NODE, PURGE, Part},
    line::Line,
    publication::Awaited,
    trim,
};
use crate::{
    purge::Purge,
    purger::Unreachable,
    shared::remote::{Error, Kind},
};
use redis::{Cmd, Pipeline, cmd};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

/// A purge that has not taken effect here within this time is not acknowledged.
const PUBLISH_WITHIN: Duration = Duration::from_secs(2);

/// How long to wait after a failure.
const RETRY: Duration = Duration::from_millis(200);

/// Sends what is queued, until it is delivered.
pub async fn tell(common: Arc<Common>) {
    loop {
        let (purges, overflowed) = common.told.first();
        if overflowed {
            common.event(&Event::Overflow);
        }
        let Some((last, _)) = purges.last() else {
            common.told.wait().await;
            continue;
        };
        let copies = || {
            purges.iter().map(|(sequence, purge)| {
                let by = By {
                    author: common.author,
                    part: Part::Copy(*sequence),
                };
                (purge, Some(by))
            })
        };
        // What may have arrived after all is sent again: purging twice does no harm.
        while append(&common, copies()).await.is_err() {
            sleep(RETRY).await;
        }
        common.told.delivered(*last);
        trim::appended(&common).await;
    }
}

/// Appends `purges`, and replies when this node has read them back and applied them.
pub async fn publish(
    common: &Common,
    purges: &[Purge],
    reply: oneshot::Sender<Result<Done, Unreachable>>,
) {
    if purges.is_empty() {
        let position = common.memory.log().position().unwrap_or_default();
        let _ = reply.send(Ok((Vec::new(), position)));
        return;
    }
    let outcome = timeout(PUBLISH_WITHIN, applied(common, purges)).await;
    let outcome = outcome.unwrap_or_else(|_| {
        // If the connection was lost silently (a firewall has forgotten it), the next purge must not fail too.
        common.hang_up();
        Err(Unreachable::Unknown)
    });
    // The caller may have left.
    let _ = reply.send(outcome);
    trim::appended(common).await;
}

/// Appends `purges`, and waits until they are applied. If a kept connection has been closed, tries again over a new
/// one.
async fn applied(common: &Common, purges: &[Purge]) -> Result<Done, Unreachable> {
    let Ok(line) = common.line().await else {
        return Err(Unreachable::Refused);
    };
    let is_kept = line.is_kept;
    match publication(common, line, purges).await {
        // The connection was most likely closed while idle (Redis has `timeout`), so nothing was sent. And purging
        // twice does no harm.
        Err(error) if is_kept && error.kind == Kind::Closed => {
            let again = async { publication(common, common.line().await?, purges).await };
            again.await.map_err(|_| Unreachable::Unknown)
        }
        done => done.map_err(|error| meaning(&error)),
    }
}

/// Publishes `purges` over this connection. Copies from another attempt have another number, and are not counted.
async fn publication(common: &Common, line: Line, purges: &[Purge]) -> Result<Done, Error> {
    let mut awaited = Awaited::new(common, purges.len());
    let by = By {
        author: common.author,
        part: Part::Of(awaited.number),
    };
    send(common, line, purges.iter().map(|purge| (purge, Some(by)))).await?;
    // The reader keeps the other end until it replies.
    let done = (&mut awaited.done).await;
    done.map_err(|error| Error::new(Kind::Unreachable, error))
}

/// Purges that nobody waits for.
pub fn anonymous(purges: &[Purge]) -> impl Iterator<Item = (&Purge, Option<By>)> {
    purges.iter().map(|purge| (purge, None))
}

/// Appends all of `purges`. On an error, most likely none was appended.
///
/// # Errors
/// They were not sent, or sent without an answer.
pub async fn append<'a>(
    common: &Common,
    purges: impl Iterator<Item = (&'a Purge, Option<By>)>,
) -> Result<(), Unreachable> {
    let Ok(line) = common.line().await else {
        return Err(Unreachable::Refused);
    };
    let sent = send(common, line, purges).await;
    sent.map_err(|error| meaning(&error))
}

async fn send<'a>(
    common: &Common,
    mut line: Line,
    purges: impl Iterator<Item = (&'a Purge, Option<By>)>,
) -> Result<(), Error> {
    let mut all = Pipeline::new();
    all.atomic();
    for (purge, by) in purges {
        all.add_command(entry(common, purge, by));
    }
    let sent = line.all(&all, common.patience()).await;
    if sent.is_err() {
        common.hang_up();
    }
    sent
}

/// What an error means for purges that were sent.
fn meaning(error: &Error) -> Unreachable {
    match error.kind {
        Kind::Unreachable | Kind::Closed | Kind::Timeout | Kind::Protocol => Unreachable::Unknown,
        // What the server itself refuses has no effect.
        _ => Unreachable::Refused,
    }
}

fn entry(common: &Common, purge: &Purge, by: Option<By>) -> Cmd {
    let text = purge.to_text();
    common.appended.fetch_add(text.len() as u64, Relaxed);
    let mut add = cmd("XADD");
    add.arg(&common.purges)
        .arg("MAXLEN")
        .arg("~")
        .arg(MOST_ENTRIES)
        .arg("*")
        .arg(PURGE)
        .arg(text)
        .arg(NODE)
        .arg(&common.node);
    if let Some(by) = by {
        add.arg(BY).arg(by.to_string());
    }
    add
}
