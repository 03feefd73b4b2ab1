//! Connections, one set per worker.

mod owed;

pub use owed::Owed;

use crate::{Error, Kind};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    runtime::{Handle, Id},
    sync::watch,
    time::timeout,
};

/// How long connecting may take. A request waits for it no longer than for anything else; a later request finds the
/// connection made.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// One connection (or set of connections) per runtime, made when the runtime first asks. `C` is a cheap handle: the
/// connection itself belongs to a task on that runtime.
pub struct PerWorker<C> {
    all: Arc<Mutex<Connections<C>>>,
}

struct Connections<C> {
    of: HashMap<Id, ConnectionState<C>>,
    made: u64,
}

enum ConnectionState<C> {
    Open(Connection<C>),
    /// The attempt with this number is under way.
    Opening(u64, watch::Receiver<Made<C>>),
}

/// The result of an attempt; `None`: there is none yet.
type Made<C> = Option<Result<Connection<C>, Error>>;

/// A connection, with a number that identifies it.
#[derive(Clone, Debug)]
pub struct Connection<C> {
    /// The handle.
    pub handle: C,
    number: u64,
}

/// An attempt to connect. However it ends, even by a panic, it leaves its place, so that the next question begins
/// another.
struct Attempt<C> {
    all: Arc<Mutex<Connections<C>>>,
    runtime: Id,
    number: u64,
    /// Dropped after the place is free.
    done: watch::Sender<Made<C>>,
}

impl<C: Clone> Attempt<C> {
    fn end(self, made: Result<C, Error>) {
        let number = self.number;
        let made = made.map(|handle| Connection { handle, number });
        if let Ok(open) = &made {
            let mut all = lock(&self.all);
            all.of
                .insert(self.runtime, ConnectionState::Open(open.clone()));
        } else {
            self.free();
        }
        // Perhaps nobody waits any more.
        let _ = self.done.send(Some(made));
    }
}

impl<C> Attempt<C> {
    fn free(&self) {
        let mut all = lock(&self.all);
        if let Some(ConnectionState::Opening(number, _)) = all.of.get(&self.runtime)
            && *number == self.number
        {
            all.of.remove(&self.runtime);
        }
    }
}

impl<C> Drop for Attempt<C> {
    fn drop(&mut self) {
        self.free();
    }
}

impl<C: Clone + Send + Sync + 'static> PerWorker<C> {
    /// Returns this worker's connection. If there is none yet, `connect` makes it in the background.
    ///
    /// # Errors
    /// The connection cannot be made.
    pub async fn get<F>(&self, connect: impl FnOnce() -> F) -> Result<Connection<C>, Error>
    where
        F: Future<Output = Result<C, Error>> + Send + 'static,
    {
        let mut opening = match self.state(connect)? {
            ConnectionState::Open(open) => return Ok(open),
            ConnectionState::Opening(_, opening) => opening,
        };
        match opening.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(made)) => made.clone(),
            _ => Err(Error::new(Kind::Unreachable, "the attempt was given up")),
        }
    }

    /// Forgets `connection`, which is broken.
    pub fn close(&self, connection: &Connection<C>) {
        self.remove(|open| open.number == connection.number);
    }

    /// Forgets this worker's connection, whichever it is.
    pub fn hang_up(&self) {
        self.remove(|_| true);
    }

    /// Forgets the connections of all workers. Their server is known to fail, and each worker would otherwise find that
    /// out by itself.
    pub fn hang_up_all(&self) {
        let mut all = lock(&self.all);
        all.of
            .retain(|_, state| !matches!(state, ConnectionState::Open(_)));
    }

    fn state<F>(&self, connect: impl FnOnce() -> F) -> Result<ConnectionState<C>, Error>
    where
        F: Future<Output = Result<C, Error>> + Send + 'static,
    {
        let runtime = runtime()?;
        let mut all = lock(&self.all);
        if let Some(state) = all.of.get(&runtime) {
            return Ok(state.clone());
        }
        all.made += 1;
        let number = all.made;
        let (done, opening) = watch::channel(None);
        let state = ConnectionState::Opening(number, opening);
        all.of.insert(runtime, state.clone());
        drop(all);
        let attempt = Attempt {
            all: Arc::clone(&self.all),
            runtime,
            number,
            done,
        };
        let connect = connect();
        tokio::spawn(async move {
            let made = timeout(CONNECT_WITHIN, connect).await;
            attempt.end(made.unwrap_or_else(|_| {
                let detail = format!("no connection within {CONNECT_WITHIN:?}");
                Err(Error::new(Kind::Unreachable, detail))
            }));
        });
        Ok(state)
    }

    fn remove(&self, which: impl FnOnce(&Connection<C>) -> bool) {
        let Ok(runtime) = runtime() else { return };
        let mut all = lock(&self.all);
        if let Some(ConnectionState::Open(open)) = all.of.get(&runtime)
            && which(open)
        {
            all.of.remove(&runtime);
        }
    }
}

fn runtime() -> Result<Id, Error> {
    let handle = Handle::try_current().map_err(|error| Error::new(Kind::Unreachable, error))?;
    Ok(handle.id())
}

fn lock<C>(all: &Mutex<Connections<C>>) -> MutexGuard<'_, Connections<C>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C: Clone> Clone for ConnectionState<C> {
    fn clone(&self) -> Self {
        match self {
            Self::Open(open) => Self::Open(open.clone()),
            Self::Opening(number, opening) => Self::Opening(*number, opening.clone()),
        }
    }
}

impl<C> Default for PerWorker<C> {
    fn default() -> Self {
        let all = Connections {
            of: HashMap::new(),
            made: 0,
        };
        Self {
            all: Arc::new(Mutex::new(all)),
        }
    }
}

impl<C> fmt::Debug for PerWorker<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerWorker").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_attempt_that_panics_is_not_the_last() {
        let connections = PerWorker::default();
        let broken = connections.get(|| async { panic!("while connecting") });
        let error = broken.await.expect_err("no connection");
        assert_eq!(error.kind, Kind::Unreachable);
        let made = connections.get(|| async { Ok(7) }).await;
        assert_eq!(made.expect("a connection").handle, 7);
    }

    #[test]
    fn each_worker_hangs_up_for_itself_or_for_all() {
        let runtimes = [0, 1].map(|_| {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_all().build().expect("a runtime")
        });
        let connections = PerWorker::default();
        let numbers = || {
            runtimes.each_ref().map(|runtime| {
                let made = runtime.block_on(connections.get(|| async { Ok(7) }));
                made.expect("a connection").number
            })
        };
        assert_eq!(numbers(), [1, 2]);
        runtimes[0].block_on(async { connections.hang_up() });
        assert_eq!(numbers(), [3, 2]);
        runtimes[0].block_on(async { connections.hang_up_all() });
        assert_eq!(numbers(), [4, 5]);
    }

    #[tokio::test]
    async fn an_attempt_that_fails_is_not_the_last() {
        let connections = PerWorker::default();
        let failing = async || Err(Error::new(Kind::Unreachable, "nobody"));
        let error = connections.get(failing).await.expect_err("no connection");
        assert!(error.to_string().contains("nobody"), "{error}");
        let made = connections.get(|| async { Ok(7) }).await;
        assert_eq!(made.expect("a connection").handle, 7);
    }
}
