//! Why a start or a reload was refused.

use crate::telemetry::access_log::CannotStart;
use proxy::listen::BindError;
use std::io;

/// Why the program could not start, or could not take a new configuration. The operator can mend all of these.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener cannot be opened.
    #[error("{0} (another address: `--listen ADDRESS`, or `listen` in the configuration)")]
    Bind(#[from] BindError),
    /// More sockets were handed over than there are listeners.
    #[error(
        "{handed} sockets were handed over, and the configuration has listeners for {listeners}: the rest would not be answered"
    )]
    TooManyHanded {
        /// The number of sockets.
        handed: usize,
        /// The number of listeners.
        listeners: usize,
    },
    /// Something other than a stream socket was handed over.
    #[error("the handed-over socket {0} is not a TCP or Unix stream socket")]
    NotASocket(usize),
    /// The admin address cannot be opened.
    #[error(
        "{0} (the address of the admin API: change it with `--admin ADDRESS`, or `--admin off`)"
    )]
    Admin(BindError),
    /// The access log cannot be written.
    #[error(transparent)]
    Log(#[from] CannotStart),
    /// A thread or its runtime cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The log of purges that nodes share cannot be followed.
    #[error("cannot follow the shared log of purges: {0}")]
    Stream(#[from] store::shared::stream::StartError),
    /// A listener that runs cannot be changed in this way.
    #[error(
        "the listener on {0} cannot change between plain and TLS, nor its PROXY protocol, redirect or mode, while it runs: restart"
    )]
    Listener(String),
    /// Two addresses that are to be opened together overlap.
    #[error(
        "cannot listen on both {new} and {own}: one includes the other (leave out the narrower one, or choose another port)"
    )]
    Overlap {
        /// The address that cannot be opened.
        new: String,
        /// The address of the listener in its way.
        own: String,
    },
    /// A running listener is in the way of a new one.
    #[error("cannot listen on {new} while {own} is open: restart")]
    InOwnWay {
        /// The address of the new listener.
        new: String,
        /// The address of the one in its way.
        own: String,
    },
}
