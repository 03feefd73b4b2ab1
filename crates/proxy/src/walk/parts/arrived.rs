//! What a storable 206 becomes in the store.

use crate::{
    ask::Ask,
    cache::Worker,
    walk::{
        admit::{self, Admitted, FirstLine, Times, Update},
        fetch::clone_head,
        pump::Room,
        shape, tiers,
    },
};
use http::{HeaderMap, StatusCode, header, response};
use rules::{partial, storable::Storable, validate};
use std::{cmp::Ordering, collections::HashSet, ptr, rc::Rc, sync::Arc};
use store::{
    Body, Parts, Stored, Ticket,
    purge::{Marks, Standing},
};

/// A 206 that may be stored: its head, and the request that asked for it.
pub(super) struct Arrived {
    pub ask: Rc<Ask>,
    pub ticket: Ticket,
    pub times: Times,
    pub head: response::Parts,
    pub storable: Storable,
}

impl Arrived {
    /// Returns its head as it came.
    pub fn head(&self) -> response::Parts {
        clone_head(&self.head)
    }

    /// Returns the representation that it is a part of, and the fields for the client that asked, if they are at hand
    /// or more than what is stored. `body` is what is there of the representation. Its fields are combined with those
    /// of `old`, if there is one.
    pub fn made(
        &self,
        worker: &Worker,
        old: Option<&Stored>,
        body: Body,
    ) -> (Stored, Option<Box<HeaderMap>>) {
        if let Some(old) = old {
            return (self.over(worker, old, body), self.own_over(old));
        }
        let own = admit::own_fields(&self.ask, &self.representation(), self.storable);
        let (stored, fields) = self.alone(worker, body);
        (stored, Some(own.unwrap_or_else(|| Box::new(fields))))
    }

    /// Returns its head as that of the representation, as far as that is known.
    fn representation(&self) -> response::Parts {
        let mut head = clone_head(&self.head);
        head.status = StatusCode::OK;
        head.headers.remove(header::CONTENT_RANGE);
        head.headers.remove(header::CONTENT_LENGTH);
        // It is the digest of the part.
        shape::without_digest(&mut head.headers);
        head
    }

    fn alone(&self, worker: &Worker, body: Body) -> (Stored, HeaderMap) {
        let head = self.representation();
        let admitted = Admitted::new(&self.ask, self.storable, &head.headers);
        let at = self.times.response;
        admit::new_stored(worker, &self.ask, self.ticket, head, admitted, body, at)
    }

    /// Whether what memory has now [stays](outlives) when the part `new` has come.
    pub fn is_outlived(&self, worker: &Worker, new: &Stored) -> bool {
        let (memory, key) = (&worker.cache.memory, self.ask.key.as_bytes());
        let (here, mut scratch) = (memory.peek(key), Vec::new());
        let at = self.times.response;
        let old = here
            .as_ref()
            .and_then(|here| here.select(&self.ask.fields, &mut scratch, at));
        old.is_some_and(|old| {
            let is_apart = matches!(old.body, Body::Filling(_)) || !self.is_of_one(old, new);
            is_apart && outlives(old, new) && memory.log().standing(key, old) == Standing::Good
        })
    }

