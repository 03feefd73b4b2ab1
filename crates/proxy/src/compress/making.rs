//! Forms that are being made: whoever wants one of them follows it.

use rules::coding::Coding;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::{
    Form, Memory,
    fill::{Fill, Reader, Writer},
};

/// Forms under way, by the identity of the response and the coding. Asked only where a form is wanted and not there.
#[derive(Debug, Default)]
pub struct Making(Mutex<HashMap<(u64, Coding), Arc<Fill>>>);

/// Whose it is to make a form.
pub enum Begun<R> {
    /// The caller's.
    Mine(Mine<R>),
    /// Not the caller's.
    Not(Instead),
}

/// Who makes a form that is not the caller's to make.
pub enum Instead {
    /// Another, who can be followed.
    Theirs(Reader),
    /// Nobody: it was made meanwhile.
    Made(Form),
    /// Nobody, as it cannot be kept: the response is not in memory, or the form that is being made has outgrown it.
    Unkept,
    /// Nobody, as there is no room to make it now.
    NoRoom,
}

/// What whoever makes a form has.
pub struct Mine<R> {
    /// The right to make it.
    pub claim: Claim,
    /// Where it goes.
    pub writer: Writer,
    /// Follows it.
    pub reader: Reader,
    /// What the caller took for it.
    pub room: R,
}

/// The right to make a form; given back when dropped.
#[derive(Debug)]
pub struct Claim {
    making: Arc<Making>,
    id: u64,
    coding: Coding,
}

impl Making {
    /// Who makes the form in `coding` of the response of identity `id`, kept under `key`. `room` is asked for where it is the
    /// caller, and before anybody can follow.
    pub fn begin<R>(
        self: &Arc<Self>,
        memory: &Memory,
        key: &[u8],
        (id, coding): (u64, Coding),
        room: impl FnOnce() -> Option<R>,
    ) -> Begun<R> {
        let mut under_way = self.lock();
        let place = match under_way.entry((id, coding)) {
            Entry::Occupied(fill) => {
                let reader = fill.get().reader();
                return Begun::Not(reader.map_or(Instead::Unkept, Instead::Theirs));
            }
            Entry::Vacant(place) => place,
        };
        // Whoever made it has stored it before giving back the claim.
        let held = memory.peek(key);
        let held = held.as_ref().and_then(|variants| {
            let mut all = variants.as_slice().iter();
            all.find(|stored| stored.id() == id)
        });
        let Some(held) = held else {
            return Begun::Not(Instead::Unkept);
        };
        if let Some(form) = held.forms.get(coding) {
            return Begun::Not(Instead::Made(form.clone()));
        }
        let Some(room) = room() else {
            return Begun::Not(Instead::NoRoom);
        };
        let (fill, writer) = Fill::begin(memory.budget().reservation());
        let Some(reader) = fill.reader() else {
            return Begun::Not(Instead::Unkept);
        };
        place.insert(fill);
        let making = self.clone();
        let claim = Claim { making, id, coding };
        Begun::Mine(Mine {
            claim,
            writer,
            reader,
            room,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, Coding), Arc<Fill>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// The identity of the response.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The coding.
    pub const fn coding(&self) -> Coding {
        self.coding
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.making.lock().remove(&(self.id, self.coding));
    }
}
