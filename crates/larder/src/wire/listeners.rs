//! The listeners in use: opened at the start, served by the workers, drained at a stop. A reload [changes](change) them.

mod change;
mod in_the_way;
mod open;
mod place;

pub use place::ListenPlace;

use super::{StartError, worker::Workers};
use crate::{admin, config::meant::Config};
use in_the_way::overlapping;
use listenfd::ListenFd;
use open::{Open, inherited_at, open_one};
use proxy::listen::{Bound, DrainSwitch};
use std::time::Duration;

/// All listeners.
pub struct Listeners {
    open: Vec<Open>,
    /// The switches of listeners that a reload removed, until these have stopped.
    leaving: Vec<DrainSwitch>,
}

/// The sockets of newly opened listeners, one for each worker.
pub type Sockets = Vec<Vec<Bound>>;

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
            let (mut one, bound) =
                opened.map_err(|error| overlapping(&open, &listener.address, error))?;
            one.handed = handed;
            open.push(one);
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
    pub fn places(&self) -> Vec<ListenPlace> {
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
