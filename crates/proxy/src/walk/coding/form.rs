//! Which form of a response in identity goes out.

use super::{Chosen, Then, make::made_at_once, part::wants_part, passed};
use crate::{ask::Ask, cache::Worker, compress, policy::Compress};
use http::{Method, header};
use rules::coding::{self, Accepted, Choice, Coding};
use std::sync::Arc;
use store::{Body, Level, Stored, fill::Reader};

/// Bodies up to this length, in bytes, are coded on the worker's own time. At the fast level that takes less than a
/// millisecond.
const AT_ONCE: u64 = 32 << 10;

/// A form that was sent this often is worth the high level. The pool is asked again at each doubling until it is made.
const OFTEN: u64 = 16;

/// Chooses the answer from a response in identity: the response itself, a form of it, or one to be made.
pub(super) fn of_identity(
    worker: &Worker,
    ask: &Ask,
    compress: &Compress,
    accepted: Accepted,
    stored: Arc<Stored>,
    reader: Option<Reader>,
) -> Chosen {
    // `If-Match` was already compared with the origin's own tag.
    let is_about_origin = ask.said.conditions && ask.fields.contains_key(header::IF_MATCH);
    if !accepted.takes_any() || is_about_origin || wants_part(ask, accepted) {
        return Chosen::as_it_is(stored, reader);
    }
    if let Some(form) = resumed(ask, &stored, accepted) {
        return Chosen::as_it_is(form, None);
    }
    let is_made = |coding| stored.forms.get(coding).is_some();
    let cheapest;
    let offered = if is_coded_as_read(&stored) {
        cheapest = passed::cheapest(compress);
        &cheapest
    } else {
        &compress.codings
    };
    match coding::choose(accepted, offered, is_made) {
        Choice::Identity => Chosen::as_it_is(stored, reader),
        Choice::Coding(coding) if is_made(coding) => {
            form(worker, ask, stored, reader, coding, coding)
        }
        Choice::Instead {
            stored: made,
            better,
        } => form(worker, ask, stored, reader, made, better),
        Choice::Coding(coding) => missing(worker, ask, compress, stored, reader, coding),
    }
}

/// Returns the form that the request resumes: `If-Range` names the content of which it wants a part.
fn resumed(ask: &Ask, stored: &Stored, accepted: Accepted) -> Option<Arc<Stored>> {
    ask.range()?;
    let coding = coding::range_form(&ask.fields).flatten();
    let coding = coding.filter(|coding| accepted.takes(Some(*coding)))?;
    stored.forms.get(coding)?.stored.clone()
}

/// Whether it is coded on the worker's own time because its content is not in memory. It is coded while it is read.
fn is_coded_as_read(stored: &Stored) -> bool {
    matches!(stored.body, Body::Disk(_) | Body::Parts(_))
}

/// Chooses the form in `coding`, which is there. If it is sent often, a better one is made: of this coding, or of
/// `better` if that differs.
fn form(
    worker: &Worker,
    ask: &Ask,
    stored: Arc<Stored>,
    reader: Option<Reader>,
    coding: Coding,
    better: Coding,
) -> Chosen {
    let Some(form) = stored.forms.get(coding) else {
        return Chosen::as_it_is(stored, reader);
    };
    let Some(made) = &form.stored else {
        // Making it was tried and was of no use.
        return Chosen::as_it_is(stored, reader);
    };
    if form.level == Level::Fast || coding != better {
        let uses = made.used() + 1;
        if uses >= OFTEN && uses.is_power_of_two() {
            let key = ask.key.as_bytes().into();
            let better = compress::Better {
                key,
                content: stored.content(),
                coding: better,
            };
            worker.cache.compressor.pool.make_better(better);
        }
    }
    Chosen::as_it_is(made.clone(), None)
}

/// Handles a form in `coding` that is not there.
fn missing(
    worker: &Worker,
    ask: &Ask,
    compress: &Compress,
    stored: Arc<Stored>,
    reader: Option<Reader>,
    coding: Coding,
) -> Chosen {
    let length = stored.body.length();
    let why = coding::judge(
        stored.status,
        stored.lines(),
        length,
        &compress.types,
        compress.least,
    );
    if why.is_some() {
        return Chosen::as_it_is(stored, reader);
    }
    if ask.method == Method::GET
        && length.is_some_and(|length| length <= AT_ONCE)
        && let Some(content) = stored.body.in_one()
        && let Some(form) = made_at_once(worker, ask, &stored, &content, coding)
    {
        return Chosen::as_it_is(form, None);
    }
    Chosen {
        stored,
        reader,
        then: Then::Encode(coding),
    }
}
