//! Land: what becomes of an origin's answer or failure.

mod failing;
mod freshen;
mod unkept;
mod unsuitable;

pub use failing::{instead, on_failure, usable_on_failure};
pub use unkept::lighten;

use crate::{
    content_key::errors::ErrorSearch,
    error::Failure,
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
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use http_body::Body as _;
use origin::{Lifetime, ResponseBody};
use std::{
    sync::Arc,
    task::{Context, Waker},
};
use store::{Body, Stored, fill::Writer, shared::Lease};

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
        let most = (!is_searched).then(|| AT_ONCE.min(room.in_memory));
        let content = match content_at_once(&mut arrival, length, most) {
            Ok(content) => content,
            Err(why) => return self.failed(why),
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
            _reservation: room,
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
        lighten(&mut stored);
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

    /// Prepares `stored`, which another response has replaced, to be put back if that one breaks off. `None` unless its
    /// content is at hand and the budget has room for both.
    fn before(&self, stored: Arc<Stored>) -> Option<Before> {
        // Nothing is held of what is on its way itself.
        stored.body.held()?;
        let room = self.worker.cache.memory.room_for_left(&stored)?;
        Some(Before {
            stored,
            _reservation: room,
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

    /// Puts a new response into memory, unless it was purged or overruled meanwhile or a later one has come. Returns the
    /// response it replaces.
    fn insert(&self, stored: &Arc<Stored>) -> Result<Option<Arc<Stored>>, Detail> {
        self.not_overruled()?;
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
}

/// Returns the content of an answer, which may have announced its `length`, if all of it has already come, and it is no
/// more than `most` bytes. Without `most`, none is taken at once.
fn content_at_once(
    arrival: &mut Arrival,
    length: Option<u64>,
    most: Option<u64>,
) -> Result<Option<Bytes>, Failure> {
    match most {
        Some(most) if length.is_none_or(|length| length <= most) => {
            // The reader of the rest polls again before it waits.
            arrival.whole(&mut Context::from_waker(Waker::noop()), most)
        }
        _ => Ok(None),
    }
}

/// Whether an answer says that parts of it may be asked for (RFC 9110 section 14.3).
fn accepts_ranges(fields: &HeaderMap) -> bool {
    let lines = fields.get_all(header::ACCEPT_RANGES).iter();
    let mut units = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    units.any(|unit| unit.trim_ascii().eq_ignore_ascii_case(b"bytes"))
}
