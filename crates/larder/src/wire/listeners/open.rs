//! One listener in use: how it is opened, handed over to the workers, and given new certificates.

use super::{
    StartError,
    place::{ListenPlace, path_of},
};
use crate::{
    config::meant::Listener,
    wire::worker::{Order, Workers},
};
use listenfd::ListenFd;
use proxy::listen::{Address, Bound, Drain, DrainSwitch, TlsStore, bind, drain};
use std::sync::Arc;

/// One listener in use.
pub(super) struct Open {
    pub(super) listener: Listener,
    pub(super) place: ListenPlace,
    tls: Option<Arc<TlsStore>>,
    pub(super) switch: DrainSwitch,
    /// The handle that accept loops wait on; kept for workers that start later.
    drain: Drain,
    /// The index among the sockets that were handed over, if this is one of them. The configured listener with this
    /// index gets the socket, whatever its address.
    pub(super) handed: Option<usize>,
}

impl Open {
    /// Hands its sockets to the workers, one to each.
    pub(super) fn hand_over(&self, bound: Vec<Bound>, workers: &Workers) {
        workers.serve(bound.into_iter().map(|bound| Order {
            bound,
            drain: self.drain.clone(),
        }));
    }

    /// Takes over what a reload may change of it.
    pub(super) fn with_certificates(mut self, listener: &Listener) -> Self {
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

/// Opens one listener for so many workers, on the inherited socket if it has one; nobody serves it yet.
pub(super) fn open_one(
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
    let place = ListenPlace {
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

/// Returns the inherited socket at `index`, which takes the place of the configured address; `None` if there is none.
pub(super) fn inherited_at(
    inherited: &mut ListenFd,
    index: usize,
) -> Result<Option<Address>, StartError> {
    if let Ok(tcp) = inherited.take_tcp_listener(index) {
        return Ok(tcp.map(Address::InheritedTcp));
    }
    match inherited.take_unix_listener(index) {
        Ok(unix) => Ok(unix.map(Address::InheritedUnix)),
        Err(_) => Err(StartError::NotASocket(index + 1)),
    }
}
