//! How a reload changes the listeners: what may fail is prepared first, and then applied as a whole.

use super::{
    Listeners, Sockets, StartError,
    in_the_way::overlapping,
    open::{Open, open_one},
};
use crate::{
    config::meant::{Config, Listener},
    wire::worker::Workers,
};

/// A prepared change, which can no longer fail.
pub struct Change {
    /// The listeners that stay, by index, with the certificates that they use from now on.
    stay: Vec<(usize, Listener)>,
    new: Vec<Open>,
    sockets: Sockets,
}

impl Listeners {
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
