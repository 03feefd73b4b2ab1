//! Networks and addresses of clients: `10.0.0.0/8`, `192.0.2.7`.

use super::{Word, Wrong};
use ipnet::{IpNet, Ipv4Net};
use std::net::IpAddr;

impl Word for IpNet {
    const WHAT: &'static str = "an address or a network";
    const EXAMPLES: &'static [&'static str] = &["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::from(address.to_canonical()));
        }
        let network = text.parse::<Self>().map_err(|_| {
            Wrong::new(format!("`{text}` is neither an address nor a network"))
                .as_in(Self::EXAMPLES)
        })?;
        if network.trunc() != network {
            return Err(Wrong::new(format!(
                "`{text}` has bits set after its prefix: is the address meant, or its network?"
            ))
            .instead(network.trunc()));
        }
        Ok(as_ipv4(network).unwrap_or(network))
    }
}

/// Returns a network of IPv4 addresses written as IPv6 (RFC 4291 section 2.5.5.2) in IPv4 form, the form in which
/// clients are known.
fn as_ipv4(network: IpNet) -> Option<IpNet> {
    let IpNet::V6(mapped) = network else {
        return None;
    };
    let length = mapped.prefix_len().checked_sub(96)?;
    let address = mapped.addr().to_ipv4_mapped()?;
    Ipv4Net::new(address, length).ok().map(IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        for text in ["10.0.0.0/8", "::1/128"] {
            assert_eq!(IpNet::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            IpNet::parse("192.0.2.7").unwrap().to_string(),
            "192.0.2.7/32"
        );
        for (mapped, network) in [
            ("::ffff:192.0.2.7", "192.0.2.7/32"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
            ("::/90", "::/90"),
        ] {
            assert_eq!(IpNet::parse(mapped).unwrap().to_string(), network);
        }
        assert_eq!(
            IpNet::parse("10.1.0.0/8").unwrap_err().instead.as_deref(),
            Some("\"10.0.0.0/8\"")
        );
        IpNet::parse("office").unwrap_err();
    }
}
