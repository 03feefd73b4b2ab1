//! Content that comes in small frames, gathered.
//!
//! `h2` keeps each frame that nobody has read on its own, which takes about 500 bytes however few it brings, and ends
//! the connection when there are too many. Flow control does not see that: it counts what the frames bring. So no more
//! than [`MOST`] small frames are read at a time. Then the content of all streams is taken out of `h2`, and what came in
//! small pieces is joined. It stays within its stream's window, since that opens only as content is read.

use super::Inlet;
use h2::RecvStream;
use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Frames that may wait in `h2`, beside those that came with the last of them.
const MOST: usize = 256;

/// Bytes that may be read, of frames of all kinds, while content waits in `h2`: each frame of it keeps the buffer in which
/// it came.
const MOST_READ: usize = 1 << 20;

/// How much `h2` may keep of a connection's small frames, as it reckons: 256 bytes for each, less what it brings. As
/// long as they are [gathered](Gathering::gather), that is little. But `h2` reckons with frames of streams that were
/// given up too, which it keeps nothing of, for the whole life of a connection, and would end it for all other streams.
pub const SMALL_FRAMES: usize = usize::MAX;

/// What one connection's I/O, its task and the content of its streams share.
#[derive(Clone, Debug, Default)]
pub struct Gathering(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Small frames that were read since the last time, and bytes of all.
    small: AtomicUsize,
    bytes: AtomicUsize,
    inlets: Mutex<Vec<Weak<Inlet>>>,
}

impl Gathering {
    /// Notes that the I/O has read so many bytes, and so many small frames in them.
    pub fn read(&self, bytes: usize, small: usize) {
        self.0.bytes.fetch_add(bytes, Relaxed);
        if small > 0 {
            self.0.small.fetch_add(small, Relaxed);
        }
    }

    /// Whether the I/O must not read on before what has come is gathered.
    pub fn is_due(&self) -> bool {
        self.0.small.load(Relaxed) >= MOST || self.0.bytes.load(Relaxed) >= MOST_READ
    }

    /// Gathers what has come on all streams, if that is due. The connection's task calls it whenever `h2` has read what
    /// it could.
    pub fn gather(&self) {
        if !self.is_due() {
            return;
        }
        self.0.small.store(0, Relaxed);
        self.0.bytes.store(0, Relaxed);
        let all: Vec<_> = {
            let inlets = self.0.inlets.lock();
            let inlets = inlets.unwrap_or_else(PoisonError::into_inner);
            inlets.iter().filter_map(Weak::upgrade).collect()
        };
        for inlet in all {
            inlet.gather();
        }
    }

    /// Makes the way in for the content of a stream.
    pub fn inlet(&self, content: RecvStream) -> Arc<Inlet> {
        let inlet = Arc::new(Inlet::new(content));
        let inlets = self.0.inlets.lock();
        let mut inlets = inlets.unwrap_or_else(PoisonError::into_inner);
        inlets.retain(|other| other.strong_count() > 0);
        inlets.push(Arc::downgrade(&inlet));
        drop(inlets);
        inlet
    }
}
