//! Parts: 206 is stored, combined with other parts, and completed (RFC 9111 sections 3.3 and 3.4).

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    error::Failure,
    outcome::{Detail, Unkept},
    walk::{
        admit::{self, Admitted, Times},
        arrival::Arrival,
        below,
        fetch::{Fetch, Landing, clone_head},
        forward::begin_fill,
        pump::{Destination, Pump, Room},
    },
};
use http::{HeaderMap, Method, Response, StatusCode, header, response};
use http_body::Body as _;
use origin::ResponseBody;
use rules::{
    partial, range,
    storable::{NotStorable, Storable},
    validate,
};
use std::{cmp::Ordering, rc::Rc, sync::Arc};
use store::{
    Body, Fields, Parts, Refused, Stored, Ticket,
    fill::Writer,
    purge::{Marks, Standing},
};

impl Fetch<'_> {
    /// A 206 for which nothing is stored to combine it with: it passes, and is stored as a part on the way.
    pub fn part(&self, response: Response<ResponseBody>, writer: Option<Writer>) -> Landing {
        let (head, body) = response.into_parts();
        let judged = admit::judge(
            self.ask,
            &Method::GET,
            self.times,
            head.status,
            &head.headers,
        );
        let range = head
            .headers
            .get(header::CONTENT_RANGE)
            .and_then(range::parse_content_range);
        let (storable, span, length) = match (judged, range) {
            (Ok(storable), Some(range)) => match range.length {
                Some(length) => (storable, range.span, length),
                None => return self.raw(head, body, Detail::NotStored(NotStorable::Status)),
            },
            (Err(why), _) => return self.raw(head, body, Detail::NotStored(why)),
            (_, None) => return self.raw(head, body, Detail::NotStored(NotStorable::Status)),
        };
        if self.is_bare(&head.headers) {
            return self.raw(head, body, Detail::NotStored(NotStorable::Status));
        }
        let mut writer = writer.unwrap_or_else(|| begin_fill(self.worker).1);
        let announced = body.size_hint().exact();
        let room = Room::of(self.worker, self.ask);
        if !room.admits(self.worker, self.ask, announced, &mut writer) {
            return self.raw(head, body, Detail::Unkept(Unkept::TooLarge));
        }
        let Some(reader) = writer.fill().reader() else {
            return Landing::Failed(Failure::NoRoom);
        };
        let arrived = self.arrived(&head, storable);
        let destination = Destination::Then(Box::new(move |worker, body| {
            // Unless it is as long as `Content-Range` says, nobody knows which bytes these are.
            let piece = body
                .into_piece()
                .filter(|piece| piece.len() == span.length());
            let Some(piece) = piece else {
                return;
            };
            let parts = Parts::new(length, span.first, piece);
            let stored = arrived.stored(worker, parts);
            let _ = arrived.keep(worker, stored);
        }));
        let pump = Pump::new(self.worker, Arrival::new(body), writer, destination, room);
        Landing::Raw {
            head,
            content: Content::following(reader, announced),
            why: None,
            pump: Some(pump),
        }
    }

    /// Whether a 206 may lack fields of its representation: to `If-Range` it need not repeat what the client has (RFC 9110 section
    /// 15.3.7), and nothing that it is combined with has them. An origin that leaves any out leaves out the type.
    fn is_bare(&self, fields: &HeaderMap) -> bool {
        let is_combined =
            |stored: &Arc<Stored>| partial::combinable(&stored.fields.unpack(0), fields);
        self.ask.fields.contains_key(header::IF_RANGE)
            && !fields.contains_key(header::CONTENT_TYPE)
            && !self.need.selected.as_ref().is_some_and(is_combined)
    }

    /// A 206 with what was missing: combined with what is stored (RFC 9111 section 3.4).
    pub async fn combine(&self, response: Response<ResponseBody>) -> Landing {
        let (head, body) = response.into_parts();
        let range = head
            .headers
            .get(header::CONTENT_RANGE)
            .and_then(range::parse_content_range);
        let judged = admit::judge(
            self.ask,
            &Method::GET,
            self.times,
            head.status,
            &head.headers,
        );
        let known = self.need.selected.as_ref();
        let known = known.and_then(|stored| stored.body.length());
        let (storable, span, length) = match (judged, range) {
            (Ok(storable), Some(range)) => match range.length.or(known) {
                Some(length) => (storable, range.span, length),
                None => return self.raw(head, body, Detail::NotStored(NotStorable::Status)),
            },
            (Err(why), _) => return self.raw(head, body, Detail::NotStored(why)),
            (_, None) => return self.raw(head, body, Detail::NotStored(NotStorable::Status)),
        };
        let bytes =
            match collect(self.worker, body, Room::of(self.worker, self.ask).in_memory).await {
                Ok(bytes) if bytes.len() as u64 == span.length() => bytes,
                Ok(_) => return self.failed(Failure::BadPart),
                Err(failure) => return self.failed(failure),
            };
        let arrived = self.arrived(&head, storable);
        let new = arrived.stored(self.worker, Parts::new(length, span.first, bytes));
        // Together with what was there when the request came, whatever has become of that in the store meanwhile.
        let selected = self.need.selected.as_deref();
        let answer = selected.and_then(|old| arrived.combined(self.worker, old, &new));
        let own = selected.and_then(|old| arrived.own_with(old));
        let answer = answer.unwrap_or(new);
        let stored = Arc::new(answer.clone());
        let kept = arrived.keep(self.worker, answer);
        let kept = kept.map_err(Detail::from);
        Landing::Stored {
            stored,
            reader: None,
            pump: None,
            kept,
            own,
        }
    }

    fn arrived(&self, head: &response::Parts, storable: Storable) -> Arrived {
        Arrived {
            ask: self.ask.clone(),
            ticket: self.ticket,
            times: self.times,
            head: clone_head(head),
            storable,
        }
    }
}