    /// Stores parts beside, or combined with, what is there of the same representation, unless that was purged
    /// meanwhile. They are combined with `old` whatever has become of it in memory. Returns whether they are stored as
    /// they are: what becomes whole is copied.
    pub fn keep(&self, worker: &Worker, old: Option<&Stored>, parts: Parts) -> bool {
        let (new, _) = self.alone(worker, Body::Parts(Arc::new(parts)));
        let both = old.and_then(|old| self.combined(worker, old, &new));
        // What becomes whole is compared with what is there.
        let are_parts = |both: &Stored| matches!(both.body, Body::Parts(_));
        let is_over = both.as_ref().is_some_and(are_parts);
        let over = old.filter(|_| is_over).map(ptr::from_ref);
        let new = both.unwrap_or(new);
        let (memory, key) = (&worker.cache.memory, self.ask.key.as_bytes());
        let checked = memory.log().head();
        let is_good = memory.log().standing(key, &new) == Standing::Good;
        let mut scratch = Vec::new();
        let (marks, most) = (new.marks.clone(), self.ask.site.most_variants);
        let (mut is_new, mut replaced) = (true, None);
        let kept = memory.combine(key, self.ticket, marks.as_deref(), most, |variants| {
            let now = self.times.response;
            let old =
                variants.and_then(|variants| variants.select(&self.ask.fields, &mut scratch, now));
            // What was purged and not swept yet must not become new again.
            let old = old.filter(|old| memory.log().standing(key, old) == Standing::Good);
            replaced = old.cloned();
            if let Some(old) = old.filter(|old| old.is_later_than(self.ticket)) {
                // What was asked for since is not as old as a part that was purged, even softly.
                let combined = is_good.then(|| self.joined(worker, old, &new, checked));
                let combined = combined.flatten();
                is_new = combined.is_some();
                return combined.map_or_else(|| old.clone(), Arc::new);
            }
            if over.is_some() && old.map(Arc::as_ptr) == over {
                return Arc::new(new);
            }
            let combined = old.and_then(|old| self.combined(worker, old, &new));
            match (combined, old) {
                (Some(combined), _) => Arc::new(combined),
                (None, Some(old)) if outlives(old, &new) => {
                    is_new = false;
                    old.clone()
                }
                (None, _) => Arc::new(new),
            }
        });
        let Some((kept, _)) = kept.ok().filter(|_| is_new) else {
            return false;
        };
        // Each of them would have answered this request, and would answer others with fields from before.
        for old in old.into_iter().chain(replaced.as_deref()) {
            if old.variant != kept.variant {
                tiers::give_up(worker, key, old);
            }
        }
        tiers::keep(worker, key, &kept, None);
        matches!(kept.body, Body::Parts(_))
    }

    /// Returns `old` with the bytes of `new`, which was compared with the purges up to `checked`. The request for `old`
    /// was the later one, so its fields are the newer ones (RFC 9111 section 4). The tags of both apply to it.
    fn joined(&self, worker: &Worker, old: &Stored, new: &Stored, checked: u64) -> Option<Stored> {
        let (Body::Parts(older), Body::Parts(newer)) = (&old.body, &new.body) else {
            return None;
        };
        self.is_of_one(old, new).then(|| {
            // It was not compared with purges of tags that it did not have.
            let checked = old.checked().min(checked);
            let body = self.of_both(worker, older, newer);
            let mut joined = old.clone().with_body(body).checked_up_to(checked);
            joined.marks = self.marks_with(worker, old);
            joined
        })
    }

    /// Returns the bytes of both as one body.
    fn of_both(&self, worker: &Worker, older: &Parts, newer: &Parts) -> Body {
        let parts = older.combined(newer, Room::of(worker, &self.ask).largest);
        parts
            .whole()
            .unwrap_or_else(|| Body::Parts(Arc::new(parts)))
    }

    /// Whether both are parts of one representation.
    fn is_of_one(&self, old: &Stored, new: &Stored) -> bool {
        let (known, brought) = (old.all_fields(0), new.fields.unpack(0));
        !old.facts.is_weakly_known && partial::combinable(&known, &brought, self.times.response)
    }

