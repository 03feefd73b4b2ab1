//! 304: freshens stored responses (RFC 9111 section 4.3.4).

use crate::{
    body::Content,
    hit_for_miss::Unshared,
    outcome::{Detail, Unkept},
    walk::{
        admit::{self, FirstLine, Update},
        fetch::{Fetch, Landing},
        tiers,
    },
};
use http::{HeaderMap, Response, StatusCode, header, response};
use origin::ResponseBody;
use rules::{
    fields,
    freshness::{self, Facts},
    storable::{NotStorable, Storable},
    validate,
};
use std::sync::Arc;
use store::{Body, Fields, Stored, Variants, fill::Reader};

impl Fetch<'_> {
    /// Freshens the responses that a 304 selects with the fields it carries (RFC 9111 section 4.3.4).
    pub fn freshen(&self, response: Response<ResponseBody>) -> Landing {
        let (head, body) = response.into_parts();
        drop(body);
        let mut answer = None;
        for candidate in self.freshened(&head.headers) {
            let fresh = self.freshened_one(&candidate.stored, &head);
            answer.get_or_insert(fresh);
        }
        match answer {
            Some((stored, kept, own)) => {
                let reader = reader_of(&stored);
                Landing::Stored {
                    stored,
                    reader,
                    pump: None,
                    kept,
                    own,
                }
            }
            // The client's own condition went along, and this is the answer to it. After any other 304 that fits
            // nothing, the origin was asked again without conditions: if it repeats the 304, it is broken.
            None => Landing::Raw {
                head,
                content: Content::Empty,
                kept: Err(Detail::NotStored(NotStorable::Status)),
                pump: None,
            },
        }
    }

    /// Returns `stored` with the fields of the 304 `head` as the answer to this request, whether other requests get it
    /// from now on, and the fields that they do not get. Another variant, which could not have been chosen for this
    /// request, stays as it is (RFC 9111 section 4.3.4): this request uses what of it is for everybody.
    fn freshened_one(
        &self,
        stored: &Arc<Stored>,
        head: &response::Parts,
    ) -> (Arc<Stored>, Result<(), Detail>, Option<Box<HeaderMap>>) {
        let is_another = !stored.matches(&self.ask.fields, &mut Vec::new());
        let lent = is_another.then(|| Arc::new(stored.lent()));
        let stored = lent.as_ref().unwrap_or(stored);
        let (storable, fields) = match self.judge_updated(stored, &head.headers) {
            Ok(judged) => judged,
            Err(why) => {
                // What a 304 says of others, a 200 with the same fields would say.
                self.withdraw_if_outdated(Unshared::NotStored(why), StatusCode::OK);
                return (
                    self.for_this_only(stored, head),
                    Err(Detail::NotStored(why)),
                    None,
                );
            }
        };
        let (fresh, own) = self.with_fields(stored, head, storable, &fields);
        let (memory, key) = (&self.worker.cache.memory, self.ask.key.as_bytes());
        let (marks, log_at) = (fresh.marks.as_deref(), self.ticket.log_at);
        // The validated response may have been evicted meanwhile, or purged but not swept yet: perhaps by a tag that the
        // 304 does not repeat.
        let hides_purge = || memory.log().is_hidden_by(key, stored, &fresh, log_at);
        let mut kept = if let Err(overruled) = self.not_overruled() {
            Err(overruled)
        } else if memory.log().refuses(key, marks, log_at) || hides_purge() {
            Err(Detail::Unkept(Unkept::Invalidated))
        } else if !is_another && memory.freshen(key, stored, &fresh) {
            Ok(())
        } else {
            self.insert_confirmed(&fresh)
        };
        if kept.is_ok() && hides_purge() {
            // Purged just now. No tier below has it yet.
            memory.give_up(key, &fresh);
            kept = Err(Detail::Unkept(Unkept::Invalidated));
        }
        self.remember_uncollapsible(&fresh, kept.as_ref().err());
        if kept.is_ok() && !is_another && fresh.variant != stored.variant {
            // Below, it would go on to answer those whom the fresh one is not for.
            tiers::give_up(self.worker, key, stored);
        }
        // A lower tier may have room where memory has none.
        let may_stay = matches!(kept, Ok(()) | Err(Detail::Unkept(Unkept::TooLarge)));
        if may_stay && is_another {
            tiers::keep(self.worker, key, &fresh, self.lease.take());
        } else if may_stay {
            tiers::keep_freshened(self.worker, key, stored, &fresh, self.lease.take());
        }
        (fresh, kept, own)
    }

    /// Returns the content of `stored` with `fields`, which were judged `storable`, as the answer to this request; and
    /// the fields that other requests do not get.
    fn with_fields(
        &self,
        stored: &Stored,
        head: &response::Parts,
        storable: Storable,
        fields: &HeaderMap,
    ) -> (Arc<Stored>, Option<Box<HeaderMap>>) {
        let first_line = FirstLine {
            status: stored.status,
            version: head.version,
        };
        let updated = (&stored.fields, fields);
        let own = admit::own_updated(self.ask, first_line, storable, updated, &head.headers);
        let variant = admit::variant_after(self.ask, stored, &head.headers, fields);
        let of = (variant.as_deref(), self.ticket.log_at);
        let update = Update {
            log_at: self.ticket.log_at,
            version: head.version,
            storable,
            fields,
            marks: admit::marks(self.worker, self.ask, fields, of, Some(stored)),
            variant,
            body: stored.body.clone(),
            at: self.times.response,
            fetch: Some(self.ticket),
        };
        (Arc::new(admit::updated(self.ask, stored, update)), own)
    }

    /// Returns how `stored` may be stored after a 304 with the fields `update`, and its fields then.
    fn judge_updated(
        &self,
        stored: &Stored,
        update: &HeaderMap,
    ) -> Result<(Storable, HeaderMap), NotStorable> {
        if fields::names_end_to_end(update) {
            return Err(NotStorable::Connection);
        }
        admit::judge_update(self.ask, self.times, stored, update)
    }

    /// Stores what a 304 has confirmed, unless it was invalidated or a later fetch has brought something meanwhile:
    /// what an earlier one has brought, this one knows better. A reading that is no newer than what was known has come
    /// from a lower tier, and is no later response. Times decide that here, although the clocks of nodes differ: the
    /// origin has just confirmed what was known.
    fn insert_confirmed(&self, fresh: &Arc<Stored>) -> Result<(), Detail> {
        let (memory, key) = (&self.worker.cache.memory, self.ask.key.as_bytes());
        let known = || self.need.selected.iter().chain(&self.need.others);
        let is_later = |there: &Stored| {
            there.variant == fresh.variant
                && (there.is_later_than(self.ticket)
                    || there.is_reading() && known().all(|known| !there.goes_with(known)))
        };
        let (marks, most) = (fresh.marks.as_deref(), self.ask.site.most_variants);
        let kept = memory.combine(key, self.ticket, marks, most, |held| {
            let mut held = held.into_iter().flat_map(Variants::as_slice);
            let later = held.find(|there| is_later(there));
            later.unwrap_or(fresh).clone()
        });
        match kept {
            Err(refused) => Err(refused.into()),
            Ok((kept, _)) if !Arc::ptr_eq(&kept, fresh) => Err(Detail::Unkept(Unkept::Superseded)),
            Ok((_, true)) => Ok(()),
            Ok((_, false)) => Err(Detail::Unkept(Unkept::TooLarge)),
        }
    }

    /// Returns the answer after a 304 whose fields may not be stored: only its own client gets them.
    fn for_this_only(&self, stored: &Arc<Stored>, head: &response::Parts) -> Arc<Stored> {
        let at = self.times.response;
        let mut fields = stored.fields.unpack(8);
        validate::freshen_for_one(&mut fields, head.headers.clone());
        fields.remove(header::AGE);
        admit::complete(self.ask, head.version, &mut fields, || at);
        let facts = Facts {
            response_time: at,
            initial_age_ms: freshness::initial_age_ms(&head.headers, self.times.request, at),
            ..stored.facts
        };
        let facts = admit::confirmed(stored, facts, at);
        let body = stored.body.clone();
        let only = Stored::new(
            self.ticket.log_at,
            stored.status,
            Fields::pack(&fields),
            facts,
            None,
            None,
            body,
        );
        Arc::new(only.with_unsent(stored.unsent.clone()))
    }
}

/// Returns a reader if the body is still on its way.
fn reader_of(stored: &Stored) -> Option<Reader> {
    match &stored.body {
        Body::Filling(fill) => fill.reader(),
        Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) | Body::Disk(_) | Body::Parts(_) => None,
    }
}
