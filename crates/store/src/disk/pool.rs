//! Threads that wait for the device, so that no worker has to.

use std::{
    collections::VecDeque,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// When this many jobs wait, further ones that may be refused are refused. What they were to read counts as not there.
const MOST: usize = 1024;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Jobs {
    list: VecDeque<Job>,
    running: usize,
    /// When a job last began or ended, or what it waits for [moved](Pool::moves).
    moved: Option<Instant>,
    is_closed: bool,
}

/// The handle of the threads. Jobs begin in the order in which they came.
#[derive(Clone)]
pub(super) struct Pool(Arc<(Mutex<Jobs>, Condvar)>);

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

impl Pool {
    /// Starts `threads` threads.
    pub fn start(name: &str, threads: usize) -> io::Result<Self> {
        let pool = Self(Arc::default());
        for _ in 0..threads {
            let own = pool.clone();
            let started = thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || own.run());
            if let Err(error) = started {
                pool.close();
                return Err(error);
            }
        }
        Ok(pool)
    }

    /// Queues `job`. False if too many jobs wait already, or the tier is closed.
    pub fn run_soon(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.run_among(MOST, job)
    }

    /// Queues `job`, however many wait: for what has begun, and would break off. The caller makes sure that there are
    /// not too many. False if the tier is closed.
    pub fn run_always(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.run_among(usize::MAX, job)
    }

    fn run_among(&self, most: usize, job: impl FnOnce() + Send + 'static) -> bool {
        let mut jobs = self.lock();
        let takes = !jobs.is_closed && jobs.list.len() < most;
        if takes {
            jobs.list.push_back(Box::new(job));
            self.0.1.notify_all();
        }
        takes
    }

    /// Ends the threads when they have finished their current jobs. Jobs that wait are dropped.
    pub fn close(&self) {
        let mut jobs = self.lock();
        jobs.is_closed = true;
        let dropped = std::mem::take(&mut jobs.list);
        drop(jobs);
        drop(dropped);
        self.0.1.notify_all();
    }

    /// Notes that what jobs wait for has taken something from elsewhere: it does not stand still.
    pub fn moves(&self) {
        self.lock().moved = Some(Instant::now());
    }

    /// Whether jobs run, and for so long none has begun or ended, and nothing has [moved](Self::moves).
    pub fn has_stood_still(&self, time: Duration) -> bool {
        let jobs = self.lock();
        jobs.running > 0 && jobs.moved.is_some_and(|moved| moved.elapsed() >= time)
    }

    /// Has it seem that so much more time has passed since anything moved.
    #[cfg(test)]
    pub fn stand_still_for(&self, time: Duration) {
        let mut jobs = self.lock();
        jobs.moved = jobs.moved.and_then(|moved| moved.checked_sub(time));
    }

    /// Waits until all queued jobs are done.
    pub fn finish(&self) {
        let mut jobs = self.lock();
        while !jobs.is_closed && (jobs.running > 0 || !jobs.list.is_empty()) {
            jobs = self.0.1.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self) {
        loop {
            let mut jobs = self.lock();
            while jobs.list.is_empty() && !jobs.is_closed {
                jobs = self.0.1.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            }
            let Some(job) = jobs.list.pop_front() else {
                return;
            };
            jobs.running += 1;
            jobs.moved = Some(Instant::now());
            drop(jobs);
            // A panic costs only its own job: whoever waits for that learns that nobody answers.
            let _ = catch_unwind(AssertUnwindSafe(job));
            let mut jobs = self.lock();
            jobs.running -= 1;
            jobs.moved = Some(Instant::now());
            drop(jobs);
            self.0.1.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, time::Duration};

    #[test]
    fn a_panic_costs_one_job() {
        let pool = Pool::start("test-panic", 1).expect("a thread");
        let (told, done) = mpsc::channel();
        assert!(pool.run_soon(|| panic!("a device unheard of")));
        assert!(pool.run_soon(move || told.send(()).expect("somebody waits")));
        let done = done.recv_timeout(Duration::from_secs(20));
        assert_eq!(done, Ok(()), "nobody is there to do it");
        pool.finish();
        pool.close();
    }
}
