//! A server's addresses: fixed, or a name's, asked again as time goes and kept when asking fails.

mod resolver;

use crate::{Error, Kind};
use arc_swap::ArcSwap;
use resolver::Resolver;
use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::watch, task::spawn_blocking, time::Instant};

/// How long a name that could not be resolved is not asked again by requests.
const PAUSE: Duration = Duration::from_secs(1);

/// Where a TCP server can be reached.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// `None`: the address is an IP and never changes.
    name: Option<String>,
    port: u16,
    resolver: Resolver,
    known: ArcSwap<Known>,
    /// Index of the address that last took a connection: tried first, so that a dead one costs its limit only once.
    favourite: AtomicUsize,
    /// The last question; `None`: nobody has asked.
    last: Mutex<Option<Question>>,
}

/// Addresses as of one resolution.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) addresses: Vec<SocketAddr>,
    /// Counts changes; connections remember theirs, and idle ones of an older epoch are not used again.
    pub(crate) epoch: u64,
}

/// A question to the resolver, which outlives who asked it: nobody can call it back, and a resolver that is down must not be asked
/// by each request anew. `None`: it is under way.
type Question = watch::Receiver<Option<Result<(), Failed>>>;

/// The resolver had no answer.
#[derive(Clone, Debug)]
struct Failed {
    /// When that was known.
    at: Instant,
    cause: Arc<io::Error>,
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        Self::new(Kind::Unresolvable).because(failed.cause)
    }
}

impl Addresses {
    pub(crate) fn new(host: &str, port: u16) -> Self {
        let fixed = host.parse::<IpAddr>().ok();
        let known = Known {
            addresses: fixed
                .map(|ip| SocketAddr::new(ip, port))
                .into_iter()
                .collect(),
            epoch: 0,
        };
        Self {
            name: fixed.is_none().then(|| host.to_owned()),
            port,
            resolver: Resolver::default(),
            known: ArcSwap::from_pointee(known),
            favourite: AtomicUsize::new(0),
            last: Mutex::default(),
        }
    }

    /// As if a name had been resolved to these.
    #[cfg(test)]
    pub(crate) fn resolved(addresses: Vec<SocketAddr>) -> Self {
        let made = Self::new("name.invalid", 80);
        let epoch = 1;
        made.known.store(Arc::new(Known { addresses, epoch }));
        made
    }

    pub(crate) fn is_named(&self) -> bool {
        self.name.is_some()
    }

    pub(crate) fn epoch(&self) -> u64 {
        if !self.is_named() {
            return 0;
        }
        self.known.load().epoch
    }

    /// The addresses as known; resolves the name first if it never was. A name that just failed fails again at once
    /// for a while, so that requests do not queue up behind a dead resolver.
    pub(crate) async fn get(self: &Arc<Self>) -> Result<Arc<Known>, Error> {
        let known = self.known.load_full();
        if !known.addresses.is_empty() {
            return Ok(known);
        }
        if let Some(failed) = self.just_failed() {
            return Err(failed.into());
        }
        self.refresh().await?;
        Ok(self.known.load_full())
    }

    /// Resolves the name again, if there is one. On failure the last good answer stays.
    pub(crate) async fn refresh(self: &Arc<Self>) -> Result<(), Error> {
        let Some(mut question) = self.ask() else {
            return Ok(());
        };
        let answer = question.wait_for(Option::is_some).await;
        let answer = answer.map(|answer| (*answer).clone());
        match answer {
            Ok(Some(Err(failed))) => Err(failed.into()),
            Ok(_) => Ok(()),
            // Whose threads it was asked on has ended.
            Err(cause) => Err(Error::new(Kind::Unresolvable).because(cause)),
        }
    }

    /// The question that is under way, or a new one; `None`: there is nothing to ask.
    fn ask(self: &Arc<Self>) -> Option<Question> {
        let name = self.name.clone()?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let under_way = last
            .as_ref()
            .filter(|question| question.borrow().is_none() && question.has_changed().is_ok());
        if let Some(question) = under_way {
            return Some(question.clone());
        }
        let (tell, question) = watch::channel(None);
        let this = Arc::clone(self);
        spawn_blocking(move || {
            let found = this.resolver.ask(&name, this.port);
            let answer = found.map(|found| this.learn(found));
            tell.send_replace(Some(answer.map_err(|cause| Failed {
                at: Instant::now(),
                cause: Arc::new(cause),
            })));
        });
        *last = Some(question.clone());
        Some(question)
    }

    fn just_failed(&self) -> Option<Failed> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = match &*last.as_ref()?.borrow() {
            Some(Err(failed)) => failed.clone(),
            _ => return None,
        };
        (failed.at.elapsed() < PAUSE).then_some(failed)
    }

    fn learn(&self, found: Vec<SocketAddr>) {
        let known = self.known.load();
        if !same_set(&known.addresses, &found) {
            let epoch = known.epoch + 1;
            let addresses = found;
            self.known.store(Arc::new(Known { addresses, epoch }));
            self.favourite.store(0, Relaxed);
        }
    }

    pub(crate) fn favourite(&self) -> usize {
        self.favourite.load(Relaxed)
    }

    pub(crate) fn prefer(&self, index: usize) {
        if self.favourite() != index {
            self.favourite.store(index, Relaxed);
        }
    }
}

/// Whether both name the same addresses; resolvers like to rotate them.
fn same_set(one: &[SocketAddr], other: &[SocketAddr]) -> bool {
    one.iter().all(|address| other.contains(address))
        && other.iter().all(|address| one.contains(address))
}

#[cfg(test)]
mod tests;
