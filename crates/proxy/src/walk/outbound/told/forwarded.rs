//! What a trusted peer tells the origin in `Forwarded` (RFC 7239), as part of the key.
//!
//! Applications read it each in its own way: some take the first element, some the last, some the first `host=` wherever
//! it stands, some nothing at all if a part of it is malformed. So the field is keyed as it is written, and its text is
//! only split, not understood.

use crate::{
    ask::Key,
    policy::KeySpec,
    walk::outbound::forwarding::{left_of_forwarded, untold},
};
use http::{HeaderMap, HeaderValue, header::FORWARDED};
use rules::forwarded::as_written::{name_and_value, names_node, unquoted};

/// Returns the lines that the origin gets, before ours is added.
pub fn lines(fields: &HeaderMap, spec: &KeySpec) -> Vec<HeaderValue> {
    match untold(spec) {
        [] => fields.get_all(FORWARDED).iter().cloned().collect(),
        names => left_of_forwarded(fields, names).into_iter().collect(),
    }
}

/// Whether each element says what the key says, and nothing else. It says all of it: an application that goes by one
/// element would take what that one lacks from the connection.
pub fn agrees(lines: &[HeaderValue], key: &Key, scheme: &str, spec: &KeySpec) -> bool {
    let mut elements = lines
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    elements.all(|element| {
        let element = element.strip_prefix(b" ").unwrap_or(element);
        let mut said = Vec::with_capacity(4);
        let is_true = element.split(|byte| *byte == b';').all(|part| {
            let (name, value) = name_and_value(part);
            let value = value.and_then(unquoted);
            let is_new = !said.contains(&name);
            said.push(name);
            is_new
                && value.is_some_and(|value| match name {
                    b"for" | b"by" => names_node(value),
                    b"host" => value == key.host_bytes(),
                    b"proto" => value == scheme.as_bytes(),
                    _ => false,
                })
        });
        let says = |name: &str| said.contains(&name.as_bytes());
        is_true && (!spec.host || says("host")) && (!spec.scheme || says("proto"))
    })
}

#[cfg(test)]
mod tests;
