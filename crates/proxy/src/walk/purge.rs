//! Purge: requests for the cache and not for the application, from clients that may send them.

use crate::{
    ask::Ask,
    body::{Content, ReplyBody},
    cache::Worker,
    error::Failure,
    listen::{Connection, Cut, RequestBody, RequestHead, Served},
    outcome::{Detail, Outcome, bump},
    policy::{Site, Unadmitted},
    purge_clients::{
        Command, Head, Malformed, Operation, Spoken,
        answer::{self, Own, Unpurged},
        api::{self, Expected},
        recognise,
        resolve::resolve,
    },
    walk::{deliver, receive, waiting::AbandonGuard},
};
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::rc::Rc;
use store::purge::{Address, Purge, What};
use tokio::task::spawn_blocking;

/// What a request wants from the cache itself.
pub enum Wanted {
    /// Something that it may want, but not from this client, for this reason.
    Denied(Unadmitted),
    /// A purge, or why it is malformed.
    Purge(Result<Command, Malformed>),
    /// A purge that its content describes.
    Content(Expected),
    /// The list of what is stored.
    List,
}

/// The most bytes that the names in a list take.
const MOST_LISTED: usize = 16 << 20;

/// Returns what a request wants from the cache, if it is for the cache. A request for a fresh answer goes on to the
/// application as a GET that says so.
pub fn wanted(site: &Site, head: &mut RequestHead, connection: &Connection) -> Option<Wanted> {
    match recognise(&site.purge, spoken(head, connection)) {
        Spoken::Nothing => None,
        Spoken::Denied(why) => Some(Wanted::Denied(why)),
        Spoken::Command(command) => Some(Wanted::Purge(command)),
        Spoken::Content(expected) => Some(Wanted::Content(expected)),
        Spoken::List => Some(Wanted::List),
        Spoken::Refresh => {
            ask_for_fresh(head);
            None
        }
    }
}

/// Returns what of a head may be meant for the cache.
pub fn spoken<'a>(head: &'a RequestHead, connection: &Connection) -> Head<'a> {
    Head {
        method: &head.method,
        target: &head.target,
        fields: &head.fields,
        refreshes: head.said.refresh,
        peer: connection
            .peer
            .filter(|_| connection.peer_asks)
            .map(|peer| peer.ip()),
    }
}

/// Makes a head that of a GET for a fresh answer.
fn ask_for_fresh(head: &mut RequestHead) {
    head.said.as_refresh = head.method != Method::GET;
    head.method = Method::GET;
    let fresh = HeaderValue::from_static("no-cache");
    head.fields.append(header::CACHE_CONTROL, fresh);
    head.said.directives = true;
}

/// Answers a request that is for the cache. It never goes to an origin.
pub fn answer(
    worker: &Rc<Worker>,
    ask: Box<Ask>,
    content: RequestBody,
    wanted: Wanted,
) -> Served<ReplyBody> {
    if matches!(wanted, Wanted::Content(_)) && receive::is_redirected(&ask) {
        return Served::Now(deliver::redirect_https(worker, &ask));
    }
    let worker = worker.clone();
    match wanted {
        Wanted::Denied(why) => {
            bump(&worker.counters.purges_denied);
            Served::Now(deliver::failure(&worker, &ask, &Failure::MayNotPurge(why)))
        }
        Wanted::Purge(command) => Served::Later(Box::pin(async move {
            let guard = AbandonGuard::new(&worker, &*ask, None);
            let (dialect, done) = match command {
                Ok(command) => (
                    Some(command.dialect.clone()),
                    carry_out(&worker, &ask, command).await,
                ),
                Err(malformed) => (None, Err(malformed.into())),
            };
            guard.over();
            told(
                &worker,
                &ask,
                done.map_err(|why| (answer::failed(dialect.as_ref(), &why), why)),
            )
        })),
        Wanted::List => Served::Later(Box::pin(async move {
            let guard = AbandonGuard::new(&worker, &*ask, None);
            let memory = worker.cache.memory.clone();
            let names = spawn_blocking(move || memory.souin_names(MOST_LISTED)).await;
            guard.over();
            let own = answer::listed(&names.unwrap_or_default());
            answered(&worker, &ask, own, None)
        })),
        Wanted::Content(expected) => Served::Later(Box::pin(async move {
            let guard = AbandonGuard::new(&worker, &*ask, None);
            let done = match read(&expected, content).await {
                Ok(command) => carry_out(&worker, &ask, command).await,
                Err(why) => Err(why),
            };
            guard.over();
            let dialect = expected.dialect();
            told(
                &worker,
                &ask,
                done.map_err(|why| (answer::failed(Some(&dialect), &why), why)),
            )
        })),
    }
}

async fn read(expected: &Expected, content: RequestBody) -> Result<Command, Unpurged> {
    let bytes = Limited::new(content, api::LARGEST).collect().await;
    let bytes = bytes.map_err(|error| match error.downcast_ref() {
        Some(Cut::Late) => Unpurged::Late,
        _ if error.is::<LengthLimitError>() => Unpurged::TooLarge,
        _ => Unpurged::CutShort,
    })?;
    Ok(api::content(expected, &bytes.to_bytes())?)
}

async fn carry_out(
    worker: &Worker,
    ask: &Ask,
    command: Command,
) -> Result<(Own, Operation), Unpurged> {
    let purges = resolve(&ask.site, &command)?;
    let policy = &ask.site.purge;
    let tells_misses = policy.missed != StatusCode::OK && command.operation() == Operation::Exact;
    let found = if tells_misses {
        on_disk(worker, &purges).await
    } else {
        0
    };
    let done = worker.cache.purge(purges, None).await?;
    bump(&worker.counters.purges);
    // Most of what is in memory is on disk too. Purge clients know one number, which must not count it twice. Either
    // count on disk may miss something: a look knows no keyed fields, and the other has only so much time.
    let below = done.on_disk.unwrap_or_default().max(found);
    let own = answer::done(policy, &command, done.touched.max(below));
    Ok((own, command.operation()))
}

/// Returns how many stored responses of these URLs are on disk and not purged yet: what memory does not hold is not a
/// miss.
async fn on_disk(worker: &Worker, purges: &[Purge]) -> u64 {
    let Some(disk) = &worker.cache.disk else {
        return 0;
    };
    let urls = purges.iter().flat_map(|purge| match &purge.what {
        What::Url(urls) => urls.as_slice(),
        _ => &[],
    });
    let mut found = 0;
    for url in urls {
        for key in Address::keys(url) {
            found += disk.peek(key.as_bytes()).await.len() as u64;
        }
    }
    found
}

fn told(
    worker: &Worker,
    ask: &Ask,
    done: Result<(Own, Operation), (Own, Unpurged)>,
) -> Response<ReplyBody> {
    let (own, detail) = match done {
        Ok((own, operation)) => (own, Detail::Purged(operation)),
        Err((own, why)) => (own, Detail::Unpurged(why.token())),
    };
    answered(worker, ask, own, Some(detail))
}

fn answered(worker: &Worker, ask: &Ask, own: Own, detail: Option<Detail>) -> Response<ReplyBody> {
    let outcome = Outcome {
        detail,
        ..Outcome::OWN
    };
    let content = Content::Whole(own.content);
    deliver::finish(worker, ask, own.status, own.fields, content, &outcome)
}
