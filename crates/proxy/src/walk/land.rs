//! Land: what becomes of an origin's answer or failure.

mod failing;
mod freshen;

pub use failing::{instead, on_failure, usable_on_failure};

use crate::{
    body::Content,
    content_key::errors::ErrorSearch,
    hit_for_miss::{Asker, Unshared},
    outcome::{Detail, Unkept, bump},
    walk::{
        admit,
        arrival::{AT_ONCE, Arrival},
        fetch::{Fetch, Landing, Plan},
        pump::{Before, Destination, Inflow, Room, begin_fill},
        tiers,
    },
    way,
};
use http::{HeaderMap, Response, StatusCode, header, response};
use http_body::Body as _;
use origin::{Lifetime, ResponseBody};
use std::{
    sync::Arc,
    task::{Context, Waker},
};
use store::{Body, Stored, Variants, fill::Writer, shared::Lease};

impl Fetch<'_> {
    /// Handles an answer.
    pub fn land(
        &self,
        plan: Plan,
        response: Response<ResponseBody>,
        writer: Option<Writer>,
    ) -> Landing {
        let status = response.status();
        if self.times.lifetime == Some(Lifetime::Never) {
            return self.broke_off(response);
        }
        if status == StatusCode::NOT_MODIFIED {
            return self.freshen(response);
        }
        if let Some(stale) = self.stale_instead(status) {
            return stale;
        }
        if status == StatusCode::PARTIAL_CONTENT {
            return self.part(plan, response, writer);
        }
        if matches!(plan, Plan::Part | Plan::Missing(_)) && way::is_of_range(status) {
            let (head, body) = response.into_parts();
            return self.raw(head, body, Detail::Unkept(Unkept::OfRange));
        }
        self.whole(response, writer)
    }

    /// Handles any answer but 206 and 304: it replaces what is stored, or passes.
    fn whole(&self, response: Response<ResponseBody>, writer: Option<Writer>) -> Landing {
        let (head, body) = response.into_parts();
        let admitted = match admit::admit(self.ask, self.times, head.status, &head.headers) {
            Ok(admitted) => admitted,
            Err(why) => return self.raw(head, body, Detail::NotStored(why)),
        };
        let length = body.size_hint().exact();
        let mut writer = writer.unwrap_or_else(|| begin_fill(self.worker).1);
        if accepts_ranges(&head.headers) {
            writer.announce_ranges();
        }
        let room = Room::of(self.worker, self.ask);
        let is_hopeless = length.is_none() && self.was_too_large();
        let has_room = if is_hopeless {
            Err(Unkept::TooLarge)
        } else {
            room.admits(self.worker, self.ask, length, &mut writer)
        };
        if let Err(why) = has_room {
            return self.raw(head, body, Detail::Unkept(why));
        }
        let errors = self.ask.error_search(&head.headers);
        let is_searched = errors != ErrorSearch::Nothing;
        if is_searched && length.is_some_and(|length| length > room.in_memory) {
            // On disk it could not be searched for errors at its end.
            return self.raw(head, body, Detail::Unkept(Unkept::TooLarge));
        }
        let mut arrival = Arrival::new(body);
        let most = AT_ONCE.min(room.in_memory);
        let content = if is_searched || length.is_some_and(|length| length > most) {
            None
        } else {
            // The reader of the rest polls again before it waits.
            match arrival.whole(&mut Context::from_waker(Waker::noop()), most) {
                Ok(content) => content,
                Err(why) => return self.failed(why),
            }
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
        let own = Some(own.unwrap_or_else(|| Box::new(kept)));
        if let Some(content) = content {
            return self.stored(stored.with_body(Body::Whole(content)), own);
        }
        let inflow = Inflow {
            arrival,
            writer,
            room,
            errors,
        };
        self.filling(stored, own, inflow)
    }

    /// Stores an answer whose body is on its way. Other requests find it from its first byte on.
    pub fn filling(&self, stored: Stored, own: Option<Box<HeaderMap>>, inflow: Inflow) -> Landing {
        let Some(room) = self.worker.cache.memory.room_for_coming(&stored) else {
            return self.passing(stored, own, inflow);
        };
        let stored = Arc::new(stored);
        let unsuitable = self.unsuitable_here(&stored);
        let kept = self.insert(&stored);
        let replaced = kept.as_ref().ok().cloned().flatten();
        let before = unsuitable.or(replaced).and_then(|old| self.before(old));
        let reader = inflow.writer.fill().reader();
        let outdated = if kept.is_ok() {
            self.outdated_below(&stored)
        } else {
            Vec::new()
        };
        let destination = Destination::Whole {
            ask: self.ask.clone(),
            stored: stored.clone(),
            before,
            _room: room,
            outdated,
            lease: self.lease_for(&stored).filter(|_| kept.is_ok()),
        };
        let pump = inflow.pump(self.worker, destination);
        Landing::Stored {
            stored,
            reader,
            pump: Some(pump),
            kept: kept.map(drop),
            own,
        }
    }

    /// Lets an answer pass because there is no room for it while its body is on its way.
    fn passing(
        &self,
        mut stored: Stored,
        own: Option<Box<HeaderMap>>,
        mut inflow: Inflow,
    ) -> Landing {
        let why = Detail::Unkept(Unkept::NoRoom);
        self.remember_unkept(stored.status, &why, false);
        // Only the store needs these, and they may be most of it.
        (stored.variant, stored.marks) = (None, None);
        let reader = inflow.writer.fill().reader();
        inflow.writer.spill();
        Landing::Stored {
            stored: Arc::new(stored),
            reader,
            pump: Some(inflow.pump(self.worker, Destination::Nowhere)),
            kept: Err(why),
            own,
        }
    }

    /// Takes the lease, if the other nodes are to get `stored` once its body has come.
    fn lease_for(&self, stored: &Stored) -> Option<Lease> {
        let shared = self.worker.cache.shared.as_ref();
        let is_shared = shared.is_some_and(|shared| shared.may_keep(stored));
        self.lease.take().filter(|_| is_shared)
    }

    /// Whether the last answer was lately found to be larger than what is kept.
    fn was_too_large(&self) -> bool {
        let table = &self.worker.cache.hit_for_miss;
        let key = self.need.collapse_key(self.ask);
        table.knows(&key, Asker::Anybody, self.times.response)
            && table.why(&key) == Some(Unshared::TooLarge)
    }

    /// Returns what marks in the tiers below the responses that go when all of `new` is here.
    fn outdated_below(&self, new: &Stored) -> Vec<Stored> {
        if self.worker.cache.disk.is_none() {
            return Vec::new();
        }
        let head = self.worker.cache.memory.log().head();
        let all = self.unsuitable(new).into_iter();
        all.map(|unsuitable| unsuitable.given_up(head)).collect()
    }

    /// Returns the response of another variant that goes when `new` comes: the one that would have answered the
    /// request.
    fn unsuitable_here(&self, new: &Stored) -> Option<Arc<Stored>> {
        let held = self.worker.cache.memory.peek(self.ask.key.as_bytes())?;
        let is_held = |old: &Arc<Stored>| held.as_slice().iter().any(|held| held.stands_for(old));
        self.unsuitable(new).into_iter().next().filter(is_held)
    }

    /// Prepares `stored`, which another response has replaced, to be put back if that one breaks off. `None` unless its
    /// content is at hand and the budget has room for both.
    fn before(&self, stored: Arc<Stored>) -> Option<Before> {
        // Nothing is held of what is on its way itself.
        stored.body.held()?;
        let room = self.worker.cache.memory.room_for_left(&stored)?;
        Some(Before {
            stored,
            _room: room,
        })
    }

    /// Stores an answer that has come completely.
    fn stored(&self, stored: Stored, own: Option<Box<HeaderMap>>) -> Landing {
        bump(&self.worker.counters.fills);
        let stored = Arc::new(stored);
        let kept = self.insert(&stored);
        if kept.is_ok() {
            for unsuitable in self.unsuitable(&stored) {
                tiers::give_up(self.worker, self.ask.key.as_bytes(), &unsuitable);
            }
        }
        // A lower tier may have room where memory has none.
        if matches!(kept, Ok(_) | Err(Detail::Unkept(Unkept::TooLarge))) {
            let key = self.ask.key.as_bytes();
            tiers::keep(self.worker, key, &stored, self.lease.take());
        }
        Landing::Stored {
            stored,
            reader: None,
            pump: None,
            kept: kept.map(drop),
            own,
        }
    }

    /// Puts a new response into memory, unless it was purged meanwhile or a later one has come. Returns the response it
    /// replaces.
    fn insert(&self, stored: &Arc<Stored>) -> Result<Option<Arc<Stored>>, Detail> {
        let (memory, key) = (&self.worker.cache.memory, self.ask.key.as_bytes());
        let most = self.ask.site.most_variants;
        let kept = memory.insert(key, self.ticket, stored.clone(), most);
        if kept.is_ok() {
            for unsuitable in self.unsuitable(stored) {
                memory.give_up(key, &unsuitable);
            }
        }
        let kept = kept.map_err(Detail::from);
        self.remember_uncollapsible(stored, kept.as_ref().err());
        kept
    }

    /// Returns the responses that would have answered the request but for `new`: the one that was selected for it, and
    /// those that this fetch's condition named. A full response says that none of them is suitable (RFC 9111 section
    /// 4.3.3), whatever it names in `Vary`. The one that `new` replaces is not among them.
    fn unsuitable(&self, new: &Stored) -> Vec<Arc<Stored>> {
        let candidates = self.validation_candidates().into_iter();
        let named = candidates.filter(|candidate| {
            let validators = candidate.validators();
            validators.matches && validators.has_any()
        });
        let mut all: Vec<Arc<Stored>> = self.need.selected.iter().cloned().collect();
        all.extend(named.map(|candidate| candidate.stored));
        all.dedup_by_key(|held| held.id());
        all.retain(|held| held.variant != new.variant);
        all
    }

    /// Withdraws all that could have been chosen for this request, except what a later request has brought.
    pub fn withdraw(&self) {
        let (memory, key) = (&self.worker.cache.memory, self.ask.key.as_bytes());
        let here = memory.peek(key);
        let selected = self.need.selected.as_ref();
        let mut scratch = Vec::new();
        let others = here.iter().flat_map(Variants::as_slice).filter(|stored| {
            selected.is_none_or(|selected| selected.id() != stored.id())
                && !stored.is_later_than(self.ticket)
                && stored.matches(&self.ask.fields, &mut scratch)
        });
        let all = selected.into_iter().chain(others);
        tiers::withdraw_all(self.worker, key, all.map(|stored| &**stored));
    }

    /// Withdraws what is stored if the answer of `status`, which is not stored for the reason `why`, shows that it is out
    /// of date.
    fn withdraw_if_outdated(&self, why: Unshared, status: StatusCode) {
        let selected = self.need.selected.as_ref();
        let is_fresh =
            selected.is_some_and(|held| held.facts.remaining(self.times.response).is_some());
        if why.withdraws(status, is_fresh, self.ask.asker()) {
            self.withdraw();
        }
    }

    /// Lets the origin's answer go out as it came, without storing it, for the reason `why`. That is remembered for its
    /// key. If the answer shows that stored responses are out of date, they are withdrawn.
    pub fn raw(&self, head: response::Parts, body: ResponseBody, why: Detail) -> Landing {
        let has_length = body.size_hint().exact().is_some();
        self.remember_unkept(head.status, &why, has_length);
        Landing::Raw {
            head,
            content: Content::Origin(body),
            kept: Err(why),
            pump: None,
        }
    }

    /// Remembers for its key that an answer of `status` is not stored for the reason `why`. If that one shows that stored
    /// responses are out of date, they are withdrawn.
    pub fn remember_unkept(&self, status: StatusCode, why: &Detail, has_length: bool) {
        let unshared = Unshared::of(status, why);
        // A response without a known length is kept again from time to time, to see whether it is still too large.
        if unshared != Unshared::TooLarge || has_length {
            let table = &self.worker.cache.hit_for_miss;
            let key = self.need.collapse_key(self.ask);
            table.remember(&key, self.ask.asker(), unshared, self.times.response);
        }
        self.withdraw_if_outdated(unshared, status);
    }

    /// Remembers an answer that is not worth queueing for because it must be validated each time. `unkept` says why
    /// this one is not found again.
    pub fn remember_uncollapsible(&self, stored: &Stored, unkept: Option<&Detail>) {
        let table = &self.worker.cache.hit_for_miss;
        let key = self.need.collapse_key(self.ask);
        let unkept = unkept.map(|why| Unshared::of(stored.status, why));
        let asker = self.ask.asker();
        match Unshared::of_kept(&stored.facts).or(unkept) {
            Some(why) => table.remember(&key, asker, why, self.times.response),
            // Requests that wait for such an answer in vain remember that themselves.
            None if way::is_late(&stored.facts) => {}
            None => table.forget(&key, asker),
        }
    }
}

/// Whether an answer says that parts of it may be asked for (RFC 9110 section 14.3).
fn accepts_ranges(fields: &HeaderMap) -> bool {
    let lines = fields.get_all(header::ACCEPT_RANGES).iter();
    let mut units = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    units.any(|unit| unit.trim_ascii().eq_ignore_ascii_case(b"bytes"))
}
