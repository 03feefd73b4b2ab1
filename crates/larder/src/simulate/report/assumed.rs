//! Writes the assumptions in sentences.

use super::words::{count, memory};
use crate::simulate::{
    counts::Notes,
    plan::Plan,
    reader::{Assumptions, Reader},
};

/// Lists what a reader has to know before believing the figures.
pub(super) fn list(plan: &Plan, assumptions: &Assumptions, reader: &Reader) -> Vec<String> {
    let (totals, notes) = (&reader.totals, &reader.totals.notes);
    let mut all = Vec::new();
    if totals.requests > 0 {
        lifetimes(plan, notes, &mut all);
    }
    if notes.without_host > 0 {
        let why = if plan.looks_at_hosts() {
            "; routes depend on it: name it with --host"
        } else {
            ""
        };
        let (host, number) = (&assumptions.host, count(notes.without_host));
        all.push(format!(
            "Host {host} for {number} requests without one{why}."
        ));
    }
    answers(notes, &mut all);
    if !notes.with_fractions && totals.requests > 0 {
        all.push(
            "Times are in whole seconds: requests that would wait for another request's fetch count as hits."
                .to_owned(),
        );
    }
    sample(plan, reader, &mut all);
    all.push("The store in memory alone, on one node, empty at first; no purges.".to_owned());
    all
}

/// Says what is estimated, and how well.
fn sample(plan: &Plan, reader: &Reader, all: &mut Vec<String>) {
    /// With fewer bodies than this, no statement about many is possible.
    const BODIES: u64 = 8;
    let one_in = reader.urls.sampled().one_in();
    if one_in == 1 {
        return;
    }
    all.push(format!(
        "More than {} URLs or variants: one in {one_in} was followed, chosen by its hash, in memory scaled alike. Misses, and \
         with them hits, stale hits, waits for another's fetch, answers that are too large and evictions, are estimated from them, and the \
         list of URLs names only these.",
        count(plan.most_urls as u64)
    ));
    let bodies = reader.urls.all.values().filter_map(|url| url.body);
    let least = bodies
        .max()
        .unwrap_or_default()
        .saturating_mul(BODIES)
        .saturating_mul(one_in);
    if plan.sizes.iter().any(|size| *size < least) {
        let (bodies, least) = (count(BODIES), memory(Some(least)));
        all.push(format!(
            "Memory below {least}, scaled, is too little for {bodies} of the largest answers followed: figures for it are rough."
        ));
    }
}

fn lifetimes(plan: &Plan, notes: &Notes, all: &mut Vec<String>) {
    if notes.with_directives == 0 {
        let reasons = if notes.with_reasons > 0 {
            ", beyond the reasons that Larder wrote"
        } else {
            ""
        };
        all.push(format!(
            "The log does not show what the application says about caching{reasons}: lifetimes are those of the table, and whatever \
             else its answers say (private, Set-Cookie, Vary) is not known."
        ));
    }
    if plan.is_assumed {
        let lifetime = plan
            .lifetimes
            .get(plan.lifetime)
            .map_or("", |lifetime| &lifetime.name);
        all.push(format!(
            "A lifetime of {lifetime} for 200, 301 and 302 where the application gives none; say another one with --ttl, or --config."
        ));
    }
}

/// Describes answers that had to be completed.
fn answers(notes: &Notes, all: &mut Vec<String>) {
    let mixed_times = if notes.with_origin_time > 0 {
        notes.without_origin_time
    } else {
        0
    };
    for (number, what) in [
        (
            notes.by_group,
            "requests are on routes with groups of users (user_context), which a log does not show: they count as if all users were in \
             one group, and as if the application were never asked for it. The server's hit ratio is lower.",
        ),
        (
            notes.not_modified,
            "304 answers count as the whole answer, as large as when it was last sent: Larder fetches without the client's condition.",
        ),
        (
            notes.parts,
            "206 answers are hits if the whole is stored, and are not stored themselves.",
        ),
        (
            notes.unfinished,
            "clients left before they got their answer: it is not stored.",
        ),
        (
            notes.without_length,
            "answers without a length count as large as the others on average.",
        ),
        (
            notes.told_bypassed,
            "requests bypass the store because Larder's log says that they did, for a cookie or a header field that it does not show.",
        ),
        (
            notes.without_type,
            "answers without a type are taken for the files that their paths name.",
        ),
        (
            mixed_times,
            "answers without the origin's time count as long as the last one of their URL, or the average.",
        ),
    ] {
        if number > 0 {
            all.push(format!("{} {what}", count(number)));
        }
    }
}
