//! What is not stored any more, and still read: a client that takes its time holds the bytes, wherever the store has them. They stay in
//! the budget until it has them all.
//!
//! Whether they are read is seen by their counts of references, once what is stored refers to them no more.

use crate::{Body, Budget, Reservation, Variants, body::Block};
use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Smaller ones are not looked after: what a client has not read of them lies in its connection's buffers.
const LARGE: u64 = 64 << 10;

/// How many are looked at each time.
const STEP: usize = 8;

#[derive(Debug)]
pub(super) struct Leaving {
    list: Mutex<List>,
    count: AtomicUsize,
    budget: Arc<Budget>,
}

/// What it holds is seldom more than a few.
#[derive(Debug, Default)]
struct List {
    left: VecDeque<LeavingBlocks>,
    /// The addresses of all blocks in it. Each is there once: two would take each other for readers.
    addresses: HashSet<usize>,
}

/// What left together. The bytes alone: what was made of them, and is kept with the response, refers to them too.
#[derive(Debug)]
struct LeavingBlocks {
    blocks: Vec<Block>,
    room: Reservation,
}

/// What `old` refers to and `new` does not, each block once, of responses that are looked after.
pub(super) fn blocks_of(old: &Variants, new: Option<&Variants>) -> Vec<Block> {
    let mut blocks = BTreeMap::new();
    let old = old.as_slice().iter();
    for stored in old.filter(|stored| stored.weight() >= LARGE) {
        let all = stored.bodies().flat_map(Body::blocks);
        blocks.extend(all.map(|block| (block.address(), block)));
    }
    if blocks.is_empty() {
        return Vec::new();
    }
    for stored in new.map(Variants::as_slice).unwrap_or_default() {
        for block in stored.bodies().flat_map(Body::blocks) {
            blocks.remove(&block.address());
        }
    }
    blocks.into_values().collect()
}

impl Leaving {
    /// Nothing has left yet. What does counts against `budget`.
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self {
            list: Mutex::default(),
            count: AtomicUsize::new(0),
            budget: budget.clone(),
        }
    }

    /// Nothing that is stored refers to `blocks` any more. Where they are stored again, that is [told](Self::comes_back).
    pub fn add(&self, blocks: Vec<Block>) {
        let mut blocks = blocks;
        blocks.retain(Block::is_shared);
        if blocks.is_empty() {
            return;
        }
        let mut list = self.lock();
        // Two responses that shared it may leave one after the other.
        blocks.retain(|block| list.addresses.insert(block.address()));
        if blocks.is_empty() {
            return;
        }
        let mut room = self.budget.reservation();
        room.take(blocks.iter().map(Block::weight).sum());
        list.left.push_back(LeavingBlocks { blocks, room });
        self.count.store(list.left.len(), Relaxed);
    }

    /// What is stored again is weighed there, and leaves once more when nothing refers to it any more. One load where there are none.
    pub fn comes_back(&self, variants: &Variants) {
        if self.count.load(Relaxed) == 0 {
            return;
        }
        let bodies = variants.as_slice().iter().flat_map(|one| one.bodies());
        let back: HashSet<usize> = bodies
            .flat_map(Body::blocks)
            .map(|block| block.address())
            .collect();
        let mut gone = Vec::new();
        let mut list = self.lock();
        if list.addresses.is_disjoint(&back) {
            return;
        }
        list.addresses.retain(|address| !back.contains(address));
        for left in &mut list.left {
            let is_back = |block: &mut Block| back.contains(&block.address());
            gone.extend(left.blocks.extract_if(.., is_back));
            left.room.hold(left.blocks.iter().map(Block::weight).sum());
        }
        list.left.retain(|left| !left.blocks.is_empty());
        self.count.store(list.left.len(), Relaxed);
        drop(list);
        drop(gone);
    }

    /// Looks at some of them, and lets those go that nobody reads any more. One load where there are none.
    pub fn look(&self) {
        if self.count.load(Relaxed) == 0 {
            return;
        }
        let mut gone = Vec::new();
        let mut list = self.lock();
        for _ in 0..STEP.min(list.left.len()) {
            let Some(mut left) = list.left.pop_front() else {
                break;
            };
            let from = gone.len();
            gone.extend(left.blocks.extract_if(.., |block| !block.is_shared()));
            for block in gone.iter().skip(from) {
                list.addresses.remove(&block.address());
            }
            left.room.hold(left.blocks.iter().map(Block::weight).sum());
            if !left.blocks.is_empty() {
                list.left.push_back(left);
            }
        }
        self.count.store(list.left.len(), Relaxed);
        // They are freed when nobody waits for the list any more.
        drop(list);
        drop(gone);
    }

    /// Looks at all of them once.
    pub fn look_through(&self) {
        for _ in 0..self.count.load(Relaxed).div_ceil(STEP) {
            self.look();
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
