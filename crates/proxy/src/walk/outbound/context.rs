//! What an origin is told besides the message.

use super::{forwarding::Host, interim};
use crate::ask::Ask;
use origin::{Context, Visitor};

/// What the origin is told besides the message, as far as it uses it. `means_application` says whether the application
/// itself is to answer ([`Context::personal`]).
pub fn context(ask: &Ask, means_application: impl FnOnce() -> bool) -> Context {
    let heeds = ask.policy().origin.heeds();
    let mut context = Context {
        interim: Some(interim::to_client(ask)),
        ..Context::default()
    };
    if heeds.key {
        context.hash = hash(ask.key.as_bytes());
    }
    if heeds.asker {
        context.visitor = visitor(ask);
        Host::of(ask).text().clone_into(&mut context.host);
        context.personal = means_application();
    }
    context
}

/// Returns the number for consistent hashing: the same for a key on every node.
fn hash(key: &[u8]) -> u64 {
    // FNV-1a: stable over processes and nodes, and no defence against attacks.
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns who asks, for origins that want that besides the message: the client itself, or the client that trusted
/// proxies name.
fn visitor(ask: &Ask) -> Visitor {
    let peer = ask.receipt.connection.peer;
    let client = ask.client().address(&ask.fields);
    let itself = peer.filter(|peer| Some(peer.ip()) == client);
    Visitor {
        client,
        port: itself.map(|peer| peer.port()),
        server: ask.receipt.connection.local,
        https: ask.policy().key.scheme && ask.scheme == "https",
    }
}
