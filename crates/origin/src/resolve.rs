//! A server's addresses: fixed, or a name's, asked again as time goes and kept when asking fails.

use crate::{Error, Kind};
use arc_swap::ArcSwap;
use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

/// How long a name that could not be resolved is not asked again by requests, in milliseconds.
const PAUSE: u64 = 1_000;

/// Where a TCP server can be reached.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// `None`: the address is an IP and never changes.
    name: Option<String>,
    port: u16,
    known: ArcSwap<Known>,
    /// Index of the address that last took a connection: tried first, so that a dead one costs its limit only once.
    favourite: AtomicUsize,
    /// One asker at a time; the others wait for its answer.
    asking: tokio::sync::Mutex<()>,
    ask_again: AtomicU64,
}

/// Addresses as of one resolution.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) addresses: Vec<SocketAddr>,
    /// Counts changes; connections remember theirs, and idle ones of an older epoch are not used again.
    pub(crate) epoch: u64,
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
            known: ArcSwap::from_pointee(known),
            favourite: AtomicUsize::new(0),
            asking: tokio::sync::Mutex::new(()),
            ask_again: AtomicU64::new(0),
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
    pub(crate) async fn get(&self, now: u64) -> Result<Arc<Known>, Error> {
        let known = self.known.load_full();
        if !known.addresses.is_empty() {
            return Ok(known);
        }
        let _turn = self.asking.lock().await;
        let known = self.known.load_full();
        if !known.addresses.is_empty() {
            return Ok(known);
        }
        if now < self.ask_again.load(Relaxed) {
            return Err(Error::new(Kind::Unresolvable));
        }
        match self.ask().await {
            Ok(()) => Ok(self.known.load_full()),
            Err(error) => {
                self.ask_again.store(now.saturating_add(PAUSE), Relaxed);
                Err(error)
            }
        }
    }

    /// Resolves the name again, if there is one. On failure the last good answer stays.
    pub(crate) async fn refresh(&self) -> Result<(), Error> {
        let _turn = self.asking.lock().await;
        self.ask().await
    }

    async fn ask(&self) -> Result<(), Error> {
        let Some(name) = &self.name else {
            return Ok(());
        };
        let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), self.port))
            .await
            .map_err(|cause| Error::new(Kind::Unresolvable).because(cause))?
            .collect();
        if found.is_empty() {
            return Err(Error::new(Kind::Unresolvable));
        }
        let known = self.known.load();
        if !same_set(&known.addresses, &found) {
            let epoch = known.epoch + 1;
            let addresses = found;
            self.known.store(Arc::new(Known { addresses, epoch }));
            self.favourite.store(0, Relaxed);
        }
        Ok(())
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
mod tests {
    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(future)
    }

    #[test]
    fn an_address_needs_no_resolver() {
        for host in ["127.0.0.1", "::1"] {
            let addresses = Addresses::new(host, 80);
            assert!(!addresses.is_named());
            let known = run(addresses.get(0)).unwrap();
            assert_eq!(
                known.addresses,
                [SocketAddr::new(host.parse().unwrap(), 80)]
            );
        }
    }

    #[test]
    fn a_name_that_failed_is_left_alone_for_a_while() {
        let addresses = Addresses::new("nowhere.invalid", 80);
        let failed = |now| run(addresses.get(now)).unwrap_err();
        let with_cause = |error: &Error| std::error::Error::source(error).is_some();
        assert!(with_cause(&failed(10)), "asked");
        assert!(!with_cause(&failed(10 + PAUSE - 1)), "not asked");
        assert!(with_cause(&failed(10 + PAUSE)), "asked again");
    }

    #[test]
    fn the_last_good_answer_is_kept() {
        let addresses = Addresses::resolved(vec![SocketAddr::from(([127, 0, 0, 1], 80))]);
        run(addresses.refresh()).unwrap_err();
        assert_eq!(addresses.epoch(), 1);
        assert_eq!(run(addresses.get(0)).unwrap().addresses.len(), 1);
    }

    #[test]
    fn a_name_that_changed_is_followed() {
        let addresses = Addresses::new("localhost", 80);
        let gone = SocketAddr::from(([127, 0, 0, 9], 80));
        addresses.known.store(Arc::new(Known {
            addresses: vec![gone],
            epoch: 1,
        }));
        addresses.prefer(3);
        run(addresses.refresh()).unwrap();
        let known = run(addresses.get(0)).unwrap();
        assert!(!known.addresses.contains(&gone), "{known:?}");
        assert!(
            known
                .addresses
                .iter()
                .all(|address| address.ip().is_loopback())
        );
        assert_eq!((addresses.epoch(), addresses.favourite()), (2, 0));
        run(addresses.refresh()).unwrap();
        assert_eq!(addresses.epoch(), 2, "nothing changed");
    }

    #[test]
    fn a_change_is_told_from_a_rotation() {
        let [one, two, three] = [1, 2, 3].map(|n| SocketAddr::from(([10, 0, 0, n], 80)));
        for (before, after, same) in [
            (vec![one, two], vec![two, one], true),
            (vec![one, two], vec![one], false),
            (vec![one], vec![one, two], false),
            (vec![one, two], vec![one, three], false),
        ] {
            assert_eq!(same_set(&before, &after), same, "{before:?} {after:?}");
        }
    }
}
