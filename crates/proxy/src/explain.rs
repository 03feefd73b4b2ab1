//! Explain: why a URL is or is not answered from the store, without asking an origin or the shared tier. The walk's own
//! functions receive, route and judge the request, in `asked`. Stored responses are judged in `judge`.

mod asked;
mod judge;

use crate::{
    cache::Cache, hit_for_miss::Unshared, listen::Limits, policy::StatusPattern,
    purge_clients::ByPath, way::LateBypass,
};
use asked::ExplainedRequest;
use http::{HeaderMap, StatusCode};
use rules::{freshness, reuse::Verdict};
use std::time::Duration;

/// What would happen to a GET for a URL now.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
pub struct Explanation {
    /// The name of the route taken.
    pub route: String,
    /// The cache key as text ([`Key::text`](crate::ask::Key::text)).
    pub key: String,
    /// The request to the cache itself that its path makes, if any: then no route answers it.
    pub by_path: Option<ByPath>,
    /// The route for certain clients that would be taken if the client were among them: the client is not known.
    pub passed_over: Option<String>,
    /// Why a listener refuses it, as written in `Cache-Status`: then no route sees it.
    pub refused: Option<&'static str>,
    /// The status with which the route refuses it.
    pub denied: Option<StatusCode>,
    /// Whether it claims a group of users, for which a client is refused: only the application may tell it. On a route
    /// with groups, `X-User-Context-Hash` is not a claim, but stands for what the application would tell.
    pub claims_group: bool,
    /// Whether the client is sent to HTTPS.
    pub redirected: bool,
    /// Why the route bypasses the store, if it does.
    pub bypass: Option<&'static str>,
    /// Why the store is bypassed after all, if nothing in it answers.
    pub late_bypass: Option<LateBypass>,
    /// Whether the request wants what is stored or nothing (`only-if-cached`).
    pub only_stored: bool,
    /// Whether answers for this key were lately not reusable.
    pub hit_for_miss: bool,
    /// Why the last answer for this key was of no use to others, as far as that is remembered.
    pub unshared: Option<Unshared>,
    /// The responses stored under the key, newest first, memory before disk. Those on disk are included if memory does
    /// not decide.
    pub stored: Vec<StoredExplanation>,
    /// The index in `stored` of the response that the request selects.
    pub selected: Option<usize>,
    /// Whether there is a shared tier that would be asked before the origin. It was not asked for this.
    pub shared: bool,
    /// Whether active checks consider every server of the origin down, so that none is asked.
    pub origin_down: bool,
    /// The statuses of the origin that count as failures, if the site gives a list of its own.
    pub failures: Option<Vec<StatusPattern>>,
    /// Whether the request says `no-cache`, which this route obeys only from clients that may purge, and the client may
    /// be one of them: it is not known.
    pub may_be_forced: bool,
}

/// The tier that has a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// In memory; its body may be on disk.
    Memory,
    /// On disk alone.
    Disk,
}

/// One stored response, judged.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
pub struct StoredExplanation {
    /// The tier that has it.
    pub tier: Tier,
    /// The status it answers with.
    pub status: StatusCode,
    /// Whether its nominated fields match the request.
    pub matches: bool,
    /// The fields its `Vary` nominates.
    pub nominated: Vec<String>,
    /// Those of them in which the request differs.
    pub differing: Vec<String>,
    /// Whether it would be sent now (RFC 9111 section 4) if it were chosen.
    pub verdict: Verdict,
    /// Whether the content that is held is all that the request wants.
    pub is_enough: bool,
    /// Whether the request has a condition that it does not meet, and that only the origin may judge (RFC 9111 section
    /// 4.3.2).
    pub condition_fails: bool,
    /// Whether it is within its lifetime.
    pub is_fresh: bool,
    /// Its age now (RFC 9111 section 4.2.3).
    pub age: Duration,
    /// How long it is fresh after its birth (RFC 9111 section 4.2.1).
    pub lifetime: Duration,
    /// What set the lifetime.
    pub source: freshness::LifetimeSource,
    /// Whether the site gives answers of its status a lifetime. If not, a default is the origin's own: one second for a
    /// folder.
    pub site_gives_lifetime: bool,
    /// Length in bytes; `None` while the body is on its way with unknown length.
    pub length: Option<u64>,
    /// How much of the body is held, and where: `whole`, `disk` (whole, in a file of its own or in its segment),
    /// `parts` or `filling`.
    pub form: &'static str,
    /// Whether it was invalidated by name.
    pub invalidated: bool,
    /// Whether it may have been purged on another node: this one cannot know.
    pub unsure: bool,
    /// What is done with it if the origin fails.
    pub on_failure: OnFailure,
    /// Seconds past its lifetime in which it is sent while a fresh one is fetched in the background (RFC 5861 section
    /// 3).
    pub while_revalidate: u32,
    /// Whether a copy of another node would do if this one may not be sent, instead of only the origin's answer.
    pub replaceable: bool,
}

/// What is done with a stored response if the origin is asked and fails (RFC 5861 section 4, RFC 9111 section 4.2.4).
#[derive(Clone, Copy, Debug)]
pub struct OnFailure {
    /// Whether it would be sent now if it were chosen and the origin answered with an error.
    pub error: bool,
    /// The same, if the origin could not be reached.
    pub unreachable: bool,
    /// For how many seconds past its lifetime it is sent if the origin answers with an error.
    pub error_window: u32,
    /// The same, if the origin cannot be reached.
    pub unreachable_window: u32,
}

/// Explains a GET for `uri` (absolute) with `fields`, at listeners with these `limits`; `None` if no client could ask
/// for that URI here. Waits for the disk if that may decide.
pub async fn explain(
    cache: &Cache,
    uri: &str,
    fields: &HeaderMap,
    limits: &Limits,
) -> Option<Explanation> {
    let site = cache.site.load_full();
    // A request stays on its thread, but the future of this function need not: so no request is held while it waits.
    let read = || ExplainedRequest::read(&site, uri, fields, limits);
    let wanted = read()?.wanted_below(cache);
    let below = match (&cache.disk, wanted) {
        (Some(disk), Some(key)) => disk.peek(&key).await,
        _ => Vec::new(),
    };
    Some(read()?.explained(cache, below))
}
