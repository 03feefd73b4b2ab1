//! The servers of an origin.

use super::{Sink, kinds::KINDS};
use crate::config::{
    Fault,
    value::{self, At, ServerUrl},
    written,
};
use origin::{
    OriginConfig,
    config::{Server, Tls},
};
use rustls::pki_types::ServerName;

/// Uses the one server of the command line instead of those of the file. The file's TLS settings apply if the server
/// uses TLS.
pub(super) fn from_flag(
    url: &ServerUrl,
    written: &written::Origin,
    config: &mut OriginConfig,
    sink: &mut Sink<'_>,
) {
    config.servers = vec![Server::new(url.address.clone())];
    let written = written.tls.as_ref().filter(|_| url.tls == Some(true));
    config.tls = tls(written, url.tls, sink);
}

/// Reads the servers of the file. `None` if no origin can be built from them.
pub(super) fn from_file(
    table: &At<written::Origin>,
    config: &mut OriginConfig,
    sink: &mut Sink<'_>,
) -> Option<()> {
    let written = &table.value;
    let mut tls = None;
    for server in written.servers.iter().flat_map(|list| &list.list) {
        let weight = sink.bounded("weight", server.value.weight.as_ref(), 1);
        let Some(url) = &server.value.url else {
            sink.missing(
                &["url"],
                Fault::at(&server.span, "a server without a URL")
                    .instead("add `url = \"http://127.0.0.1:5001\"`"),
            );
            continue;
        };
        if tls.is_some() && url.value.tls.is_some() && tls != url.value.tls {
            sink.push(
                Fault::at(
                    &url.span,
                    "the servers of one origin must be all `http` or all `https`",
                )
                .instead("make two origins of them"),
            );
        }
        tls = tls.or(url.value.tls);
        let mut known = config.servers.iter();
        if known.any(|known| known.address == url.value.address) {
            sink.push(
                Fault::at(&url.span, "this server is listed twice")
                    .instead("leave it out; for twice the share, give the other `weight = 2`"),
            );
            continue;
        }
        config.servers.push(Server {
            address: url.value.address.clone(),
            weight,
            backup: server.value.backup.unwrap_or(false),
        });
    }
    config.tls = self::tls(written.tls.as_ref(), tls, sink);
    let servers = written.servers.as_ref();
    let span = servers.map_or(&table.span, |list| &list.span);
    if config.servers.is_empty() {
        let fault = Fault::at(span, "an origin without servers");
        sink.missing(
            &KINDS,
            fault.instead("write `servers = [\"http://127.0.0.1:5001\"]`"),
        );
        return None;
    }
    if config.servers.iter().all(|server| server.backup) {
        let what = "all servers are backups: at least one must be an ordinary server";
        sink.missing(
            &["servers", "url", "backup"],
            Fault::at(span, what).instead("leave `backup` out of one of them"),
        );
    }
    Some(())
}

/// Reads a name that a certificate can have.
fn server_name(At { value, span }: &At<String>, sink: &mut Sink<'_>) -> Option<String> {
    if ServerName::try_from(value.as_str()).is_ok() {
        return Some(value.clone());
    }
    let fault = match value::not_ascii(value) {
        Some(wrong) => Fault::at(span, wrong.what),
        None => Fault::at(span, format!("no certificate has the name `{value}`")),
    };
    sink.push(
        fault.instead("write a host without scheme and port: `server_name = \"app.example\"`"),
    );
    None
}

fn tls(
    written: Option<&At<written::ServerTls>>,
    https: Option<bool>,
    sink: &mut Sink<'_>,
) -> Option<Tls> {
    let Some(At { value, span }) = written else {
        return (https == Some(true)).then(Tls::default);
    };
    if https == Some(false) {
        sink.push(
            Fault::at(span, "the servers speak plain `http`: `tls` has no effect")
                .instead("write `https://` before the servers, or leave `tls` out"),
        );
    }
    Some(Tls {
        server_name: value
            .server_name
            .as_ref()
            .and_then(|name| server_name(name, sink)),
        authorities: value.authorities.as_ref().map(|file| file.value.clone()),
        insecure: value.insecure.unwrap_or(false),
    })
}
