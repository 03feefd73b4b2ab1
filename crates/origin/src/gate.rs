//! The limit on concurrent fetches, over all workers, with a bounded queue.

use crate::{Error, Kind, config::ConcurrencyLimits};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{
    sync::{Mutex, Notify},
    time::{Instant, timeout_at},
};

/// Counts fetches under way. Those beyond the limit wait for a turn.
///
/// A fetch that need not wait costs two atomic operations and no lock. tokio's semaphore is not used because it locks
/// its list of waiters on each release.
#[derive(Debug)]
pub(crate) struct Gate {
    most: usize,
    queue: usize,
    patience: Duration,
    active: AtomicUsize,
    waiting: AtomicUsize,
    /// How many may wait at this gate.
    share: usize,
    /// How many wait at this gate and those [`beside`](Self::beside) it. The queue's limit is for all of them.
    in_all: Arc<AtomicUsize>,
    /// Fetches that wait stand here, in the order in which they came. Only the first looks for a turn.
    line: Mutex<()>,
    turn: Notify,
}

/// The leave of one fetch to be under way. Given back on drop.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Gate>);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, SeqCst);
        // Sequentially consistent with the order in `enter` (waiting, then active): one of the two sees the other.
        if self.0.waiting.load(SeqCst) > 0 {
            self.0.turn.notify_one();
        }
    }
}

/// One place in the queue. Given back on drop, so that a caller that goes away leaves its place free.
struct QueueSlot<'a>(&'a Gate);

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.in_all.fetch_sub(1, SeqCst);
        self.0.waiting.fetch_sub(1, SeqCst);
    }
}

impl Gate {
    pub(crate) fn new(limits: ConcurrencyLimits) -> Self {
        Self {
            most: limits.most.max(1),
            queue: limits.queue,
            share: limits.queue,
            patience: limits.queue_time,
            active: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            in_all: Arc::default(),
            line: Mutex::new(()),
            turn: Notify::new(),
        }
    }

    /// Makes a gate that some fetches pass before this one. Those that wait there use the same queue, but leave a
    /// quarter of it to others.
    pub(crate) fn beside(&self, limits: ConcurrencyLimits) -> Self {
        Self {
            share: (limits.queue - limits.queue / 4).max(1),
            in_all: Arc::clone(&self.in_all),
            ..Self::new(limits)
        }
    }

    pub(crate) fn active(&self) -> usize {
        self.active.load(SeqCst)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(SeqCst)
    }

    /// Takes leave without waiting, if there is any. A newcomer does not pass those that wait.
    pub(crate) fn at_once(self: &Arc<Self>) -> Option<Pass> {
        if self.waiting() == 0 {
            self.try_enter()
        } else {
            None
        }
    }

    /// Waits for leave. The queue's own limit counts from `began`, when the fetch began to wait here or at a gate
    /// before; `until` applies if it is earlier. Fails with `Kind::QueueFull` at once or `Kind::QueueTimeout` later.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        began: Instant,
        until: Option<Instant>,
    ) -> Result<Pass, Error> {
        if let Some(pass) = self.at_once() {
            return Ok(pass);
        }
        let before = self.waiting.fetch_add(1, SeqCst);
        let others = self.in_all.fetch_add(1, SeqCst);
        let _place = QueueSlot(self);
        if others >= self.queue || before >= self.share {
            return Err(Error::new(Kind::QueueFull));
        }
        let patience = began + self.patience;
        let patience = until.map_or(patience, |until| until.min(patience));
        timeout_at(patience, self.wait())
            .await
            .map_err(|_| Error::new(Kind::QueueTimeout))
    }

    async fn wait(self: &Arc<Self>) -> Pass {
        let _first = self.line.lock().await;
        loop {
            let mut turn = std::pin::pin!(self.turn.notified());
            turn.as_mut().enable();
            if let Some(pass) = self.try_enter() {
                return pass;
            }
            turn.await;
        }
    }

    fn try_enter(self: &Arc<Self>) -> Option<Pass> {
        let entered = self.active.fetch_update(SeqCst, SeqCst, |active| {
            (active < self.most).then_some(active + 1)
        });
        entered.ok().map(|_| Pass(Arc::clone(self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::{Pin, pin};

    type Entered = Result<Pass, Error>;

    /// Returns the result of `entering`, if there is one by now.
    async fn look(entering: Pin<&mut impl Future<Output = Entered>>) -> Option<Entered> {
        tokio::select! {
            biased;
            entered = entering => Some(entered),
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn who_came_first_goes_first() {
        let gate = Arc::new(Gate::new(ConcurrencyLimits {
            most: 1,
            queue: 9,
            queue_time: Duration::from_hours(1),
        }));
        let held = gate.at_once().unwrap();
        let now = Instant::now();
        let [one, two, three] = [(); 3].map(|()| gate.enter(now, None));
        let (mut one, mut two, mut three) = (Box::pin(one), Box::pin(two), pin!(three));
        assert!(look(one.as_mut()).await.is_none());
        assert!(look(two.as_mut()).await.is_none());
        drop(held);
        assert!(
            look(three.as_mut()).await.is_none(),
            "others were here before"
        );
        assert!(look(two.as_mut()).await.is_none(), "so was one");
        let held = look(one.as_mut()).await.unwrap().unwrap();
        drop(held);
        drop(two);
        let last = look(three.as_mut()).await.unwrap().unwrap();
        assert_eq!((gate.active(), gate.waiting()), (1, 0));
        drop(last);
        assert!(gate.at_once().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_one_for_the_gates_beside_it() {
        let limits = ConcurrencyLimits {
            most: 1,
            queue: 1,
            queue_time: Duration::from_secs(10),
        };
        let gate = Gate::new(limits);
        let (before, gate) = (Arc::new(gate.beside(limits)), Arc::new(gate));
        let held = [&gate, &before].map(|gate| gate.at_once().unwrap());
        let began = Instant::now();
        let mut first = Box::pin(before.enter(began, None));
        assert!(look(first.as_mut()).await.is_none());
        let refused = gate.enter(began, None).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::QueueFull);
        tokio::time::advance(Duration::from_secs(6)).await;
        let [_held, at_first] = held;
        drop(at_first);
        let _first = first.await.unwrap();
        let late = gate.enter(began, None).await.unwrap_err();
        assert_eq!(late.kind(), Kind::QueueTimeout);
        assert_eq!(began.elapsed(), Duration::from_secs(10), "in both together");
        assert_eq!((gate.waiting(), before.waiting()), (0, 0));
    }

    #[tokio::test]
    async fn a_quarter_of_the_queue_is_left_to_who_passes_no_other_gate() {
        let limits = ConcurrencyLimits {
            most: 1,
            queue: 4,
            queue_time: Duration::from_hours(1),
        };
        let gate = Gate::new(limits);
        let (before, gate) = (Arc::new(gate.beside(limits)), Arc::new(gate));
        let _held = [&gate, &before].map(|gate| gate.at_once().unwrap());
        let now = Instant::now();
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(before.enter(now, None))).collect();
        for one in &mut waiting {
            assert!(look(one.as_mut()).await.is_none());
        }
        let refused = before.enter(now, None).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::QueueFull);
        let mut other = pin!(gate.enter(now, None));
        assert!(look(other.as_mut()).await.is_none(), "it waits");
        let refused = gate.enter(now, None).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::QueueFull, "it is full");
    }
}
