//! Parts: 206 is stored, combined with other parts, and completed (RFC 9111 sections 3.3 and 3.4). What is made of one, and kept, is
//! told in `arrived`.

mod arrived;

use crate::{
    body::Content,
    error::Failure,
    outcome::{Detail, Unkept},
    walk::{
        admit,
        arrival::{Around, Arrival},
        fetch::{Fetch, Landing, Missing, Plan},
        forward::begin_fill,
        lookup,
        pump::{Destination, Inflow, Room},
    },
};
use arrived::Arrived;
use http::{HeaderMap, Method, Response, header, response};
use http_body::Body as _;
use origin::ResponseBody;
use rules::{
    partial,
    range::{self, ResolvedRange, Span},
    storable::{NotStorable, Storable},
};
use std::sync::Arc;
use store::{
    Body, Parts, Stored,
    fill::{Reader, Writer},
};

/// A 206 that may be stored.
struct Storing {
    storable: Storable,
    /// Which bytes it brings.
    span: Span,
    /// How many the representation has.
    length: u64,
}

impl Fetch<'_> {
    /// A 206: stored on its way, with what is held before and behind it. What comes to all of the representation is stored as any 200
    /// is, and is there for everybody from its first byte on.
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
        let storing = match self.storing(&head, missing.is_some()) {
            Ok(storing) => storing,
            Err(why) => return self.raw(head, body, Detail::NotStored(why)),
        };
        let announced = body.size_hint().exact();
        if announced.is_some_and(|announced| announced != storing.span.length()) {
            // Nobody knows which bytes these are.
            return self.failed(Failure::BadPart);
        }
        let mut writer = writer.unwrap_or_else(|| begin_fill(self.worker).1);
        // Taken before the fill may turn out not to be kept, and close to readers.
        let Some(reader) = writer.fill().reader() else {
            return Landing::Failed(Failure::NoRoom);
        };
        let wanted = missing.as_ref().map_or(storing.span, |held| held.wanted);
        let room = Room::of(self.worker, self.ask);
        let has_room = room.admits(self.worker, self.ask, Some(wanted.length()), &mut writer);
        if !has_room && missing.is_none() {
            return self.raw(head, body, Detail::Unkept(Unkept::TooLarge));
        }
        let arrived = Arrived {
            ask: self.ask.clone(),
            ticket: self.ticket,
            times: self.times,
            head,
            storable: storing.storable,
        };
        let old = self.need.selected.as_ref().filter(|_| missing.is_some());
        let inflow = Inflow {
            arrival: between(Arrival::new(body).of_length(storing.span.length()), missing),
            writer,
            room,
        };
        let kept = if has_room {
            Ok(())
        } else {
            Err(Detail::Unkept(Unkept::TooLarge))
        };
        if wanted.length() == storing.length {
            self.all_of_it(&arrived, old, inflow, (reader, kept))
        } else {
            self.some_of_it(
                arrived,
                old,
                inflow,
                (reader, kept),
                (wanted, storing.length),
            )
        }
    }

    /// Whether a 206 may be stored, and what it brings. `is_missing`: it goes with stored parts, so that its length is known where it does
    /// not say.
    fn storing(&self, head: &response::Parts, is_missing: bool) -> Result<Storing, NotStorable> {
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
                length,
            }),
            _ => Err(NotStorable::Status),
        }
    }

    /// Whether a 206 may lack fields of its representation: to `If-Range` it need not repeat what the client has (RFC 9110 section
    /// 15.3.7), and nothing that it is combined with has them. An origin that leaves any out leaves out the type.
    fn is_bare(&self, fields: &HeaderMap) -> bool {
        let is_combined = |stored: &Arc<Stored>| {
            partial::combinable(&stored.fields.unpack(0), fields, self.ask.now)
        };
        self.ask.fields.contains_key(header::IF_RANGE)
            && !fields.contains_key(header::CONTENT_TYPE)
            && !self.need.selected.as_ref().is_some_and(is_combined)
    }

    /// What comes is, with what is held, all of the representation.
    fn all_of_it(
        &self,
        arrived: &Arrived,
        old: Option<&Arc<Stored>>,
        inflow: Inflow,
        (reader, kept): (Reader, Result<(), Detail>),
    ) -> Landing {
        let filling = Body::Filling(inflow.writer.fill().clone());
        let (stored, own) = arrived.made(self.worker, old.map(Arc::as_ref), filling);
        if kept.is_ok() {
            return self.filling(stored, own, inflow, false);
        }
        Landing::Stored {
            stored: Arc::new(stored),
            reader: Some(reader),
            pump: Some(inflow.pump(self.worker, Destination::Nowhere)),
            kept,
            own,
        }
    }

    /// What comes is, with what is held, the part `wanted` of a representation of `length` bytes.
    fn some_of_it(
        &self,
        arrived: Arrived,
        old: Option<&Arc<Stored>>,
        inflow: Inflow,
        (reader, kept): (Reader, Result<(), Detail>),
        (wanted, length): (Span, u64),
    ) -> Landing {
        let coming = Parts::coming(length, wanted.first, inflow.writer.fill().clone());
        let (stored, own) = arrived.made(
            self.worker,
            old.map(Arc::as_ref),
            Body::Parts(Arc::new(coming)),
        );
        let (head, old) = (arrived.head(), old.cloned());
        let destination = Destination::Then(Box::new(move |worker, body| {
            // Those of a large one are copied: who reads has the chunks themselves.
            let is_copied = matches!(body, Body::Chunks(_));
            let Some(piece) = body.into_piece() else {
                return false;
            };
            let parts = Parts::new(length, wanted.first, piece);
            arrived.keep(worker, old.as_deref(), parts) && !is_copied
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
        // Another part than was asked for, as the origin may choose.
        Landing::Raw {
            head,
            content: Content::following(reader, Some(wanted.length())),
            kept,
            pump,
        }
    }
}

/// What comes, between what is held around it.
fn between(arrival: Arrival, missing: Option<Missing>) -> Arrival {
    match missing {
        Some(missing) => arrival.between(Around {
            before: missing.before.into(),
            after: missing.after.into(),
        }),
        None => arrival,
    }
}
