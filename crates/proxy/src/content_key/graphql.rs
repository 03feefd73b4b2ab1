//! GraphQL requests, by `POST`, `QUERY` or `GET`: which are queries that the site stores.

use super::{
    Unkeyed, digest, errors::ErrorSearch, is_conditional, is_query, json, operation,
    operation::Selected,
};
use crate::{
    ask::Ask,
    policy::{GraphQl, Operation},
};
use http::{HeaderMap, Method, header};
use rules::{method::is_retrieval, vary::variant_key};

/// As [`key`](super::key), for a GraphQL request, if it is a query that the site stores; with what it accepts.
pub(super) fn key(ask: &mut Ask, bytes: &[u8]) -> Result<(), Unkeyed> {
    if !matches!(
        operation::of_query(ask.target.query().unwrap_or_default()),
        Ok(None)
    ) {
        // Some services prefer the query string to the content.
        return Err(Unkeyed::Malformed);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Unkeyed::Malformed)?;
    let selected = operation::of_json(text)?;
    let canonical = json::canonical(text).ok_or(Unkeyed::Malformed)?;
    take(ask, selected)?;
    if is_conditional(ask) {
        return Err(Unkeyed::Condition);
    }
    let method = if is_query(&ask.method) {
        "QUERY"
    } else {
        "POST"
    };
    // Services choose a type by it without a `Vary`, since hardly any cache stores what answers a `POST`.
    let mut accepted = Vec::new();
    variant_key(&[header::ACCEPT], &ask.fields, &mut accepted);
    let sum = digest(canonical.as_bytes());
    let values = [sum.as_bytes(), accepted.trim_ascii_end()];
    ask.key.content(method, &values);
    Ok(())
}

/// Reads the operation of a `GET` to a GraphQL service. A query is left as it is; anything else bypasses the store.
#[inline]
pub fn read_get(ask: &mut Ask) {
    if ask.policy().graphql.is_some() && is_retrieval(&ask.method) {
        read_operation(ask);
    }
}

fn read_operation(ask: &mut Ask) {
    match operation::of_query(ask.target.query().unwrap_or_default()) {
        Ok(None) => {}
        Ok(Some(selected)) => {
            if let Err(why) = take(ask, selected) {
                ask.content.unkeyed = Some(why);
            }
        }
        Err(why) => ask.content.unkeyed = Some(why),
    }
}

/// Records the operation that is asked for; an error if the site does not store it.
fn take(ask: &mut Ask, selected: Selected) -> Result<(), Unkeyed> {
    ask.content.operation = selected.name.map(String::into_boxed_str);
    match ask.operation() {
        Some(Operation { cache: false, .. }) => Err(Unkeyed::Operation),
        _ => Ok(()),
    }
}

impl GraphQl {
    /// Returns the site's settings for an operation, if any.
    pub fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.get(name)
    }
}

impl Ask {
    /// Returns the site's settings for the GraphQL operation that is asked for, if any.
    pub fn operation(&self) -> Option<&Operation> {
        let graphql = self.policy().graphql.as_ref()?;
        graphql.operation(self.content.operation.as_deref()?)
    }

    /// Whether an answer is searched for errors before it is stored.
    pub fn checks_errors(&self) -> bool {
        let graphql = self.policy().graphql.as_ref();
        graphql.is_some_and(|graphql| !graphql.store_errors)
    }

    /// How an answer with these fields is searched for errors before it is stored.
    pub fn error_search(&self, fields: &HeaderMap) -> ErrorSearch {
        if self.checks_errors() {
            ErrorSearch::of(fields)
        } else {
            ErrorSearch::Nothing
        }
    }

    /// Whether stored responses stay: the request is known to change nothing although its method is not safe, or the
    /// site says that what it changes is invalidated by other means.
    pub fn leaves_stored_responses(&self) -> bool {
        let content = &self.content;
        let is_query = |why| matches!(why, Unkeyed::Operation | Unkeyed::Condition);
        let known = content.keyed.is_some() || content.unkeyed.is_some_and(is_query);
        let graphql = self.policy().graphql.as_ref();
        self.method == Method::POST && graphql.is_some_and(|graphql| known || !graphql.invalidate)
    }
}
