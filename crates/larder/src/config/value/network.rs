//! Networks and addresses of clients: `10.0.0.0/8`, `192.0.2.7`.

use super::{Word, Wrong};
use ipnet::IpNet;
use std::net::IpAddr;

impl Word for IpNet {
    const WHAT: &'static str = "an address or a network";
    const EXAMPLES: &'static [&'static str] = &["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::from(address));
        }
        let network = text.parse::<Self>().map_err(|_| {
            Wrong::new(format!("`{text}` is neither an address nor a network"))
                .as_in(Self::EXAMPLES)
        })?;
        if network.trunc() != network {
            return Err(Wrong::new(format!(
                "`{text}` has bits beyond its prefix: an address or the network around it?"
            ))
            .instead(network.trunc()));
        }
        Ok(network)
    }
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
        assert_eq!(
            IpNet::parse("10.1.0.0/8").unwrap_err().instead.as_deref(),
            Some("\"10.0.0.0/8\"")
        );
        IpNet::parse("office").unwrap_err();
    }
}
