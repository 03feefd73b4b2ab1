//! What was taken for granted, in sentences.

use super::words::count;
use crate::simulate::{
    plan::Plan,
    reader::{Assumptions, Reader},
    urls,
};

/// What a reader has to know before believing the figures.
pub(super) fn list(plan: &Plan, assumptions: &Assumptions, reader: &Reader) -> Vec<String> {
    let (totals, notes) = (&reader.totals, &reader.totals.notes);
    let mut all = Vec::new();
    let lifetime = plan
        .lifetimes
        .get(plan.lifetime)
        .map_or("", |lifetime| &lifetime.name);
    if notes.with_directives == 0 && totals.requests > 0 {
        let reasons = if notes.with_reasons > 0 {
            ", beyond the reasons that Larder wrote"
        } else {
            ""
        };
        all.push(format!(
            "The log does not say what the application says of caching{reasons}: lifetimes are those of the table, and whatever \
             else its answers say (private, Set-Cookie, Vary) is not known."
        ));
    }
    if plan.is_assumed {
        all.push(format!(
            "A lifetime of {lifetime} for 200, 301 and 302 where the application gives none; say another one with --ttl, or --config."
        ));
    }
    if notes.without_host > 0 {
        all.push(format!(
            "Host {} for {} requests without one{}.",
            assumptions.host,
            count(notes.without_host),
            if plan.looks_at_hosts() {
                "; routes look at it: name it with --host"
            } else {
                ""
            },
        ));
    }
    if notes.not_modified > 0 {
        all.push(format!(
            "{} answers 304 stand for the whole, as large as when it was last sent: Larder fetches it without the client's condition.",
            count(notes.not_modified)
        ));
    }
    if notes.parts > 0 {
        all.push(format!(
            "{} answers 206 are hits where the whole is stored, and are not stored themselves.",
            count(notes.parts)
        ));
    }
    if notes.unfinished > 0 {
        all.push(format!(
            "{} clients left before their answer: it is not stored.",
            count(notes.unfinished)
        ));
    }
    if notes.without_length > 0 {
        all.push(format!(
            "{} answers without a length are as large as the others are on average.",
            count(notes.without_length)
        ));
    }
    if notes.with_origin_time > 0 && notes.without_origin_time > 0 {
        all.push(format!(
            "{} answers without the origin's time take as long as the last one of their URL, or the average.",
            count(notes.without_origin_time)
        ));
    }
    if !notes.with_fractions && totals.requests > 0 {
        all.push(
            "Times are whole seconds: requests that would wait for another's fetch count as hits."
                .to_owned(),
        );
    }
    let one_in = reader.urls.one_in();
    if one_in > 1 {
        all.push(format!(
            "More than {} URLs: one in {one_in} was followed, chosen by its hash, in memory scaled alike. Misses are estimated from \
             them, and the list of URLs names only these.",
            count(urls::MOST as u64)
        ));
    }
    all.push("The store in memory alone, on one node, empty at first; no purges.".to_owned());
    all
}