/// A 206 that may be stored: its head, and what asked for it.
struct Arrived {
    ask: Rc<Ask>,
    ticket: Ticket,
    times: Times,
    head: response::Parts,
    storable: Storable,
}

impl Arrived {
    /// Its parts as a stored response.
    fn stored(&self, worker: &Worker, parts: Parts) -> Stored {
        let mut head = clone_head(&self.head);
        // What is kept is the representation, as far as it is known.
        head.status = StatusCode::OK;
        head.headers.remove(header::CONTENT_RANGE);
        head.headers.remove(header::CONTENT_LENGTH);
        let admitted = Admitted::new(&self.ask, self.storable, &head.headers);
        let (stored, _) = admit::new_stored(
            worker,
            &self.ask,
            self.ticket,
            head,
            admitted,
            Body::Parts(Arc::new(parts)),
            self.times.response,
        );
        stored
    }

    /// Stores parts beside, or combined with, what is there of the same representation.
    fn keep(&self, worker: &Worker, new: Stored) -> Result<(), Refused> {
        let (memory, key) = (&worker.cache.memory, self.ask.key.as_bytes());
        let mut scratch = Vec::new();
        let (marks, most) = (new.marks.clone(), self.ask.site.most_variants);
        let mut is_new = true;
        let kept = memory.combine(key, self.ticket, marks.as_deref(), most, |variants| {
            let now = self.times.response;
            let old =
                variants.and_then(|variants| variants.select(&self.ask.fields, &mut scratch, now));
            // What was purged and not swept yet would be new again.
            let old = old.filter(|old| memory.log().standing(key, old) == Standing::Good);
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
        kept.map(|kept| {
            if is_new {
                below::keep(worker, key, &kept, None);
            }
        })
    }

    /// `new` over the bytes and fields of `old`, where both are parts of one representation: a complete one becomes an ordinary
    /// 200. Fields that the 206 does not carry stay (RFC 9111 section 3.4): an answer to `If-Range` leaves most of them out
    /// (RFC 9110 section 15.3.7). It is purged by what either was tagged with.
    fn combined(&self, worker: &Worker, old: &Stored, new: &Stored) -> Option<Stored> {
        let mut fields = old.all_fields(8);
        if !partial::combinable(&fields, &new.fields.unpack(0)) {
            return None;
        }
        let Body::Parts(newer) = &new.body else {
            return None;
        };
        let body = match &old.body {
            Body::Parts(older) => {
                let parts = older.combined(newer);
                parts
                    .whole()
                    .unwrap_or_else(|| Body::Parts(Arc::new(parts)))
            }
            // The whole is there already.
            Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) | Body::Disk(_) => old.body.clone(),
            Body::Filling(_) => return None,
        };
        validate::freshen(&mut fields, &self.head.headers, &self.ask.site.targets);
        let judged = admit::judge(&self.ask, &Method::GET, self.times, old.status, &fields);
        let storable = judged.unwrap_or(self.storable);
        let kept = admit::stored_fields(
            &self.ask,
            (old.status, self.head.version),
            storable,
            &fields,
            self.times.response,
        );
        let all = Stored::new(
            self.ticket.began,
            old.status,
            Fields::pack(&kept.fields),
            storable.facts,
            admit::variant(&self.ask, &fields),
            self.marks_of_both(worker, old, new),
            body,
        );
        let all = all.with_unsent(kept.unsent).fetched_by(self.ticket);
        Some(all.after(old).with_made_of(old))
    }

    /// The fields for the client whose request completed `old`, where they are more than what is stored.
    fn own_with(&self, old: &Stored) -> Option<Box<HeaderMap>> {
        let (first_line, update) = ((old.status, self.head.version), &self.head.headers);
        let mut fields = old.all_fields(8);
        validate::freshen(&mut fields, update, &self.ask.site.targets);
        let updated = (&old.fields, &fields);
        admit::own_updated(&self.ask, first_line, self.storable, updated, update)
    }

    fn marks_of_both(&self, worker: &Worker, old: &Stored, new: &Stored) -> Option<Arc<Marks>> {
        let both = [old, new].into_iter();
        let mut tags: Vec<_> = both
            .filter_map(|stored| stored.marks.as_ref())
            .flat_map(|marks| marks.texts())
            .collect();
        tags.sort_unstable();
        tags.dedup();
        let log = worker.cache.memory.log();
        log.tags().marks(tags, self.ticket.began)
    }
}

/// Whether `old` stays where `new` has come, with which it cannot be combined: it is the later of the two (RFC 9111 section 4), or as
/// late and all of the representation, be it on its way.
fn outlives(old: &Stored, new: &Stored) -> bool {
    match old.facts.date.cmp(&new.facts.date) {
        Ordering::Greater => true,
        Ordering::Equal => matches!(old.body, Body::Filling(_)) || old.body.is_complete(),
        Ordering::Less => matches!(old.body, Body::Filling(_)),
    }
}

/// Reads a whole body into memory, within the budget and `largest`.
async fn collect(
    worker: &Worker,
    body: ResponseBody,
    largest: u64,
) -> Result<bytes::Bytes, Failure> {
    use http_body_util::BodyExt;
    let mut reservation = worker.cache.memory.budget().reservation();
    let mut body = body;
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::Origin(Arc::new(error)))?;
        if let Ok(data) = frame.into_data() {
            if all.len() as u64 + data.len() as u64 > largest
                || !reservation.grow(data.len() as u64)
            {
                return Err(Failure::NoRoom);
            }
            all.extend_from_slice(&data);
        }
    }
    Ok(all.into())
}
