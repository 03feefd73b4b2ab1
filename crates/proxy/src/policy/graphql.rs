//! What holds before a GraphQL service.

use std::{collections::HashMap, time::Duration};

/// What holds for the operations of a GraphQL service.
#[derive(Debug, Clone, Default)]
pub struct GraphQl {
    /// What holds for some of them, by name.
    pub operations: HashMap<String, Operation>,
    /// Whether answers that tell of errors are stored.
    pub store_errors: bool,
    /// Whether what may change something makes all that is stored under its URL invalid (RFC 9111 section 4.4).
    pub invalidate: bool,
}

/// What holds for one GraphQL operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Off: it bypasses the store.
    pub cache: bool,
    /// Lifetime of its answers of status 200, in place of the route's.
    pub ttl: Option<Duration>,
    /// Tags of its answers, beside those they carry.
    pub tags: Vec<String>,
}
