//! The request as the origin gets it: its fields, and what else belongs to it.

mod context;
mod forwarding;
mod interim;
mod message;
mod sent;
mod told;
mod trailers;
mod trust;

pub use context::context;
pub use forwarding::is_written_anew;
pub use message::{as_it_came, bodyless, is_of_content, with_content};
pub use sent::{FieldForwarding, sent_as};
pub use told::{is_keyed_if_told, key_what_is_told};
pub use trailers::may_trail;
pub use trust::{
    all_name, is_named, is_overridden, may_be_overridden, names::tells_address, set_aside,
    strip_host, strip_target,
};

use crate::{
    ask::Ask,
    error::Failure,
    policy::{Edit, Esi},
};
use forwarding::{Host, X_FORWARDED_FOR};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use memchr::memmem;
use origin::spares;
use rules::fields;
use std::{
    hash::{BuildHasher, RandomState},
    sync::OnceLock,
};
use trust::{is_ambiguous, is_passed, misleads};

static SURROGATE_CAPABILITY: HeaderName = HeaderName::from_static("surrogate-capability");

/// How often a request may have passed a cache of our name before it is taken for a loop.
const MOST_PASSES: usize = 8;

/// How many fields a request mostly gains before it goes out. The map grows once, so that it is not rebuilt for each of
/// them.
const MOST_ADDED: usize = 8;

/// What we tell origins that we understand (Edge Architecture): targeted control of our lifetimes, and purging by tag.
const CAPABILITY: HeaderValue = HeaderValue::from_static("larder=\"Surrogate/1.0 tags/1\"");

/// Tells origins that pages may be composed here. It is a member of its own because some applications compare the other
/// one as a whole.
const ESI_CAPABILITY: HeaderValue = HeaderValue::from_static("larder-esi=\"ESI/1.0\"");

/// Returns the client's fields as the origin may get them, still with conditions and ranges.
pub fn fields(ask: &Ask) -> Result<HeaderMap, Failure> {
    if passes(ask) >= MOST_PASSES {
        return Err(Failure::Loop);
    }
    let trusted = ask.client().is_believed();
    // Our own message has its own host and length.
    let is_option = |name: &HeaderName| {
        ask.receipt.connection_options.contains(name)
            && !matches!(*name, header::HOST | header::CONTENT_LENGTH)
    };
    let mut fields = spares::take();
    fields.reserve(ask.fields.len() + MOST_ADDED);
    fields::forward_to(&mut fields, &ask.fields, |name| {
        let is_said_by_another = *name == X_FORWARDED_FOR
            // An application believes it. It would write what only that client's surrogate can read into what is stored
            // for all.
            || *name == SURROGATE_CAPABILITY;
        let is_ambiguous = is_ambiguous(name) && !is_named(ask, name);
        *name != header::EXPECT
            && (trusted || !is_said_by_another)
            && (!misleads(name) || is_passed(ask, name))
            && !is_ambiguous
            && !is_option(name)
    });
    ask.site.purge.withhold_secret(&mut fields);
    let host = Host::of(ask);
    forwarding::tell(&mut fields, ask, &host);
    ask.site.via_of_requests.append(&mut fields, ask.version);
    tell_capabilities(&mut fields, ask.policy().esi);
    if ask.policy().esi == Esi::On {
        // Pages are read here; compressed content would have to be decoded first.
        fields.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
    }
    if let Some(host) = ask.policy().to_origin.host.clone().or(host.written_anew()) {
        fields.insert(header::HOST, host);
    }
    edit(&mut fields, &ask.policy().to_origin.edits);
    Ok(fields)
}

/// Adds our capabilities to those of trusted surrogates before us.
fn tell_capabilities(fields: &mut HeaderMap, esi: Esi) {
    fields.append(&SURROGATE_CAPABILITY, CAPABILITY);
    if esi != Esi::Off {
        fields.append(&SURROGATE_CAPABILITY, ESI_CAPABILITY);
    }
}

/// Returns how often a request has come through a cache of our name.
fn passes(ask: &Ask) -> usize {
    if !fields::has(&ask.fields, &header::VIA) {
        return 0;
    }
    ask.fields
        .get_all(header::VIA)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .filter(|member| names_us(member, &ask.site.name))
        .count()
}

/// Returns what this process adds to its name in `Via` on requests: a comment, which has no meaning for others (RFC
/// 9110 section 7.6.3).
pub fn own_comment() -> &'static str {
    static COMMENT: OnceLock<String> = OnceLock::new();
    COMMENT.get_or_init(|| format!("({:08x})", RandomState::new().hash_one(()) >> 32))
}

/// Whether a request has been through this very process before, so that the request it would follow may be waiting for
/// it. A proxy that removes comments hides that; then the request is refused after [`MOST_PASSES`].
pub fn comes_round(ask: &Ask) -> bool {
    let mut lines = ask.fields.get_all(header::VIA).iter();
    let comment = own_comment().as_bytes();
    lines.any(|line| memmem::find(line.as_bytes(), comment).is_some())
}

/// Whether a member of `Via` is a cache of our name: the protocol comes first, then the recipient (RFC 9110 section
/// 7.6.3). Members count wherever proxies put them, in one line or in several, and also inside a comment: a client
/// could hide them all by leaving a comment open.
fn names_us(member: &[u8], name: &str) -> bool {
    let words = member.split(|byte| matches!(byte, b' ' | b'\t'));
    words.filter(|word| !word.is_empty()).nth(1) == Some(name.as_bytes())
}

/// Makes the site's changes to the fields.
pub fn edit<'a>(fields: &mut HeaderMap, edits: impl IntoIterator<Item = &'a Edit>) {
    for edit in edits {
        match edit {
            Edit::Set(name, value) => {
                fields.insert(name, value.clone());
            }
            Edit::Add(name, value) => {
                fields.append(name, value.clone());
            }
            Edit::Remove(name) => {
                fields.remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
