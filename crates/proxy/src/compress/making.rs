//! Forms that are being made: requests for one of them follow it.

use rules::coding::Coding;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::{
    Form, Memory, Stored, Variants,
    fill::{Fill, Reader, Writer},
};

/// The forms being made, by the identity of the content and the coding. It is used only if a form is wanted and
/// missing.
#[derive(Debug, Default)]
pub struct Making(Mutex<HashMap<(u64, Coding), Arc<Fill>>>);

/// Whether the caller is to make a form.
pub enum Begun<R> {
    /// The caller makes it.
    Mine(Mine<R>),
    /// The caller does not make it.
    Not(Instead),
}

/// What there is instead of a form that the caller makes.
pub enum Instead {
    /// Another task makes it, and can be followed.
    Theirs(Reader),
    /// It was made meanwhile.
    Made(Form),
    /// It cannot be kept: the content is not in memory, or the form that is being made has outgrown memory.
    Unkept,
    /// There is no room to make it now.
    NoRoom,
}

/// What the maker of a form gets.
pub struct Mine<R> {
    /// The right to make it.
    pub claim: Claim,
    /// Where the form is written.
    pub writer: Writer,
    /// Follows the form.
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
    /// Finds out who makes the form in `coding` of the content of `stored`, kept under `key`. `room` is called if it is
    /// the caller, before any reader can follow.
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
        // A maker stores the form before it gives back the claim.
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
