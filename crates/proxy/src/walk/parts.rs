//! Parts: stores a 206, combines it with other parts, and completes parts (RFC 9111 sections 3.3 and 3.4). What a 206
//! becomes in the store is in `arrived`.

mod arrived;

use crate::{
    body::Content,
    clock,
    content_key::errors::ErrorSearch,
    error::Failure,
    outcome::{Detail, Unkept},
    walk::{
        admit,
        arrival::{Around, Arrival},
        fetch::{Fetch, Landing, Missing, Plan},
        land, lookup,
        pump::{Destination, Inflow, Room, begin_fill},
        shape,
    },
};
use arrived::Arrived;
use http::{HeaderMap, Method, Response, header, response};
use http_body::Body as _;
use origin::ResponseBody;
use rules::{
    range::{self, ResolvedRange, Span},
    storable::{NotStorable, Storable},
};
use std::sync::Arc;
use store::{
    Body, Parts, Reservation, Stored,
    fill::{Reader, Writer},
};

/// A 206 that may be stored.
struct Storing {
    storable: Storable,
    /// The bytes that it brings.
    span: Span,
    /// The bytes that are here then, with those held around them.
    wanted: Span,
    /// The length of the whole representation.
    length: u64,
}

/// The content of a 206 on its way in.
struct Coming {
    inflow: Inflow,
    /// Taken before the fill may turn out not to be kept, and so close to readers.
    reader: Reader,
    /// Why it is not kept, if there is no room. Then it is for its client alone.
    kept: Result<(), Detail>,
}

