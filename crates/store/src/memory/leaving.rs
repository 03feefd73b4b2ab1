//! What is no longer stored, and still read. A slow client holds the bytes, wherever the store had them. They count in
//! the budget until the client has them all.
//!
//! Reference counts tell whether bytes are read, once no stored response refers to them.

use crate::{Body, Budget, Reservation, Stored, Variants, body::Block};
use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Smaller bodies are not tracked: what a client has not read of them is in its connection's buffers. A worker may keep
/// a short one to send it again.
const LARGE: u64 = 64 << 10;

/// How many are looked at each time.
const STEP: usize = 8;

#[derive(Debug)]
pub(super) struct Leaving {
    list: Mutex<List>,
    count: AtomicUsize,
    budget: Arc<Budget>,
}

/// It seldom holds more than a few.
#[derive(Debug, Default)]
struct List {
    left: VecDeque<LeavingBlocks>,
    /// The addresses of all blocks in the list. Each block is there once: two would take each other for readers.
    addresses: HashSet<usize>,
}

/// What left together. Only the bytes: what was made of them, and is kept with the response, refers to them too.
#[derive(Debug)]
struct LeavingBlocks {
    blocks: Vec<Block>,
    room: Reservation,
}

/// The bodies of `stored` that are large enough to be tracked once it has left.
pub(super) fn tracked(stored: &Stored) -> impl Iterator<Item = &Body> {
    stored.bodies().filter(|body| body.weight() >= LARGE)
}

/// Returns the blocks that `old` refers to and `new` does not, each once, of bodies large enough to be tracked.
pub(super) fn blocks_of(old: &Variants, new: Option<&Variants>) -> Vec<Block> {
    let mut blocks = BTreeMap::new();
    for body in old.as_slice().iter().flat_map(|stored| tracked(stored)) {
        blocks.extend(
            body.blocks()
                .into_iter()
                .map(|block| (block.address(), block)),
        );
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
    /// Makes an empty list. What leaves counts against `budget`.
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self {
            list: Mutex::default(),
            count: AtomicUsize::new(0),
            budget: budget.clone(),
        }
    }

    /// Adds `blocks`, to which nothing stored refers any more. If they are stored again, call
    /// [`comes_back`](Self::comes_back).
    pub fn add(&self, blocks: Vec<Block>) {
        let mut blocks = blocks;
        blocks.retain(Block::is_shared);
        if blocks.is_empty() {
            return;
        }
        let mut list = self.lock();
        // Two responses that shared a block may leave one after the other.
        blocks.retain(|block| list.addresses.insert(block.address()));
        if blocks.is_empty() {
            return;
        }
        let mut room = self.budget.reservation();
        room.take(blocks.iter().map(Block::weight).sum());
        list.left.push_back(LeavingBlocks { blocks, room });
        self.count.store(list.left.len(), Relaxed);
    }

    /// Removes what is stored again from the list: the store weighs it, and it leaves again once nothing stored refers
    /// to it. One load if the list is empty.
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

    /// Looks at some of the blocks, and drops those that nobody reads any more. One load if the list is empty.
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
        // Freed after the lock is released, so that nobody waits.
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
