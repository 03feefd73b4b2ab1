//! The operation of a GraphQL request, and whether it is a query. The document is parsed, so that a text that only
//! looks like a query does not pass for one.

use super::{Unkeyed, json::Members};
use apollo_parser::{
    Parser,
    cst::{CstNode, Definition},
};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// How deep selections may be nested.
const DEEPEST: usize = 64;

/// The most tokens that a document may have.
const MOST_TOKENS: usize = 16 << 10;

/// The operation that a request selects.
#[derive(Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// The members of a request that have a meaning.
const MEANT: [&str; 4] = ["query", "operationName", "variables", "extensions"];

/// Returns the operation of a request in JSON.
///
/// # Errors
/// Why it must not be answered from the store.
pub fn of_json(text: &str) -> Result<Selected, Unkeyed> {
    if text
        .trim_start_matches([' ', '\t', '\r', '\n'])
        .starts_with('[')
    {
        return Err(Unkeyed::Batch);
    }
    let Members(members) = serde_json::from_str(text).map_err(|_| Unkeyed::Malformed)?;
    // Some services ignore the case of names, and take the last.
    let is_like = |name: &str| {
        let mut known = MEANT.iter();
        known.any(|known| name.eq_ignore_ascii_case(known) && name != *known)
    };
    if members.keys().any(|name| is_like(name)) {
        return Err(Unkeyed::Malformed);
    }
    let text = |name: &str| -> Result<Option<String>, Unkeyed> {
        let value: Option<&&RawValue> = members.get(name);
        let value = value.map(|value| serde_json::from_str::<Option<String>>(value.get()));
        value
            .transpose()
            .map(Option::flatten)
            .map_err(|_| Unkeyed::Malformed)
    };
    let document = text("query")?.ok_or(Unkeyed::NoDocument)?;
    of_document(&document, text("operationName")?.as_deref())
}

/// Returns the operation of a `GET` from its query string; `None` if it names none, and is a page like any other.
/// Without a document (a persisted query) it is a query, since a `GET` may ask for nothing else.
///
/// # Errors
/// Why it must not be answered from the store.
pub fn of_query(query: &str) -> Result<Option<Selected>, Unkeyed> {
    let document = parameter(query, "query")?;
    let name = parameter(query, "operationName")?.filter(|name| !name.is_empty());
    match document {
        Some(document) => of_document(&document, name.as_deref()).map(Some),
        None => Ok(name.map(|name| Selected { name: Some(name) })),
    }
}

/// Returns the only value of a parameter, decoded as in forms.
fn parameter(query: &str, name: &str) -> Result<Option<String>, Unkeyed> {
    let normal = rules::key::normalize(query);
    let mut values = normal.split('&').filter_map(|pair| {
        let (found, value) = pair.split_once('=')?;
        (found == name).then_some(value)
    });
    let (first, more) = (values.next(), values.next());
    if more.is_some() {
        return Err(Unkeyed::Malformed);
    }
    let decoded = first.map(|value| decode(&value.replace('+', " ")).map(Cow::into_owned));
    decoded.map_or(Ok(None), |text| text.map(Some).ok_or(Unkeyed::Malformed))
}

/// Decodes percent-encoded text; `None` if the result is not UTF-8.
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%' {
            let (hex, after) = rest.split_at_checked(2)?;
            let hex = std::str::from_utf8(hex)
                .ok()
                .filter(|hex| !hex.starts_with('+'))?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Returns the operation of a document that a request selects by `name`, or the only one. Every operation of the
/// document must be a query, since services differ in how they choose.
///
/// # Errors
/// Why it must not be answered from the store.
pub fn of_document(document: &str, name: Option<&str>) -> Result<Selected, Unkeyed> {
    let tree = Parser::new(document)
        .recursion_limit(DEEPEST)
        .token_limit(MOST_TOKENS)
        .parse();
    if tree.errors().len() > 0 {
        return Err(Unkeyed::Malformed);
    }
    let mut names = Vec::new();
    for definition in tree.document().definitions() {
        match definition {
            Definition::OperationDefinition(operation) => {
                let is_query = operation
                    .operation_type()
                    .is_none_or(|kind| kind.source_string().trim() == "query");
                if !is_query {
                    return Err(Unkeyed::Effect);
                }
                names.push(operation.name().map(|name| name.text().to_string()));
            }
            Definition::FragmentDefinition(_) => {}
            _ => return Err(Unkeyed::Malformed),
        }
    }
    match (name, names.as_slice()) {
        (Some(wanted), names) if names.iter().flatten().any(|name| name == wanted) => {
            Ok(Selected {
                name: Some(wanted.to_owned()),
            })
        }
        (None, [only]) => Ok(Selected { name: only.clone() }),
        _ => Err(Unkeyed::Malformed),
    }
}