impl Fetch<'_> {
    /// Handles a 206: it is stored on its way, with what is held before and behind it. If together they are all of the
    /// representation, it is stored like any 200, and other requests find it from its first byte on.
    pub fn part(
        &self,
        plan: Plan,
        response: Response<ResponseBody>,
        writer: Option<Writer>,
    ) -> Landing {
        let (head, body) = response.into_parts();
        let missing = match plan {
            Plan::Missing(missing) => Some(*missing),
            Plan::Whole | Plan::Anew | Plan::Part => None,
        };
        let storing = match self.storing(&head, missing.as_ref()) {
            Ok(storing) => storing,
            Err(why) => return self.raw(head, body, Detail::NotStored(why)),
        };
        if self.ask.error_search(&head.headers) != ErrorSearch::Nothing {
            // In a part it cannot be seen whether the whole tells of errors.
            return self.raw(head, body, Detail::NotStored(NotStorable::Status));
        }
        let announced = body.size_hint().exact();
        if announced.is_some_and(|announced| announced != storing.span.length()) {
            // It is unknown which bytes these are.
            return self.failed(Failure::BadPart);
        }
        let mut writer = writer.unwrap_or_else(|| begin_fill(self.worker).1);
        writer.announce_ranges();
        let Some(reader) = writer.fill().reader() else {
            return Landing::Failed(Failure::NoRoom);
        };
        let room = Room::of(self.worker, self.ask);
        let length = Some(storing.wanted.length());
        let has_room = room.admits(self.worker, self.ask, length, &mut writer);
        let kept = has_room.map_err(Detail::Unkept);
        if let (Err(why), None) = (&kept, &missing) {
            return self.raw(head, body, why.clone());
        }
        let old = self.need.selected.as_ref().filter(|_| missing.is_some());
        let coming = Coming {
            inflow: Inflow {
                arrival: between(Arrival::new(body).of_length(storing.span.length()), missing),
                writer,
                room,
                errors: ErrorSearch::Nothing,
            },
            reader,
            kept,
        };
        self.arriving(head, &storing, old, coming)
    }

    /// Builds the answer from a 206 while it comes, with what is held of `old`.
    fn arriving(
        &self,
        head: response::Parts,
        storing: &Storing,
        old: Option<&Arc<Stored>>,
        coming: Coming,
    ) -> Landing {
        let arrived = Arrived {
            ask: self.ask.clone(),
            ticket: self.ticket,
            times: self.times,
            head,
            storable: storing.storable,
        };
        if storing.wanted.length() == storing.length {
            self.all_of_it(&arrived, old, coming)
        } else {
            self.some_of_it(arrived, old, coming, (storing.wanted, storing.length))
        }
    }

    /// Whether a 206 may be stored, and what it brings. If it is what was `missing`, it is combined with stored parts,
    /// so its length is known even if it does not name it.
    fn storing(
        &self,
        head: &response::Parts,
        missing: Option<&Missing>,
    ) -> Result<Storing, NotStorable> {
        let is_missing = missing.is_some();
        let fields = &head.headers;
        let storable = admit::judge(self.ask, &Method::GET, self.times, head.status, fields)?;
        let range = fields.get(header::CONTENT_RANGE);
        let range = range.and_then(range::parse_content_range);
        let known = self.need.selected.as_ref().filter(|_| is_missing);
        let known = known.and_then(|stored| stored.body.length());
        match range.and_then(|range| Some((range.span, range.length.or(known)?))) {
            Some((span, length)) if is_missing || !self.is_bare(fields) => Ok(Storing {
                storable,
                span,
                wanted: missing.map_or(span, |missing| missing.wanted),
                length,
            }),
            _ => Err(NotStorable::Status),
        }
    }

    /// Whether a 206 may lack fields of its representation. In an answer to `If-Range` it need not repeat what the
    /// client has (RFC 9110 section 15.3.7), and nothing that it is combined with has them. An origin that omits any
    /// omits the type.
    fn is_bare(&self, fields: &HeaderMap) -> bool {
        let is_combined = |stored: &Arc<Stored>| {
            // Nothing is combined with a body on its way.
            !matches!(stored.body, Body::Filling(_))
                && shape::is_combinable(stored, fields, self.ask.now)
        };
        self.ask.fields.contains_key(header::IF_RANGE)
            && !fields.contains_key(header::CONTENT_TYPE)
            && !self.need.selected.as_ref().is_some_and(is_combined)
    }

    /// Handles a part that, with what is held, is all of the representation.
    fn all_of_it(&self, arrived: &Arrived, old: Option<&Arc<Stored>>, coming: Coming) -> Landing {
        let Coming {
            inflow,
            reader,
            kept,
        } = coming;
        let filling = Body::Filling(inflow.writer.fill().clone());
        let (mut stored, own) = arrived.made(self.worker, old.map(Arc::as_ref), filling);
        if kept.is_ok() {
            return self.filling(stored, own, inflow);
        }
        land::lighten(&mut stored);
        Landing::Stored {
            stored: Arc::new(stored),
            reader: Some(reader),
            pump: Some(inflow.pump(self.worker, Destination::Nowhere)),
            kept,
            own,
        }
    }

    /// Handles a part that, with what is held, is the part `wanted` of a representation of `length` bytes.
    fn some_of_it(
        &self,
        arrived: Arrived,
        old: Option<&Arc<Stored>>,
        coming: Coming,
        (wanted, length): (Span, u64),
    ) -> Landing {
        let Coming {
            mut inflow,
            reader,
            kept,
        } = coming;
        let parts = Parts::coming(length, wanted.first, inflow.writer.fill().clone());
        let (mut stored, own) = arrived.made(
            self.worker,
            old.map(Arc::as_ref),
            Body::Parts(Arc::new(parts)),
        );
        let room = self.room_for(&mut stored, &mut inflow.writer);
        let kept = match room {
            Some(_) => kept.and_then(|()| self.kept_beside(&arrived, &stored)),
            None => kept.and(Err(Detail::Unkept(Unkept::NoRoom))),
        };
        if kept.is_err() {
            inflow.writer.serve_readers();
        }
        let is_overruled = matches!(kept, Err(Detail::Unkept(Unkept::Overruled)));
        let (head, old) = (arrived.head(), old.cloned());
        let destination = Destination::Then(Box::new(move |worker, body| {
            let _until_now = room;
            // The chunks of a large part are copied; its readers have the chunks themselves.
            let is_copied = matches!(body, Body::Chunks(_));
            let Some(piece) = body.into_piece() else {
                return false;
            };
            let parts = Parts::new(length, wanted.first, piece);
            !is_overruled && arrived.keep(worker, old.as_deref(), parts) && !is_copied
        }));
        let pump = Some(inflow.pump(self.worker, destination));
        let asked = lookup::wanted(self.ask, &stored, length);
        if matches!(asked, ResolvedRange::One(span) if wanted.first <= span.first && span.last <= wanted.last)
        {
            return Landing::Stored {
                stored: Arc::new(stored),
                reader: Some(reader),
                pump,
                kept,
                own,
            };
        }
        // Another part than was asked for, which the origin may choose.
        Landing::Raw {
            head,
            content: Content::following(reader, Some(wanted.length())),
            kept: kept.map(|()| stored.facts.remaining(clock::now())),
            pump,
        }
    }

    /// Returns what a part takes of the budget on its way, beside its content. If there is no room, `None`: then it is
    /// for its client alone.
    fn room_for(&self, stored: &mut Stored, writer: &mut Writer) -> Option<Reservation> {
        let room = self.worker.cache.memory.room_for_coming(stored);
        if room.is_none() {
            land::lighten(stored);
            writer.spill();
        }
        room
    }

    /// Whether the part is kept. One that a reload has overruled is not. One that is fetched beside a whole on its way, or
    /// comes with an older one of the same date, goes to the requests that want it meanwhile.
    fn kept_beside(&self, arrived: &Arrived, part: &Stored) -> Result<(), Detail> {
        self.not_overruled()?;
        if self.need.is_beside_fill(self.ask) || arrived.is_outlived(self.worker, part) {
            return Err(Detail::Unkept(Unkept::Beside));
        }
        Ok(())
    }
}

/// Puts what comes between what is held around it.
fn between(arrival: Arrival, missing: Option<Missing>) -> Arrival {
    match missing {
        Some(missing) => arrival.between(Around {
            before: missing.before.into(),
            after: missing.after.into(),
        }),
        None => arrival,
    }
}
