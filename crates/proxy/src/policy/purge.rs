//! The policy for purging over the listeners that serve everybody.

mod signs;

use crate::target::Target;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use signs::Sign;
use std::{
    hint::black_box,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Who may purge, and what existing clients expect. With neither networks nor a secret, nobody may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgePolicy {
    /// Networks whose peers may purge.
    pub allow: Vec<IpNet>,
    /// A field and its secret value: a client that sends it may purge. The secret never goes to an origin; other values
    /// of the field do.
    pub secret: Option<(HeaderName, HeaderValue)>,
    /// Fields with tags that clients get as well; the other such fields are only for caches.
    pub pass_tags: Vec<HeaderName>,
    /// The answer to the purge of a URL of which nothing was stored: 200, or 404 and 412 as `ngx_cache_purge` does.
    /// Most clients take anything except 200 for a failure.
    pub missed: StatusCode,
    /// `GET <prefix><path>` purges the path, like nginx's `cache_purge`. The application loses these paths.
    pub get_prefix: Option<String>,
    /// The path of Souin's API, e.g. `/souin-api/souin`. The application loses these paths.
    pub souin: Option<String>,
}

impl Default for PurgePolicy {
    /// Lets this machine purge.
    fn default() -> Self {
        Self {
            allow: vec![
                Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8).into(),
                Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128).into(),
            ],
            secret: None,
            pass_tags: Vec::new(),
            missed: StatusCode::OK,
            get_prefix: None,
            souin: None,
        }
    }
}

/// Why a client may not purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unadmitted {
    /// It is in no network that may, and has not told the secret.
    #[error("this client may not purge")]
    Stranger,
    /// Its peer may, but the request is made for somebody else, as this field shows.
    #[error(
        "this client may not purge: with `{}`, the request looks like that of a browser, or of a proxy for its client",
        .0.name
    )]
    ForAnother(&'static Sign),
}

impl Unadmitted {
    /// Returns the token for `detail` in `Cache-Status`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Stranger => "method-not-allowed",
            Self::ForAnother(sign) => sign.token,
        }
    }
}

impl PurgePolicy {
    /// Whether this peer's request may purge. A request that came through a proxy, or that a page makes its reader's
    /// browser send, is not its peer's own. Then the networks do not count, and only the secret does: among them is
    /// this machine, where a TLS proxy or a browser may run. A peer on a Unix socket (`None`) is in no network.
    ///
    /// # Errors
    /// Why it may not.
    pub fn admit(
        &self,
        peer: Option<IpAddr>,
        target: &Target,
        fields: &HeaderMap,
    ) -> Result<(), Unadmitted> {
        if self.knows_secret(fields) {
            return Ok(());
        }
        let near = peer.is_some_and(|peer| {
            let peer = peer.to_canonical();
            self.allow.iter().any(|net| net.contains(&peer))
        });
        if !near {
            return Err(Unadmitted::Stranger);
        }
        let sign = signs::of_another(target, fields);
        sign.map_or(Ok(()), |sign| Err(Unadmitted::ForAnother(sign)))
    }

    /// Whether any client may purge.
    pub fn admits_anybody(&self) -> bool {
        !self.allow.is_empty() || self.secret.is_some()
    }

    /// Whether a request for this target, with these fields, is made for somebody other than its peer.
    pub(crate) fn is_for_another(target: &Target, fields: &HeaderMap) -> bool {
        signs::of_another(target, fields).is_some()
    }

    /// Removes the secret from the fields for an origin. Other lines of its field stay: it may be `Authorization`.
    pub(crate) fn withhold_secret(&self, fields: &mut HeaderMap) {
        let Some((name, secret)) = &self.secret else {
            return;
        };
        if !self.knows_secret(fields) {
            return;
        }
        let lines = fields.get_all(name).iter();
        let others = lines.filter(|line| !same(line.as_bytes(), secret.as_bytes()));
        let others: Vec<_> = others.cloned().collect();
        fields.remove(name);
        for line in others {
            fields.append(name, line);
        }
    }

    /// Whether `name` is the field of the secret, and these fields have the secret in it.
    pub(crate) fn is_told_in(&self, name: &HeaderName, fields: &HeaderMap) -> bool {
        let secret = self.secret.as_ref();
        secret.is_some_and(|(field, _)| field == name) && self.knows_secret(fields)
    }

    fn knows_secret(&self, fields: &HeaderMap) -> bool {
        let Some((name, secret)) = &self.secret else {
            return false;
        };
        let mut lines = fields.get_all(name).iter();
        lines.any(|line| same(line.as_bytes(), secret.as_bytes()))
    }
}

