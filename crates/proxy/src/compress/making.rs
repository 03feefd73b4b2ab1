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
pub enum Begun {
    /// The caller's.
    Mine(Claim, Writer, Reader),
    /// Another's, who can be followed.
    Theirs(Reader),
    /// Nobody's: it was made meanwhile.
    Made(Form),
    /// It cannot be kept: the response is not in memory, or the form that is being made has outgrown it.
    Unkept,
}

/// The right to make a form; given back when dropped.
#[derive(Debug)]
pub struct Claim {
    making: Arc<Making>,
    id: u64,
    coding: Coding,
}

impl Making {
    /// Who makes the form in `coding` of the response of identity `id`, kept under `key`.
    pub fn begin(self: &Arc<Self>, memory: &Memory, key: &[u8], id: u64, coding: Coding) -> Begun {
        let mut under_way = self.lock();
        let place = match under_way.entry((id, coding)) {
            Entry::Occupied(fill) => {
                return fill.get().reader().map_or(Begun::Unkept, Begun::Theirs);
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
            return Begun::Unkept;
        };
        if let Some(form) = held.forms.get(coding) {
            return Begun::Made(form.clone());
        }
        let (fill, writer) = Fill::begin(memory.budget().reservation());
        let Some(reader) = fill.reader() else {
            return Begun::Unkept;
        };
        place.insert(fill);
        let making = self.clone();
        Begun::Mine(Claim { making, id, coding }, writer, reader)
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
