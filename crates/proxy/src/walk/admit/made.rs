//! What is stored of an answer: a new response, or one that replaces another; and the tags by which it can be purged.

use super::{
    Admitted,
    fields::{FirstLine, StoredFields, kept_fields, stored_fields},
};
use crate::{ask::Ask, cache::Worker, marks, walk::shape};
use http::{HeaderMap, Version, response};
use rules::{
    directives::{self, ResponseDirectives},
    freshness::Facts,
    storable::Storable,
    surrogate,
    time::Time,
};
use std::sync::Arc;
use store::{Body, Fields, Stored, Ticket, Variant, Variants, purge::Marks};

/// Returns the tags by which the response can be purged ([`tags`]), as they are stored. `log_at` is where the log stood
/// when its fetch began. A response that replaces one of the same variant with the same tags shares its marks.
pub fn marks(
    worker: &Worker,
    ask: &Ask,
    response: &HeaderMap,
    (variant, log_at): (Option<&Variant>, u64),
    freshens: Option<&Stored>,
) -> Option<Arc<Marks>> {
    let tags = tags(ask, response, freshens);
    if tags.is_empty() {
        return None;
    }
    let held = worker.cache.memory.peek(ask.key.as_bytes());
    let mut held = held.iter().flat_map(Variants::as_slice);
    let before = held.find(|held| held.variant.as_deref() == variant);
    let carried = before.and_then(|before| before.marks.clone());
    carried_or_new(worker, carried, &tags, log_at)
}

/// Returns the marks for these tags of a response whose fetch began when the log stood at `log_at`: those that another
/// response `carried`, if they serve for it.
pub fn carried_or_new(
    worker: &Worker,
    carried: Option<Arc<Marks>>,
    tags: &[impl AsRef<str>],
    log_at: u64,
) -> Option<Arc<Marks>> {
    carried
        .filter(|marks| marks.serve_for(tags))
        .or_else(|| worker.cache.memory.log().tags().marks(tags, log_at))
}

/// Returns the tags by which the response can be purged, besides its URL: those it carries, its cache groups and its
/// pool. If it freshens another and carries no tags, it keeps those of the other: they are no longer among its fields,
/// unlike groups and pool.
pub fn tags(ask: &Ask, response: &HeaderMap, freshens: Option<&Stored>) -> Vec<String> {
    let groups = ask.groups(&surrogate::groups(response));
    let pool = response.get(marks::X_POOL);
    let pool = pool.and_then(|line| Some(marks::of_pool(line.to_str().ok()?.trim())));
    let mut tags = surrogate::tags(response);
    if tags.is_empty() {
        let kept = freshens.and_then(|old| old.marks.as_ref());
        let kept = kept.into_iter().flat_map(|marks| marks.texts());
        tags.extend(kept.filter(|tag| marks::is_tag(tag)).map(str::to_owned));
    }
    tags.extend(groups.into_iter().chain(pool));
    tags.extend(
        ask.operation()
            .into_iter()
            .flat_map(|operation| operation.tags.clone()),
    );
    tags
}

/// What turns a stored response into a new one.
pub struct Update<'a> {
    /// Where the log of purges stood when the latest answer was asked for.
    pub log_at: u64,
    /// The HTTP version of that answer.
    pub version: Version,
    /// The result of judging `fields`.
    pub storable: Storable,
    /// The fields as they are now.
    pub fields: &'a HeaderMap,
    /// Which requests select it; `None`: all do.
    pub variant: Option<Box<Variant>>,
    /// The tags that it can be purged by; `None` if there are none.
    pub marks: Option<Arc<Marks>>,
    /// The body of the new one.
    pub body: Body,
    /// When the latest answer came.
    pub at: Time,
    /// The fetch that brought it; `None` keeps that of the old response, about which the answer merely speaks.
    pub fetch: Option<Ticket>,
}

/// Returns the response that replaces `old`. It is as much in demand as `old`, and keeps what was made of the same
/// content.
pub fn updated(ask: &Ask, old: &Stored, update: Update<'_>) -> Stored {
    let first_line = FirstLine {
        status: old.status,
        version: update.version,
    };
    let kept = stored_fields(ask, first_line, update.storable, update.fields, update.at);
    let new = Stored::new(
        update.log_at,
        old.status,
        Fields::pack(&kept.fields),
        confirmed(old, update.storable.facts, update.at),
        update.variant,
        update.marks,
        update.body,
    );
    let new = new.with_unsent(kept.unsent);
    let new = match update.fetch {
        Some(ticket) => new.fetched_by(ticket),
        None => new.fetched_as(old),
    };
    new.after(old).with_made_of(old)
}

/// Returns `facts`, which come from what has confirmed `old`, with what only `old` tells of its content.
pub fn confirmed(old: &Stored, facts: Facts, at: Time) -> Facts {
    Facts {
        is_weakly_known: shape::strong_validator(old, at).is_none(),
        ..facts
    }
}

/// Returns a new stored response for `ask`, and its fields as they were before they were packed. `admitted` is the
/// result of judging `head`.
pub fn new_stored(
    worker: &Worker,
    ask: &Ask,
    ticket: Ticket,
    head: response::Parts,
    admitted: Admitted,
    body: Body,
    at: Time,
) -> (Stored, HeaderMap) {
    let Admitted { storable, variant } = admitted;
    // Most responses name no fields, as judging this one has shown.
    let directives = if storable.names_fields {
        directives::response(&head.headers, &ask.site.targets).0
    } else {
        ResponseDirectives::default()
    };
    let of = (variant.as_deref(), ticket.log_at);
    let marks = marks(worker, ask, &head.headers, of, None);
    let first_line = FirstLine {
        status: head.status,
        version: head.version,
    };
    let kept = kept_fields(ask, first_line, storable, head.headers, at, &directives);
    let StoredFields { fields, unsent } = kept;
    let stored = Stored::new(
        ticket.log_at,
        head.status,
        Fields::pack(&fields),
        storable.facts,
        variant,
        marks,
        body,
    );
    (stored.with_unsent(unsent).fetched_by(ticket), fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample,
        walk::admit::{Times, judge},
    };
    use http::{Method, StatusCode};

    /// Eviction removes what is seldom asked for first. That the origin has spoken of a response does not change how
    /// often it is asked for.
    #[test]
    fn what_takes_anothers_place_is_in_demand_as_that_was() {
        let ask = sample::ask(
            sample::site(sample::policy(sample::key_spec())),
            None,
            HeaderMap::new(),
        );
        let fields = sample::fields(&[("cache-control", "max-age=60")]);
        let old = sample::stored(StatusCode::OK, &fields);
        for _ in 0..5 {
            old.used();
        }
        let times = Times {
            request: ask.now,
            response: ask.now,
            lifetime: None,
        };
        let memory = sample::memory();
        for fetch in [None, Some(memory.begin())] {
            let storable = judge(&ask, &Method::GET, times, old.status, &fields).unwrap();
            let update = Update {
                log_at: 0,
                version: Version::HTTP_11,
                storable,
                fields: &fields,
                variant: None,
                marks: None,
                body: old.body.clone(),
                at: ask.now,
                fetch,
            };
            assert_eq!(updated(&ask, &old, update).uses(), old.uses());
        }
    }
}
