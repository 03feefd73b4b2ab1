//! The policy for a GraphQL service.

use std::{collections::HashMap, time::Duration};

/// The policy for the operations of a GraphQL service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphQl {
    /// The policy for some of them, by name.
    pub operations: HashMap<String, Operation>,
    /// Whether answers that report errors are stored.
    pub store_errors: bool,
    /// Whether a request that may change something invalidates all that is stored under its URL (RFC 9111 section 4.4).
    pub invalidate: bool,
}

/// The policy for one GraphQL operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// If false, it bypasses the store.
    pub cache: bool,
    /// The lifetime of its answers of status 200, in place of the route's.
    pub ttl: Option<Duration>,
    /// Tags of its answers, in addition to those they carry.
    pub tags: Vec<String>,
}
