//! Listeners.

use super::{Sink, certificate, kinds::listed, settings::values};
use crate::config::{
    Fault, Flags,
    value::{Brief, ListenAddress},
    written,
};
use ipnet::IpNet;
use proxy::listen::{Address, CertificateFiles, ListenConfig, TlsStore};
use std::{
    net::{Ipv4Addr, SocketAddr},
    ops::Range,
    sync::Arc,
};

/// An address where clients connect.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The address.
    pub address: ListenAddress,
    /// Its certificates, as they were read. With any, it uses TLS. The first one is the fallback.
    pub tls: Option<Arc<TlsStore>>,
    /// Networks whose connections begin with a PROXY protocol header.
    pub proxy_protocol: Vec<IpNet>,
    /// Answers every request with a redirect to `https` on this port.
    pub redirect_https: Option<u16>,
    /// Permission bits of a Unix socket.
    pub mode: Option<u32>,
}

/// A listener, and the place of its address in the file.
pub(super) type Placed = (Listener, Option<Range<usize>>);

impl Listener {
    const fn plain(address: ListenAddress) -> Self {
        Self {
            address,
            tls: None,
            proxy_protocol: Vec::new(),
            redirect_https: None,
            mode: None,
        }
    }

    /// Returns it in the form that the listeners take.
    pub fn config(&self) -> ListenConfig {
        let address = match &self.address {
            ListenAddress::Tcp(address) => Address::Tcp(*address),
            ListenAddress::Unix(path) => Address::Unix(path.clone()),
        };
        ListenConfig {
            tls: self.tls.clone(),
            proxy_protocol: self.proxy_protocol.clone(),
            redirect_https: self.redirect_https,
            unix_mode: self.mode,
            ..ListenConfig::plain(address)
        }
    }
}

pub(super) fn build(written: &written::Config, flags: &Flags, sink: &mut Sink<'_>) -> Vec<Placed> {
    let mut listeners: Vec<Placed> = Vec::new();
    let in_file = written.listen.as_ref().map(|list| (&list.list, &list.span));
    if flags.listen.is_empty() {
        for table in in_file.into_iter().flat_map(|(list, _)| list) {
            listeners.extend(listener(table, sink));
        }
        if let Some((list, span)) = in_file
            && list.is_empty()
        {
            sink.missing(
                &["listen", "address"],
                Fault::at(span, "nobody can connect: `listen` is empty")
                    .instead("write `listen = [\"127.0.0.1:8080\"]`"),
            );
        }
    } else {
        for table in in_file.into_iter().flat_map(|(list, _)| list) {
            replaced(table, sink);
        }
        listeners.extend(
            flags
                .listen
                .iter()
                .cloned()
                .map(|address| (Listener::plain(address), None)),
        );
    }
    if listeners.is_empty() {
        let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
        listeners.push((Listener::plain(ListenAddress::Tcp(usual)), None));
    }
    listeners
}

/// Warns of what the file says of an address that is not listened on, because the command line says where.
fn replaced(table: &Brief<written::Listen>, sink: &mut Sink<'_>) {
    let Brief { value, span } = table;
    let keys = [
        ("tls", value.tls.is_some()),
        ("proxy_protocol", value.proxy_protocol.is_some()),
        ("redirect_https", value.redirect_https.is_some()),
        ("mode", value.mode.is_some()),
    ];
    let keys = keys.into_iter().filter(|(_, is_written)| *is_written);
    let keys: Vec<&str> = keys.map(|(key, _)| key).collect();
    if keys.is_empty() {
        return;
    }
    let have = if keys.len() > 1 { "have" } else { "has" };
    let what = format!(
        "the command line says where to listen: {} {have} no effect",
        listed(&keys, "and")
    );
    sink.warn(Fault::at(span, what).instead("leave `--listen` out of the command line"));
}

fn listener(table: &Brief<written::Listen>, sink: &mut Sink<'_>) -> Option<Placed> {
    let Brief { value, span } = table;
    let certificates: Vec<CertificateFiles> = value
        .tls
        .iter()
        .flatten()
        .enumerate()
        .filter_map(|(index, files)| certificate::read((files, index == 0), span, sink))
        .collect();
    if let Some([]) = value.tls.as_deref() {
        let fault = Fault::at(span, "TLS without a certificate: `tls` is empty");
        sink.missing(
            &["tls"],
            fault.instead("leave `tls` out, or name a certificate in it"),
        );
    }
    let redirect = value.redirect_https.as_ref();
    if let (Some(redirect), Some(_)) = (redirect, &value.tls) {
        sink.push(
            Fault::at(
                &redirect.span,
                "this listener speaks TLS: a redirect to `https` would never end",
            )
            .instead("redirect from the listener without `tls`"),
        );
    }
    let redirect_https = redirect.map(|port| port.value.0.0);
    let Some(address) = &value.address else {
        sink.missing(
            &["address"],
            Fault::at(span, "a listener without an address")
                .instead("add `address = \"127.0.0.1:8080\"`"),
        );
        return None;
    };
    if let (Some(mode), ListenAddress::Tcp(_)) = (&value.mode, &address.value) {
        sink.push(
            Fault::at(
                &mode.span,
                "only the file of a Unix socket has permission bits",
            )
            .instead("leave `mode` out"),
        );
    }
    let listener = Listener {
        address: address.value.clone(),
        tls: certificate::all(&certificates, span, sink),
        proxy_protocol: values(value.proxy_protocol.as_ref()),
        redirect_https,
        mode: value.mode.as_ref().map(|mode| mode.value.0),
    };
    Some((listener, Some(address.span.clone())))
}
