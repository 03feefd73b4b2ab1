//! Why an address cannot be opened: another listener of the same configuration may be in its way.

use super::{Listeners, StartError, open::Open};
use crate::config::{
    meant::{Listener, meet},
    value::ListenAddress,
};
use proxy::listen::BindError;
use std::net::SocketAddr;

impl Listeners {
    /// Returns why `listener` cannot be opened. A running listener may be in its way, which would close only after this
    /// one is open.
    pub(super) fn in_own_way(&self, listener: &Listener, error: StartError) -> StartError {
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
pub(super) fn overlapping(open: &[Open], new: &ListenAddress, error: StartError) -> StartError {
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
