//! The one way to the server: bounded in time, behind the breaker, counted.

use super::{
    counts::{Counts, Event, Hook},
    remote::{Error, Kind, Read, Remote, RemoteFuture},
};
use bytes::Bytes;
use kv::{Breaker, Change, Permission};
use std::{
    fmt,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{self, Instant};

/// The server did not answer. Holds the reason, which has been counted and reported; `None` if the server was not
/// asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failed(pub(super) Option<Kind>);

/// A server, and what protects us from it.
pub(super) struct Guard {
    remote: Box<dyn Remote>,
    timeout: Duration,
    breaker: Breaker,
    pub(super) counts: Counts,
    /// Whether the last write was refused.
    refuses: AtomicBool,
    /// Whether something else was found under a key of ours. Reported once.
    holds_else: AtomicBool,
    /// How many of several servers are known to be down.
    down: AtomicUsize,
    hook: OnceLock<Hook>,
}

impl Guard {
    pub(super) fn new(remote: Box<dyn Remote>, timeout: Duration) -> Self {
        Self {
            remote,
            timeout,
            breaker: Breaker::default(),
            counts: Counts::default(),
            refuses: AtomicBool::new(false),
            holds_else: AtomicBool::new(false),
            down: AtomicUsize::new(0),
            hook: OnceLock::new(),
        }
    }

    pub(super) fn remote(&self) -> &dyn Remote {
        &*self.remote
    }

    /// Sends events to `hook`. Only the first call has an effect.
    pub(super) fn tell(&self, hook: Hook) {
        let _ = self.hook.set(hook);
    }

    pub(super) fn is_open(&self) -> bool {
        self.breaker.is_open()
    }

    /// The time limit of a question that is asked now. Several questions that one request asks in turn share it.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    pub(super) async fn get(
        &self,
        name: &str,
        read: Read,
        until: Instant,
    ) -> Result<Option<Bytes>, Failed> {
        self.ask(until, |remote| remote.get(name, read)).await
    }

    pub(super) async fn get_many(
        &self,
        names: &[String],
        read: Read,
        until: Instant,
    ) -> Result<Vec<Option<Bytes>>, Failed> {
        self.ask(until, |remote| remote.get_many(names, read)).await
    }

    pub(super) async fn set(
        &self,
        name: &str,
        value: &[u8],
        expiry: Duration,
    ) -> Result<(), Failed> {
        let until = self.deadline();
        let set = self.ask(until, |remote| remote.set(name, value, expiry));
        set.await?;
        self.took_a_write();
        Ok(())
    }

    pub(super) async fn add(
        &self,
        name: &str,
        value: &[u8],
        expiry: Duration,
        until: Instant,
    ) -> Result<bool, Failed> {
        let add = self.ask(until, |remote| remote.add(name, value, expiry));
        let added = add.await?;
        if added {
            self.took_a_write();
        }
        Ok(added)
    }

    pub(super) async fn replace_if(
        &self,
        name: &str,
        old: &[u8],
        new: &[u8],
        expiry: Duration,
        until: Instant,
    ) -> Result<bool, Failed> {
        let replace = self.ask(until, |remote| remote.replace_if(name, old, new, expiry));
        let replaced = replace.await?;
        if replaced {
            self.took_a_write();
        }
        Ok(replaced)
    }

    pub(super) async fn expire(&self, names: &[String], expiry: Duration) -> Result<bool, Failed> {
        let until = self.deadline();
        self.ask(until, |remote| remote.expire(names, expiry)).await
    }

    pub(super) async fn delete_if(&self, name: &str, value: &[u8]) -> Result<bool, Failed> {
        let until = self.deadline();
        self.ask(until, |remote| remote.delete_if(name, value))
            .await
    }

    async fn ask<'a, T>(
        &'a self,
        until: Instant,
        ask: impl FnOnce(&'a dyn Remote) -> RemoteFuture<'a, T>,
    ) -> Result<T, Failed> {
        let permission = self.breaker.permission();
        if permission == Permission::Denied {
            self.counts.not_asked.up();
            return Err(Failed(None));
        }
        self.ask_on(permission, until, ask).await
    }

    /// Asks for what is under `name` if the server is not asked at the moment and no request has been there to find out
    /// whether it is back.
    pub(super) async fn probe(&self, name: &str) {
        if self.breaker.is_probe_left() {
            let until = self.deadline();
            let probe = self.ask_on(Permission::Probe, until, |remote| {
                remote.get(name, Read::Any)
            });
            let _ = probe.await;
        }
    }

    async fn ask_on<'a, T>(
        &'a self,
        permission: Permission,
        until: Instant,
        ask: impl FnOnce(&'a dyn Remote) -> RemoteFuture<'a, T>,
    ) -> Result<T, Failed> {
        let asked = time::timeout_at(until, ask(self.remote())).await;
        let answer = asked.unwrap_or_else(|_| {
            let detail = format!("no answer within {:?}", self.timeout);
            Err(Error::new(Kind::Timeout, detail))
        });
        match answer {
            Ok(answer) => {
                self.answered();
                Ok(answer)
            }
            Err(error) => {
                let kind = error.kind;
                self.failed(permission, error);
                Err(Failed(Some(kind)))
            }
        }
    }

    fn answered(&self) {
        if self.breaker.answered() {
            self.event(Event::Up);
        }
        if self.down.load(Relaxed) > 0
            && self.remote.down() == Some(0)
            && self.down.swap(0, Relaxed) > 0
        {
            self.event(Event::AllUp);
        }
    }

    fn failed(&self, permission: Permission, error: Error) {
        self.counts.error(error.kind);
        if !error.kind.opens_breaker() {
            // It has answered after all.
            self.answered();
            match error.kind {
                Kind::Full if !self.refuses.swap(true, Relaxed) => {
                    self.event(Event::TakesNoWrites(error));
                }
                Kind::WrongType if !self.holds_else.swap(true, Relaxed) => {
                    self.event(Event::HoldsSomethingElse(error));
                }
                _ => {}
            }
            return;
        }
        if let Some(down) = self.remote.down() {
            // The others are still asked.
            if self.down.swap(down, Relaxed) < down {
                self.event(Event::OneDown(error));
            }
            return;
        }
        let change = self.breaker.failed(permission);
        if change != Change::None {
            // Its connections may be stuck. So a probe begins with a new one, whichever worker sends it.
            self.remote.hang_up();
        }
        if change == Change::Opened {
            self.counts.openings.up();
            self.event(Event::Down(error));
        }
    }

    fn took_a_write(&self) {
        if self.refuses.load(Relaxed) && self.refuses.swap(false, Relaxed) {
            self.event(Event::TakesWrites);
        }
    }

    fn event(&self, event: Event) {
        if let Some(hook) = self.hook.get() {
            hook(event);
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("remote", &self.remote)
            .field("breaker", &self.breaker)
            .finish_non_exhaustive()
    }
}
