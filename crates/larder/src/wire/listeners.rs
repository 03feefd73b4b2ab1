//! The listeners in use, and how a reload changes them.

use super::{
    StartError,
    worker::{Order, Workers},
};
use crate::{
    admin,
    config::{
        meant::{Config, Listener, meet},
        value::ListenAddress,
    },
};
use listenfd::ListenFd;
use proxy::listen::{Address, BindError, Bound, Drain, DrainSwitch, TlsStore, bind, drain};
use std::{fmt, net::SocketAddr, os::unix::net::UnixListener, sync::Arc, time::Duration};

/// A place where clients connect, as a person would type it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether it uses TLS.
    pub tls: bool,
    /// The address in use; `None` for a Unix socket.
    pub address: Option<SocketAddr>,
    /// The address as configured; the path of a Unix socket that was handed over.
    pub configured: String,
    /// Whether it redirects clients to HTTPS, whatever they ask for.
    pub redirects: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        match self.address {
            Some(address) => write!(f, "{scheme}://{address}"),
            None => f.write_str(&self.configured),
        }
    }
}

/// One listener in use.
struct Open {
    listener: Listener,
    place: Place,
    tls: Option<Arc<TlsStore>>,
    switch: DrainSwitch,
    /// The handle that accept loops wait on; kept for workers that start later.
    drain: Drain,
    /// The index among the sockets that were handed over, if this is one of them. The configured listener with this
    /// index gets the socket, whatever its address.
    handed: Option<usize>,
}

/// All listeners.
pub struct Listeners {
    open: Vec<Open>,
    /// The switches of listeners that a reload removed, until these have stopped.
    leaving: Vec<DrainSwitch>,
}

/// The sockets of newly opened listeners, one for each worker.
pub type Sockets = Vec<Vec<Bound>>;

/// A prepared change, which can no longer fail.
pub struct Change {
    /// The listeners that stay, by index, with the certificates that they use from now on.
    stay: Vec<(usize, Listener)>,
    new: Vec<Open>,
    sockets: Sockets,
}

impl Listeners {
    /// Opens the configured listeners; nobody serves them yet.
    pub fn open(config: &Config, inherited: &mut ListenFd) -> Result<(Self, Sockets), StartError> {
        let (handed, listeners) = (inherited.len(), config.listeners.len());
        if handed > listeners {
            // Clients of the other sockets would wait for ever.
            return Err(StartError::TooManyHanded { handed, listeners });
        }
        let mut open = Vec::new();
        let mut sockets = Vec::new();
        for (index, listener) in config.listeners.iter().enumerate() {
            let socket = inherited_at(inherited, index)?;
            let handed = socket.is_some().then_some(index);
            let opened = open_one(listener, socket, config.workers);
            let (one, bound) =
                opened.map_err(|error| overlapping(&open, &listener.address, error))?;
            open.push(Open { handed, ..one });
            sockets.push(bound);
        }
        let leaving = Vec::new();
        Ok((Self { open, leaving }, sockets))
    }

    /// Hands the sockets to the workers.
    pub fn serve(&mut self, sockets: Sockets, workers: &Workers) {
        for (open, bound) in self.open.iter().zip(sockets) {
            open.hand_over(bound, workers);
        }
    }

    /// The places where clients connect.
    pub fn places(&self) -> Vec<Place> {
        self.open.iter().map(|open| open.place.clone()).collect()
    }

    /// The listeners without TLS, for `explain`.
    pub fn plain(&self) -> Vec<admin::Plain> {
        let places = self.open.iter().map(|open| &open.place);
        let plain = places.filter(|place| !place.tls);
        plain
            .map(|place| admin::Plain {
                port: place.address.map(|address| address.port()),
                redirects: place.redirects,
            })
            .collect()
    }

    /// Does the part of a change that may fail: opens new listeners. Certificates were read with the configuration, so
    /// that a file system that hangs does not block this.
    pub fn prepare(&self, config: &Config, workers: usize) -> Result<Change, StartError> {
        let mut change = Change {
            stay: Vec::new(),
            new: Vec::new(),
            sockets: Vec::new(),
        };
        let handed = self
            .open
            .iter()
            .filter(|open| open.handed.is_some())
            .count();
        let listeners = config.listeners.len();
        if handed > listeners {
            return Err(StartError::TooManyHanded { handed, listeners });
        }
        for (place, listener) in config.listeners.iter().enumerate() {
            let mut open = self.open.iter().enumerate();
            // Several listeners may have port 0.
            let is_taken = |index| change.stay.iter().any(|(stays, _)| *stays == index);
            let is_same = |index: usize, open: &Open| match open.handed {
                Some(own) => own == place,
                None => {
                    place >= handed && open.listener.address == listener.address && !is_taken(index)
                }
            };
            if let Some((index, open)) = open.find(|(index, open)| is_same(*index, open)) {
                check_same_kind(&open.listener, listener)?;
                change.stay.push((index, listener.clone()));
            } else {
                let opened = open_one(listener, None, workers);
                let (open, bound) = opened.map_err(|error| {
                    let error = self.in_own_way(listener, error);
                    overlapping(&change.new, &listener.address, error)
                })?;
                change.new.push(open);
                change.sockets.push(bound);
            }
        }
        Ok(change)
    }

