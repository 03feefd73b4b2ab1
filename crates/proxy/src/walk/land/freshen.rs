//! 304: what is stored is fresh again (RFC 9111 section 4.3.4).

use crate::{
    body::Content,
    outcome::{Detail, Unkept},
    walk::{
        admit, below,
        fetch::{Fetch, Landing},
    },
};
use http::{HeaderMap, Method, Response, header, response};
use origin::ResponseBody;
use rules::{
    fields,
    freshness::{self, Facts},
    storable::{NotStorable, Storable},
    validate,
};
use std::sync::Arc;
use store::{Body, Fields, Refused, Stored, Variant, Variants, fill::Reader};

impl Fetch<'_> {
    /// 304: what it selects is fresh again, with the fields it carries (RFC 9111 section 4.3.4).
    pub fn freshen(&self, response: Response<ResponseBody>) -> Landing {
        let (head, body) = response.into_parts();
        drop(body);
        let mut answer = None;
        for held in self.freshened(&head.headers) {
            let fresh = self.freshened_one(&held.stored, &head);
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
            // The client's own condition went along, and this is its answer. Any other 304 that fits nothing was asked again
            // without conditions: an origin that repeats it is broken.
            None => Landing::Raw {
                head,
                content: Content::Empty,
                why: Some(Detail::NotStored(NotStorable::Status)),
                pump: None,
            },
        }
    }

    /// `stored` with the fields of the 304 `head`: what answers this request, whether others get it from now on, and the fields
    /// that they do not get.
    fn freshened_one(
        &self,
        stored: &Arc<Stored>,
        head: &response::Parts,
    ) -> (Arc<Stored>, Result<(), Detail>, Option<Box<HeaderMap>>) {
        let mut fields = stored.all_fields(8);
        validate::freshen(&mut fields, &head.headers);
        admit::keep_language(stored, &mut fields);
        let storable = match self.judge_updated(stored, head, &fields) {
            Ok(storable) => storable,
            Err(why) => {
                return (
                    self.for_this_only(stored, head, why),
                    Err(Detail::NotStored(why)),
                    None,
                );
            }
        };
        let at = self.times.response;
        let first_line = (stored.status, head.version);
        let kept = admit::stored_fields(self.ask, first_line, storable, &fields, at);
        let updated = (&stored.fields, &fields);
        let own = admit::own_updated(self.ask, first_line, storable, updated, &head.headers);
        let fresh = |variant: Option<Box<Variant>>| {
            let of = (variant.as_deref(), self.ticket.began);
            let marks = admit::marks(self.worker, self.ask, &fields, of, Some(stored));
            let fresh = Stored::new(
                self.ticket.began,
                stored.status,
                Fields::pack(&kept.fields),
                storable.facts,
                variant,
                marks,
                stored.body.clone(),
            );
            let fresh = fresh.with_unsent(kept.unsent.clone());
            Arc::new(fresh.after(stored).with_made_of(stored))
        };
        let for_this = fresh(admit::variant(self.ask, &fields));
        let is_another = !stored.matches(&self.ask.fields, &mut Vec::new());
        let in_place = if is_another {
            fresh(stored.variant.clone())
        } else {
            for_this.clone()
        };
        let (memory, key) = (&self.worker.cache.memory, self.ask.key.as_bytes());
        let replaced = memory.replace(key, stored.id(), &in_place);
        // Another variant's content is this request's too from now on; or what was validated was evicted meanwhile.
        let kept = if is_another || !replaced {
            self.insert_confirmed(&for_this)
        } else {
            Ok(())
        };
        self.remember_uncollapsible(&for_this);
        if kept.is_ok() {
            below::keep_freshened(self.worker, key, stored, &for_this, self.lease.take());
        }
        (for_this, kept, own)
    }

    /// Whether `stored` may be stored with `fields`, which the 304 `head` has made of its own.
    fn judge_updated(
        &self,
        stored: &Stored,
        head: &response::Parts,
        fields: &HeaderMap,
    ) -> Result<Storable, NotStorable> {
        if fields::nominates_end_to_end(&head.headers) {
            return Err(NotStorable::Connection);
        }
        admit::judge(self.ask, &Method::GET, self.times, stored.status, fields)
    }

    /// Stores what a 304 has confirmed, unless it was invalidated or a later one has come meanwhile.
    fn insert_confirmed(&self, fresh: &Arc<Stored>) -> Result<(), Detail> {
        let (memory, key) = (&self.worker.cache.memory, self.ask.key.as_bytes());
        let mut known = self.need.selected.iter().chain(&self.need.others);
        let mut is_later = |there: &Stored| {
            there.variant == fresh.variant && known.all(|known| known.id() != there.id())
        };
        let (marks, most) = (fresh.marks.as_deref(), self.ask.site.most_variants);
        let kept = memory.combine(key, self.ticket, marks, most, |held| {
            let mut held = held.into_iter().flat_map(Variants::as_slice);
            let later = held.find(|there| is_later(there));
            later.unwrap_or(fresh).clone()
        });
        match kept {
            Err(Refused) => Err(Detail::Unkept(Unkept::Invalidated)),
            Ok(kept) if !Arc::ptr_eq(&kept, fresh) => Err(Detail::Unkept(Unkept::Superseded)),
            Ok(_) => Ok(()),
        }
    }

    /// A 304 whose fields may not be stored: its client gets them, nobody else does. What is stored goes where the response
    /// withdraws it, and stays where only this request is the reason.
    fn for_this_only(
        &self,
        stored: &Arc<Stored>,
        head: &response::Parts,
        why: NotStorable,
    ) -> Arc<Stored> {
        if !why.is_of_this_request() {
            below::forget(self.worker, self.ask.key.as_bytes(), stored);
        }
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
        let body = stored.body.clone();
        let only = Stored::new(
            self.ticket.began,
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

/// A reader where the body is still on its way.
fn reader_of(stored: &Stored) -> Option<Reader> {
    match &stored.body {
        Body::Filling(fill) => fill.reader(),
        Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) | Body::Disk(_) | Body::Parts(_) => None,
    }
}
