//! Land: what an origin's answer, or its failure, comes to.

use crate::{
    ask::Ask,
    body::Content,
    error::Failure,
    hit_for_miss::Unshared,
    outcome::{Detail, Unkept, bump},
    walk::{
        admit,
        arrival::{AT_ONCE, Arrival},
        below,
        fetch::{Fetch, Landing, reader_of},
        forward::begin_fill,
        lookup::{Need, answers, reuse_site},
        pump::{Before, Destination, Pump, Room},
        receive,
    },
    way,
};
use http::{HeaderMap, Method, Response, StatusCode, header, response};
use http_body::Body as _;
use origin::ResponseBody;
use rules::{
    freshness::{self, Facts},
    reuse,
    storable::NotStorable,
    surrogate, validate,
};
use std::{
    sync::Arc,
    task::{Context, Waker},
};
use store::{Body, Fields, Stored, fill::Writer};

impl Fetch<'_> {
    /// What an answer comes to, unless it is what is missing of stored parts.
    pub fn land(&self, response: Response<ResponseBody>, writer: Option<Writer>) -> Landing {
        let status = response.status();
        if status == StatusCode::NOT_MODIFIED {
            return self.freshen(response);
        }
        if let Some(stale) = self.stale_instead(status) {
            return stale;
        }
        if status == StatusCode::PARTIAL_CONTENT {
            return self.part(response, writer);
        }
        self.whole(response, writer)
    }

    /// 304: what it selects is fresh again, with the fields it carries (RFC 9111 section 4.3.4).
    fn freshen(&self, response: Response<ResponseBody>) -> Landing {
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
        let mut fields = stored.fields.unpack(8);
        validate::freshen(&mut fields, &head.headers);
        admit::keep_language(stored, &mut fields);
        let judged = admit::judge(self.ask, &Method::GET, self.times, stored.status, &fields);
        let storable = match judged {
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
        let fresh = |variant| {
            let fresh = Stored::new(
                self.ticket.began,
                stored.status,
                Fields::pack(&kept),
                storable.facts,
                variant,
                admit::marks(
                    self.worker,
                    self.ask,
                    &fields,
                    self.ticket.began,
                    Some(stored),
                ),
                stored.body.clone(),
            );
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
        if is_another || !replaced {
            // Another variant's content is this request's too from now on; or what was validated was evicted meanwhile, or
            // invalidated: then the ticket refuses it.
            let most = self.ask.site.most_variants;
            let _ = memory.insert(key, self.ticket, for_this.clone(), most);
        }
        self.remember_uncollapsible(&for_this);
        below::keep_freshened(self.worker, key, stored, &for_this, self.lease.take());
        (for_this, Ok(()), own)
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
        if stored.has_surrogate_control() {
            fields.insert(surrogate::CONTROL, surrogate::CONTENT_ESI);
        }
        let facts = Facts {
            response_time: at,
            initial_age_ms: freshness::initial_age_ms(&head.headers, self.times.request, at),
            ..stored.facts
        };
        let body = stored.body.clone();
        Arc::new(Stored::new(
            self.ticket.began,
            stored.status,
            Fields::pack(&fields),
            facts,
            None,
            None,
            body,
        ))
    }

    /// What is stored, where the origin's error may be hidden by it (RFC 5861 section 4).
    pub fn stale_instead(&self, status: StatusCode) -> Option<Landing> {
        if !way::is_failure(status) {
            return None;
        }
        let stored = usable_on_failure(self.ask, self.need, reuse::Failure::Status)?;
        Some(Landing::Stale {
            stored,
            failure: reuse::Failure::Status,
            why: "stale-if-error",
        })
    }

    pub fn failed(&self, failure: Failure) -> Landing {
        // No head came, for whatever reason: the cache is disconnected (RFC 9111 section 4.2.4).
        match usable_on_failure(self.ask, self.need, reuse::Failure::Unreachable) {
            Some(stored) if matches!(failure, Failure::Origin(_)) => Landing::Stale {
                stored,
                failure: reuse::Failure::Unreachable,
                why: failure.detail(),
            },
            _ => Landing::Failed(failure),
        }
    }

    /// Any answer but 206 and 304: it replaces what is stored, or passes.
    fn whole(&self, response: Response<ResponseBody>, writer: Option<Writer>) -> Landing {
        let (head, body) = response.into_parts();
        let admitted = match admit::admit(self.ask, self.times, head.status, &head.headers) {
            Ok(admitted) => admitted,
            Err(why) => return self.raw(head, body, Detail::NotStored(why)),
        };
        let length = body.size_hint().exact();
        let mut writer = writer.unwrap_or_else(|| begin_fill(self.worker).1);
        let room = Room::of(self.worker, self.ask);
        if !room.admits(self.worker, self.ask, length, &mut writer) {
            return self.raw(head, body, Detail::Unkept(Unkept::TooLarge));
        }
        let checked = self.ask.checks_errors() && is_json(&head.headers);
        let mut arrival = Arrival::new(body);
        let most = AT_ONCE.min(room.in_memory);
        let content = if checked || length.is_some_and(|length| length > most) {
            None
        } else {
            // Whoever reads the rest asks anew before he waits.
            arrival.whole(&mut Context::from_waker(Waker::noop()), most)
        };
        let own = admit::own_fields(self.ask, &head, admitted.storable);
        let filling = Body::Filling(writer.fill().clone());
        let (stored, kept) = admit::new_stored(
            self.worker,
            self.ask,
            self.ticket,
            head,
            admitted,
            filling,
            self.times.response,
        );
        let own = own.unwrap_or_else(|| Box::new(kept));
        if let Some(content) = content {
            return self.stored(stored.with_body(Body::Whole(content)), Some(own));
        }
        let stored = Arc::new(stored);
        let before = self.replaced_by(&stored);
        let kept = self.insert(&stored);
        let reader = writer.fill().reader();
        let key = self.ask.key.as_bytes();
        let destination = Destination::Whole {
            key: key.to_vec(),
            stored: stored.clone(),
            before,
            lease: self.lease.take(),
        };
        let pump =
            Pump::new(self.worker, arrival, writer, destination, room).if_without_errors(checked);
        Landing::Stored {
            stored,
            reader,
            pump: Some(pump),
            kept,
            own: Some(own),
        }
    }

    /// What stands where `new` is about to be put, if its content is at hand and the budget has room for both.
    fn replaced_by(&self, new: &Stored) -> Option<Before> {
        let memory = &self.worker.cache.memory;
        let held = memory.peek(self.ask.key.as_bytes())?;
        let mut held = held.as_slice().iter();
        let stored = held.find(|old| old.variant == new.variant)?.clone();
        let mut room = memory.budget().reservation();
        let has_room = room.grow_sparing(stored.body.held()?);
        has_room.then_some(Before {
            stored,
            _room: room,
        })
    }

    /// An answer that has come as a whole.
    fn stored(&self, stored: Stored, own: Option<Box<HeaderMap>>) -> Landing {
        bump(&self.worker.counters.fills);
        let stored = Arc::new(stored);
        let kept = self.insert(&stored);
        if kept.is_ok() {
            let key = self.ask.key.as_bytes();
            below::keep(self.worker, key, &stored, self.lease.take());
        }
        Landing::Stored {
            stored,
            reader: None,
            pump: None,
            kept,
            own,
        }
    }

    /// Puts a new response into the store, unless it was purged meanwhile.
    fn insert(&self, stored: &Arc<Stored>) -> Result<(), Detail> {
        let (memory, key) = (&self.worker.cache.memory, self.ask.key.as_bytes());
        let most = self.ask.site.most_variants;
        let kept = memory.insert(key, self.ticket, stored.clone(), most);
        self.remember_uncollapsible(stored);
        kept.map_err(|_| Detail::Unkept(Unkept::Invalidated))
    }

    pub fn raw(&self, head: response::Parts, body: ResponseBody, why: Detail) -> Landing {
        let (table, key) = (&self.worker.cache.hit_for_miss, self.ask.key.as_bytes());
        let unshared = Unshared::of(head.status, &why);
        table.remember(key, unshared, self.times.response);
        if let Some(stored) = &self.need.selected
            && unshared.withdraws(head.status)
        {
            below::forget(self.worker, self.ask.key.as_bytes(), stored);
        }
        Landing::Raw {
            head,
            content: Content::Origin(body),
            why: Some(why),
            pump: None,
        }
    }

    /// Answers that must be validated each time are not worth queueing for.
    pub fn remember_uncollapsible(&self, stored: &Stored) {
        let table = &self.worker.cache.hit_for_miss;
        let key = self.ask.key.as_bytes();
        match Unshared::of_kept(&stored.facts) {
            Some(why) => table.remember(key, why, self.times.response),
            None => table.forget(key),
        }
    }
}

/// Whether an answer is in JSON.
fn is_json(fields: &HeaderMap) -> bool {
    let media = fields.get(header::CONTENT_TYPE);
    media.is_some_and(|media| {
        let media = String::from_utf8_lossy(media.as_bytes()).to_ascii_lowercase();
        media.contains("json")
    })
}

/// What is stored, where it may be sent although the origin failed.
pub fn usable_on_failure(ask: &Ask, need: &Need, failure: reuse::Failure) -> Option<Arc<Stored>> {
    let stored = need.selected.as_ref()?;
    let site = reuse_site(ask.policy());
    let usable = reuse::on_failure(
        &stored.facts,
        &ask.directives,
        &site,
        failure,
        receive::now(),
    );
    (usable && answers(ask, stored)).then(|| stored.clone())
}
