//! Origins that are no servers, and several in turn.

use super::{Sink, fetching};
use crate::config::{Fault, value::At, written};
use origin::{Origin, files};
use std::sync::Arc;

/// The folder that `table` names; `None` if it names none, `Some(None)` if it cannot be one.
pub(super) fn folder(
    table: &At<written::Origin>,
    name: &str,
    sink: &mut Sink<'_>,
) -> Option<Option<Arc<Origin>>> {
    let At { value: root, span } = table.value.r#static.as_ref()?;
    without_servers(table, "a folder", sink);
    let turns = fetching::turns(&table.value, sink);
    let config = files::Config {
        turns,
        ..files::Config::new(name, root)
    };
    Some(match Origin::files(config) {
        Ok(origin) => Some(origin),
        Err(error) => {
            sink.push(
                Fault::at(span, error.to_string()).instead("name a folder that Larder may read"),
            );
            None
        }
    })
}

/// Reports keys that mean nothing without servers.
fn without_servers(table: &At<written::Origin>, what: &str, sink: &mut Sink<'_>) {
    let written = &table.value;
    if let Some(servers) = &written.servers {
        sink.push(
            Fault::at(
                &servers.span,
                format!("an origin is either {what} or servers"),
            )
            .instead("make two origins of them, and write `try = [\"static\", \"app\"]`"),
        );
    }
    let keys = [
        ("balance", written.balance.is_some()),
        ("protocol", written.protocol.is_some()),
        ("tls", written.tls.is_some()),
        ("idle_connections", written.idle_connections.is_some()),
        ("idle_time", written.idle_time.is_some()),
        ("retry", written.retry.is_some()),
        ("passive", written.passive.is_some()),
        ("health", written.health.is_some()),
        ("slow_start", written.slow_start.is_some()),
        ("header_size", written.header_size.is_some()),
        ("resolve_every", written.resolve_every.is_some()),
    ];
    for (key, _) in keys.iter().filter(|(_, written)| *written) {
        let what = format!("`{key}` means nothing to {what}");
        sink.push(Fault::at(&table.span, what).instead(format!("leave `{key}` out")));
    }
}
