//! What the disk has, as lookup uses it.

use super::{Decision, Hit, Looked, Need, judge::among};
use crate::{
    ask::Ask,
    cache::Worker,
    walk::{coding, page},
};
use rules::{status::ForwardReason, time::Time};
use std::sync::Arc;
use store::{
    Body, Stored, Variants,
    disk::{Bodies, Disk, DiskLookup},
};

/// Like [`adopted`], for what the disk has brought.
pub fn from_disk(worker: &Worker, ask: &Ask, now: Time, found: Vec<Arc<Stored>>) -> Decision {
    for stored in &found {
        stored.set_below();
    }
    adopted(worker, ask, now, found)
}

/// Returns what a request finds after a lower tier has brought something.
pub fn adopted(worker: &Worker, ask: &Ask, now: Time, found: Vec<Arc<Stored>>) -> Decision {
    let (memory, most) = (&worker.cache.memory, ask.site.most_variants);
    match memory.adopt(ask.key.as_bytes(), found, most) {
        Some(variants) => among(worker, ask, now, &variants),
        None => Decision::Forward(Need::miss(ForwardReason::UriMiss)),
    }
}

/// Looks up on disk what memory has nothing of. `need` is what the request lacks as far as memory knows.
#[inline]
pub fn on_disk(worker: &Worker, ask: &Ask, now: Time, disk: &Disk, need: Need) -> Looked {
    let bodies = if ask.receipt.connection.splices.is_some() {
        Bodies::Left
    } else {
        Bodies::Read
    };
    Looked::Decided(match disk.find(ask.key.as_bytes(), bodies) {
        DiskLookup::Nothing => Decision::Forward(need),
        DiskLookup::Wait(finding) => return Looked::Wait(finding),
        DiskLookup::Here(list) => {
            let is_kept = list.iter().any(|stored| is_worked_on(ask, stored));
            if is_kept || worker.promotes() {
                from_disk(worker, ask, now, list)
            } else {
                unpromoted(worker, ask, now, list, need)
            }
        }
    })
}

/// Returns what a request finds on disk and leaves there. `need` is what it lacks as far as memory knows, which may have
/// other variants.
fn unpromoted(
    worker: &Worker,
    ask: &Ask,
    now: Time,
    found: Vec<Arc<Stored>>,
    need: Need,
) -> Decision {
    for stored in &found {
        stored.set_below();
    }
    let Some(variants) = Variants::from_vec(found) else {
        return Decision::Forward(need);
    };
    match among(worker, ask, now, &variants) {
        Decision::Forward(on_disk) => Decision::Forward(on_disk.beside(need.others)),
        found => found,
    }
}

/// Reads all of `left`, a hit that memory holds without its body, for a client that gets [more](is_worked_on) than the
/// bytes in the file, and from time to time for one that gets them in TLS.
#[inline]
pub fn drawn(worker: &Worker, ask: &Ask, now: Time, disk: &Disk, left: Hit) -> Looked {
    let in_tls = || ask.receipt.connection.splices.is_none() && worker.promotes();
    if !is_worked_on(ask, &left.stored) && !in_tls() {
        return Looked::Decided(Decision::Hit(left));
    }
    match disk.find(ask.key.as_bytes(), Bodies::Read) {
        DiskLookup::Here(list) => Looked::Decided(from_disk(worker, ask, now, list)),
        DiskLookup::Wait(finding) => Looked::Wait(finding),
        DiskLookup::Nothing => Looked::Decided(Decision::Hit(left)),
    }
}

/// Whether the body was left in its segment. To send it from there as it is costs no more than from memory.
pub fn is_left(stored: &Stored) -> bool {
    matches!(&stored.body, Body::Disk(bytes) if bytes.is_in_segment())
}

/// Whether the client gets more than the stored bytes: in a coding that is made here, or composed. What is made is kept
/// with what is in memory, so that it is made once.
fn is_worked_on(ask: &Ask, stored: &Stored) -> bool {
    coding::is_wanted(ask, stored) || page::is_stored_page(ask, stored)
}