/// Whether two values are equal, in a time that does not show where they differ.
fn same(given: &[u8], secret: &[u8]) -> bool {
    let mut difference = given.len() ^ secret.len();
    for (index, byte) in given.iter().enumerate() {
        let other = secret.get(index).copied().unwrap_or_default();
        difference = black_box(difference | usize::from(byte ^ other));
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let lines = lines.iter();
        lines
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    fn target() -> Target {
        Target::usual(b"/a").expect("a target")
    }

    #[test]
    #[allow(clippy::too_many_lines, reason = "a table is as long as it has rows")]
    fn near_peers_and_those_who_know_the_secret_may() {
        let mut policy = PurgePolicy {
            secret: Some((
                HeaderName::from_static("x-purge-key"),
                HeaderValue::from_static("s3cret"),
            )),
            ..PurgePolicy::default()
        };
        policy.allow.push("10.0.0.0/8".parse().expect("a network"));
        for (peer, lines, may) in [
            (Some("127.0.0.1"), &[][..], true),
            (Some("127.9.9.9"), &[], true),
            (Some("::1"), &[], true),
            (Some("::ffff:10.1.2.3"), &[], true),
            (Some("192.0.2.1"), &[], false),
            (Some("192.0.2.1"), &[("x-purge-key", "s3cret")], true),
            (Some("192.0.2.1"), &[("x-purge-key", "s3cre")], false),
            (Some("192.0.2.1"), &[("x-purge-key", "s3cret ")], false),
            (Some("192.0.2.1"), &[("x-purge-key", "")], false),
            (None, &[], false),
            (None, &[("x-purge-key", "s3cret")], true),
            // A proxy on this machine acts for somebody else.
            (
                Some("127.0.0.1"),
                &[("x-forwarded-for", "192.0.2.1")],
                false,
            ),
            (Some("127.0.0.1"), &[("forwarded", "for=192.0.2.1")], false),
            (Some("127.0.0.1"), &[("via", "1.1 edge")], false),
            (Some("127.0.0.1"), &[("x-real-ip", "192.0.2.1")], false),
            (Some("127.0.0.1"), &[("x-client-ip", "192.0.2.1")], false),
            (
                Some("127.0.0.1"),
                &[("x-cluster-client-ip", "192.0.2.1")],
                false,
            ),
            (Some("127.0.0.1"), &[("client-ip", "192.0.2.1")], false),
            (Some("127.0.0.1"), &[("x-forwarded-proto", "https")], false),
            (
                Some("127.0.0.1"),
                &[("x-forwarded-host", "a.example")],
                false,
            ),
            (Some("127.0.0.1"), &[("true-client-ip", "192.0.2.1")], false),
            (
                Some("127.0.0.1"),
                &[("cf-connecting-ip", "192.0.2.1")],
                false,
            ),
            (
                Some("127.0.0.1"),
                &[("fastly-client-ip", "192.0.2.1")],
                false,
            ),
            (Some("127.0.0.1"), &[("cdn-loop", "cdn.example")], false),
            // So does a page in a browser on this machine.
            (
                Some("127.0.0.1"),
                &[("origin", "http://evil.example")],
                false,
            ),
            (
                Some("127.0.0.1"),
                &[("sec-fetch-site", "cross-site")],
                false,
            ),
            (
                Some("127.0.0.1"),
                &[("origin", "null"), ("x-purge-key", "s3cret")],
                true,
            ),
            // Over plain HTTP, a browser sends no more than this for an image.
            (
                Some("127.0.0.1"),
                &[("referer", "http://evil.example/")],
                false,
            ),
            (
                Some("127.0.0.1"),
                &[("accept-language", "de-DE,de;q=0.9")],
                false,
            ),
            // A page can set this itself.
            (Some("127.0.0.1"), &[("accept-language", "*")], false),
            // Node.js.
            (
                Some("127.0.0.1"),
                &[("accept-language", "*"), ("sec-fetch-mode", "cors")],
                true,
            ),
            (
                Some("127.0.0.1"),
                &[("accept-language", "de"), ("sec-fetch-mode", "cors")],
                false,
            ),
            (
                Some("127.0.0.1"),
                &[
                    ("accept-language", "*"),
                    ("sec-fetch-mode", "no-cors"),
                    ("sec-fetch-site", "cross-site"),
                ],
                false,
            ),
            // The peer is not in the networks, so what it says does not count.
            (
                Some("192.0.2.1"),
                &[("x-forwarded-for", "127.0.0.1")],
                false,
            ),
        ] {
            let peer = peer.map(|peer| peer.parse().expect("an address"));
            let admitted = policy.admit(peer, &target(), &fields(lines));
            assert_eq!(admitted.is_ok(), may, "{peer:?} {lines:?}");
        }
    }

    #[test]
    fn without_networks_and_secret_nobody_may() {
        let policy = PurgePolicy {
            allow: Vec::new(),
            ..PurgePolicy::default()
        };
        let peer = Some(Ipv4Addr::LOCALHOST.into());
        let admitted = policy.admit(peer, &target(), &HeaderMap::new());
        assert_eq!(admitted, Err(Unadmitted::Stranger));
        assert!(!policy.admits_anybody());
    }
}
