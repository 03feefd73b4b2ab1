//! Forms that are being made: whoever wants one of them follows it.

use rules::coding::Coding;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::{
    Form, Memory, Stored, Variants,
    fill::{Fill, Reader, Writer},
};

/// Forms under way, by the identity of the content and the coding. Asked only where a form is wanted and not there.
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
    /// Nobody, as it cannot be kept: the content is not in memory, or the form that is being made has outgrown it.
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
    content: u64,
    coding: Coding,
}

impl Making {
    /// Who makes the form in `coding` of the content of `stored`, kept under `key`. `room` is asked for where it is the caller, and
    /// before anybody can follow.
    pub fn begin<R>(
        self: &Arc<Self>,
        memory: &Memory,
        key: &[u8],
        (stored, coding): (&Stored, Coding),
        room: impl FnOnce() -> Option<R>,
    ) -> Begun<R> {
        let content = stored.content();
        let mut under_way = self.lock();
        let place = match under_way.entry((content, coding)) {
            Entry::Occupied(fill) => {
                let reader = fill.get().reader();
                return Begun::Not(reader.map_or(Instead::Unkept, Instead::Theirs));
            }
            Entry::Vacant(place) => place,
        };
        // Whoever made it has stored it before giving back the claim.
        let held = memory.peek(key);
        let all = held.as_ref().map_or(&[][..], Variants::as_slice).iter();
        let mut over = all.filter(|held| held.content() == content).peekable();
        if over.peek().is_none() {
            return Begun::Not(Instead::Unkept);
        }
        if let Some(form) = over.find_map(|held| held.forms.get(coding)) {
            // What is held may have been freshened meanwhile, or be another variant: each has fields of its own.
            return Begun::Not(Instead::Made(stored.form(form.coded())));
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
        let claim = Claim {
            making,
            content,
            coding,
        };
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
    /// The identity of the content.
    pub const fn content(&self) -> u64 {
        self.content
    }

    /// The coding.
    pub const fn coding(&self) -> Coding {
        self.coding
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.making.lock().remove(&(self.content, self.coding));
    }
}
