//! Networks and addresses of clients: `10.0.0.0/8`, `192.0.2.7`.

use super::{Word, Wrong};
use ipnet::{IpNet, Ipv4Net};
use std::net::{IpAddr, SocketAddr};

impl Word for IpNet {
    const WHAT: &'static str = "an address or a network";
    const EXAMPLES: &'static [&'static str] = &["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::from(address.to_canonical()));
        }
        let network = text.parse::<Self>().map_err(|_| unknown(text))?;
        if network.trunc() != network {
            return Err(Wrong::new(format!(
                "`{text}` has bits set after its prefix: is the address meant, or its network?"
            ))
            .instead(network.trunc()));
        }
        Ok(as_ipv4(network).unwrap_or(network))
    }
}

/// Returns the fault of what is no network, with the networks that it means, if it means some.
fn unknown(text: &str) -> Wrong {
    let wrong = Wrong::new(format!("`{text}` is neither an address nor a network"));
    match text.to_ascii_lowercase().as_str() {
        "all" | "any" | "*" => {
            return wrong.instead_all::<IpNet>(["0.0.0.0/0", "::/0"].into_iter());
        }
        "localhost" => return wrong.instead_all::<IpNet>(["127.0.0.1", "::1"].into_iter()),
        _ => {}
    }
    if text.starts_with('!') {
        let what = format!(
            "`{text}`: no `!` takes networks out: list those that are meant, or let another route match the others first"
        );
        return Wrong::new(what);
    }
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return wrong.instead(socket.ip());
    }
    match starred(text) {
        Some(network) => wrong.instead(network),
        None => wrong.as_in(IpNet::EXAMPLES),
    }
}

/// Returns the network that is meant by stars at the end of an address: `192.168.1.*`.
fn starred(text: &str) -> Option<Ipv4Net> {
    let begun = text.trim_end_matches(".*");
    let stars = (text.len() - begun.len()) / 2;
    let zeros = ".0".repeat(stars);
    let length = u8::try_from(32_usize.checked_sub(8 * stars)?).ok()?;
    let address = format!("{begun}{zeros}").parse().ok()?;
    (stars > 0).then(|| Ipv4Net::new(address, length).ok())?
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
        for (text, instead) in [
            ("all", "\"0.0.0.0/0\", \"::/0\""),
            ("localhost", "\"127.0.0.1\", \"::1\""),
            ("192.168.1.*", "\"192.168.1.0/24\""),
            ("10.*.*.*", "\"10.0.0.0/8\""),
            ("127.0.0.1:80", "\"127.0.0.1\""),
            ("[::1]:80", "\"::1\""),
        ] {
            let wrong = IpNet::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}");
            assert!(!wrong.is_example, "{text}");
        }
        assert_eq!(IpNet::parse("!10.0.0.0/8").unwrap_err().instead, None);
        for text in ["office", "10.*", "*.*.*.*", ".*", "*.1"] {
            assert!(IpNet::parse(text).unwrap_err().is_example, "{text}");
        }
    }
}
