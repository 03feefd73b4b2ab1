//! How a run asks for pages.

use super::Orders;
use http::header;
use proxy::content_key::digest;

/// Returns a digest of what decides, beside the target, what the application answers: which one it is, the site's name,
/// and the fields of every request. Validators that came with answers to one digest say nothing about those to another.
///
/// Of `Authorization` only the name counts: a published answer to it is for everybody, whoever asked (RFC 9111 section
/// 3.5), and a digest of a password, in a folder that web servers may serve, would let others try passwords.
pub fn asked(orders: &Orders) -> String {
    let mut text = format!("{:?}", (&orders.from_text, &orders.host)).into_bytes();
    for (name, value) in &orders.manner.fields {
        text.push(b'\n');
        text.extend_from_slice(name.as_str().as_bytes());
        if *name != header::AUTHORIZATION {
            text.push(b':');
            text.extend_from_slice(value.as_bytes());
        }
    }
    digest(&text)
}