    /// Returns `new` over the bytes and fields of `old`, if both are parts of one representation. A complete one
    /// becomes an ordinary 200.
    fn combined(&self, worker: &Worker, old: &Stored, new: &Stored) -> Option<Stored> {
        if !self.is_of_one(old, new) {
            return None;
        }
        let Body::Parts(newer) = &new.body else {
            return None;
        };
        let body = match &old.body {
            Body::Parts(older) => self.of_both(worker, older, newer),
            // The whole is already there.
            Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) | Body::Disk(_) => old.body.clone(),
            Body::Filling(_) => return None,
        };
        Some(self.over(worker, old, body))
    }

    /// Returns `body` with the fields of `old` and those of the 206. Fields that the 206 lacks are kept (RFC 9111
    /// section 3.4): an answer to `If-Range` omits most of them (RFC 9110 section 15.3.7). The tags of both apply to
    /// it.
    fn over(&self, worker: &Worker, old: &Stored, body: Body) -> Stored {
        let (fields, storable) = self.merged(old);
        let update = Update {
            log_at: self.ticket.log_at,
            version: self.head.version,
            storable,
            fields: &fields,
            variant: admit::variant_after(&self.ask, old, &self.head.headers, &fields),
            marks: self.marks_with(worker, old),
            body,
            at: self.times.response,
            fetch: Some(self.ticket),
        };
        admit::updated(&self.ask, old, update)
    }

    /// Returns the fields of `old` with those of the 206 in their place, and the result of judging them.
    fn merged(&self, old: &Stored) -> (HeaderMap, Storable) {
        let mut fields = old.all_fields(8);
        let update = self.representation().headers;
        validate::freshen(&mut fields, &update, &self.ask.site.targets);
        let (times, status) = (self.times, old.status);
        let judged = admit::judge_merged(&self.ask, times, status, &mut fields, &update);
        (fields, judged.unwrap_or(self.storable))
    }

    /// Returns the fields for the client whose request completed `old`, if they are more than what is stored.
    fn own_over(&self, old: &Stored) -> Option<Box<HeaderMap>> {
        let first_line = FirstLine {
            status: old.status,
            version: self.head.version,
        };
        let update = self.representation().headers;
        let (fields, _) = self.merged(old);
        let updated = (&old.fields, &fields);
        admit::own_updated(&self.ask, first_line, self.storable, updated, &update)
    }

    /// Returns the tags by which either can be purged.
    fn marks_with(&self, worker: &Worker, old: &Stored) -> Option<Arc<Marks>> {
        let held = old.marks.iter().flat_map(|marks| marks.texts());
        let own = admit::tags(&self.ask, &self.head.headers, None);
        let tags = united(held, &own);
        if tags.is_empty() {
            return None;
        }
        admit::carried_or_new(worker, old.marks.clone(), &tags, self.ticket.log_at)
    }
}

/// Returns all tags in order: those that are `held`, then those of the response's `own` that are not among them.
fn united<'a>(held: impl Iterator<Item = &'a str>, own: &'a [String]) -> Vec<&'a str> {
    let mut tags: Vec<&str> = held.collect();
    let mut known: HashSet<&str> = tags.iter().copied().collect();
    let own = own.iter().map(String::as_str);
    tags.extend(own.filter(|tag| known.insert(tag)));
    tags
}

/// Whether `old` stays when `new`, which was asked for later and cannot be combined with it, has come: if it is as late
/// and all of the representation. A whole on its way counts as such. A reading may be the later of the two: their dates
/// tell (RFC 9111 section 4).
fn outlives(old: &Stored, new: &Stored) -> bool {
    match old.facts.date.cmp(&new.facts.date) {
        Ordering::Greater if old.is_reading() => true,
        Ordering::Equal => matches!(old.body, Body::Filling(_)) || old.body.is_complete(),
        Ordering::Greater | Ordering::Less => matches!(old.body, Body::Filling(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tags_of_both_are_there_once_and_in_their_order(
            held in prop::collection::vec("[a-c]{1,2}", 0..12),
            own in prop::collection::vec("[a-c]{1,2}", 0..12),
        ) {
            let held: Vec<&str> = held.iter().map(String::as_str).collect();
            let mut plain = held.clone();
            for tag in &own {
                if !plain.contains(&tag.as_str()) {
                    plain.push(tag);
                }
            }
            prop_assert_eq!(united(held.into_iter(), &own), plain);
        }
    }
}