    /// Applies a prepared change: new listeners serve, and those that are no longer wanted drain. Only a stop bounds how
    /// long that takes.
    pub fn apply(&mut self, change: Change, workers: &Workers) {
        self.leaving.retain(|switch| !switch.is_over());
        let mut kept = Vec::new();
        for (index, open) in std::mem::take(&mut self.open).into_iter().enumerate() {
            let stays = change.stay.iter().find(|(stays, _)| *stays == index);
            if let Some((_, listener)) = stays {
                kept.push(open.with_certificates(listener));
            } else {
                open.switch.start_without_haste();
                self.leaving.push(open.switch);
            }
        }
        for (open, bound) in change.new.into_iter().zip(change.sockets) {
            open.hand_over(bound, workers);
            kept.push(open);
        }
        self.open = kept;
    }

    /// Stops all listeners. Those that are already stopping get no more time.
    pub fn drain(&self, within: Duration) {
        for open in &self.open {
            open.switch.start(within);
        }
        for switch in &self.leaving {
            switch.hasten(within);
        }
    }

    /// The switches that stop the listeners, or that hasten those that are stopping.
    pub fn switches(&self) -> Vec<DrainSwitch> {
        let open = self.open.iter().map(|open| &open.switch);
        open.chain(&self.leaving).cloned().collect()
    }
}

impl Listeners {
    /// Returns why `listener` cannot be opened. A running listener may be in its way, which would close only after this
    /// one is open.
    fn in_own_way(&self, listener: &Listener, error: StartError) -> StartError {
        match in_the_way(&self.open, &listener.address, &error) {
            Some(own) => StartError::InOwnWay {
                new: listener.address.to_string(),
                own: own.to_string(),
            },
            None => error,
        }
    }

    /// Returns why the admin address cannot be opened. One of the listeners may be in its way.
    pub fn overlap_admin(&self, address: SocketAddr, error: BindError) -> StartError {
        let error = StartError::Admin(error);
        match in_the_way(&self.open, &ListenAddress::Tcp(address), &error) {
            Some(own) => StartError::Overlap {
                new: format!("{address} (the admin API)"),
                own: own.to_string(),
            },
            None => error,
        }
    }
}

/// Returns why an address cannot be opened. One of those that were opened with it may be in its way.
fn overlapping(open: &[Open], new: &ListenAddress, error: StartError) -> StartError {
    match in_the_way(open, new, &error) {
        Some(own) => StartError::Overlap {
            new: new.to_string(),
            own: own.to_string(),
        },
        None => error,
    }
}

/// Returns the address, among those that are open, because of which `new` is in use.
fn in_the_way(open: &[Open], new: &ListenAddress, error: &StartError) -> Option<ListenAddress> {
    let (StartError::Bind(BindError::InUse(_)) | StartError::Admin(BindError::InUse(_))) = error
    else {
        return None;
    };
    let in_use = |open: &Open| match open.place.address {
        Some(address) => ListenAddress::Tcp(address),
        None => open.listener.address.clone(),
    };
    open.iter().map(in_use).find(|own| meet(own, new))
}

/// Refuses changes that a reload cannot make to a listener that stays.
fn check_same_kind(old: &Listener, new: &Listener) -> Result<(), StartError> {
    let same = old.tls.is_some() == new.tls.is_some()
        && old.proxy_protocol == new.proxy_protocol
        && old.redirect_https == new.redirect_https
        && old.mode == new.mode;
    if same {
        Ok(())
    } else {
        Err(StartError::Listener(new.address.to_string()))
    }
}

impl Open {
    fn hand_over(&self, bound: Vec<Bound>, workers: &Workers) {
        workers.serve(bound.into_iter().map(|bound| Order {
            bound,
            drain: self.drain.clone(),
        }));
    }

    fn with_certificates(mut self, listener: &Listener) -> Self {
        if let (Some(tls), Some(new)) = (&self.tls, &listener.tls) {
            tls.replace(new);
        }
        if self.handed.is_none() {
            self.place.configured = listener.address.to_string();
        }
        self.place.redirects = listener.redirect_https.is_some();
        self.listener = listener.clone();
        self
    }
}

fn open_one(
    listener: &Listener,
    inherited: Option<Address>,
    workers: usize,
) -> Result<(Open, Vec<Bound>), StartError> {
    let tls = listener.tls.clone();
    let mut config = listener.config();
    let configured = match &inherited {
        Some(Address::InheritedUnix(socket)) => path_of(socket),
        _ => listener.address.to_string(),
    };
    if let Some(inherited) = inherited {
        config.address = inherited;
    }
    let bound = bind(config, workers)?;
    let place = Place {
        tls: tls.is_some(),
        address: bound.first().and_then(Bound::local),
        configured,
        redirects: listener.redirect_https.is_some(),
    };
    let (switch, drain) = drain();
    Ok((
        Open {
            listener: listener.clone(),
            place,
            tls,
            switch,
            drain,
            handed: None,
        },
        bound,
    ))
}

/// The path by which clients find a Unix socket that was handed over.
fn path_of(socket: &UnixListener) -> String {
    let address = socket.local_addr().ok();
    let path = address.as_ref().and_then(|address| address.as_pathname());
    path.map_or("a Unix socket without a path".to_owned(), |path| {
        format!("unix:{}", path.display())
    })
}

/// Returns the inherited socket at `index`, which takes the place of the configured address; `None` if there is none.
fn inherited_at(inherited: &mut ListenFd, index: usize) -> Result<Option<Address>, StartError> {
    if let Ok(tcp) = inherited.take_tcp_listener(index) {
        return Ok(tcp.map(Address::InheritedTcp));
    }
    match inherited.take_unix_listener(index) {
        Ok(unix) => Ok(unix.map(Address::InheritedUnix)),
        Err(_) => Err(StartError::NotASocket(index + 1)),
    }
}
