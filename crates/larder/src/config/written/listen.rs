//! Listeners, as written.

use crate::config::value::{At, Chosen, HttpsPort, ListenAddress, Many, Short, Text, Word, Wrong};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;
use std::{ops::Range, path::PathBuf};

/// An address where clients connect.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["address"]))]
pub struct Listen {
    /// An address with a port, or `unix:` and a path.
    pub address: Option<Text<ListenAddress>>,
    /// Certificates. With at least one, this listener uses TLS. Clients that name no host, or a host that no
    /// certificate covers, get the first one. If several cover a name, the client gets the first that it supports
    /// (ECDSA before RSA); one with the name itself comes before one with a wildcard.
    #[schemars(extend("minItems" = 1))]
    pub tls: Option<Vec<Certificate>>,
    /// Networks of load balancers whose connections begin with a PROXY protocol header (version 1 or 2). On a Unix
    /// socket, a list that is not empty applies to every connection.
    #[schemars(extend("default" = []))]
    pub proxy_protocol: Option<Many<Text<IpNet>>>,
    /// Answer every request with a redirect to `https` on this port, usually `443`.
    #[schemars(extend("examples" = [443]))]
    pub redirect_https: Option<At<Chosen<HttpsPort>>>,
    /// Permission bits of the Unix socket's file, in octal digits.
    #[schemars(extend("examples" = ["660"]))]
    pub mode: Option<Text<Mode>>,
}

impl Short for Listen {
    const WHAT: &'static str = "an address to listen on";
    const EXAMPLES: &'static [&'static str] = ListenAddress::EXAMPLES;

    fn short(text: &str, span: Range<usize>) -> Result<Self, Wrong> {
        let value = ListenAddress::read(text)?;
        Ok(Self {
            address: Some(Text { value, span }),
            ..Self::default()
        })
    }
}

/// A certificate and its key.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["certificate", "key"]))]
pub struct Certificate {
    /// PEM file with the certificate, followed by those that lead to its authority. Read again on reload.
    #[schemars(with = "Option<String>", extend("examples" = ["/etc/larder/site.pem"]))]
    pub certificate: Option<At<PathBuf>>,
    /// PEM file with the private key.
    #[schemars(with = "Option<String>", extend("examples" = ["/etc/larder/site.key"]))]
    pub key: Option<At<PathBuf>>,
}

/// Permission bits of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u32);

impl Word for Mode {
    const WHAT: &'static str = "permission bits as octal digits";
    const EXAMPLES: &'static [&'static str] = &["660"];
    const PATTERN: &'static str = "^0*[0-7]{1,3}$";

    fn parse(text: &str) -> Result<Self, Wrong> {
        match u32::from_str_radix(text, 8) {
            Ok(bits) if bits <= 0o777 => Ok(Self(bits)),
            _ => Err(Wrong::new(format!("`{text}` is not {}", Self::WHAT)).instead("660")),
        }
    }
}
