//! Turns a line into the request that the server would have received.

use super::Reader;
use crate::simulate::log::Line;
use http::{HeaderValue, Method, Request, header};
use proxy::{
    listen::{Connection, read_target},
    replay::{Received, ReplayedRequest},
};
use rules::time::Time;
use std::{
    borrow::Cow,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
};

/// Why a request goes no further.
pub(super) enum Left {
    /// The server redirects it to HTTPS.
    Redirected,
    /// The server refuses it; the reason, and the target.
    Refused(&'static str, String),
}

impl Reader {
    /// Returns the request as the server would have received it.
    pub(super) fn receive(&mut self, line: Line<'_>, now: Time) -> Result<ReplayedRequest, Left> {
        let target = match (line.target.unwrap_or_default(), line.query) {
            (target, Some(query)) if !target.contains(&b'?') => {
                let mark: &[u8] = if query.starts_with(b"?") { b"" } else { b"?" };
                Cow::Owned([&target, mark, &query].concat())
            }
            (target, _) => target,
        };
        let refused = |why| {
            let target = String::from_utf8_lossy(&target);
            Left::Refused(why, target.chars().take(200).collect())
        };
        let method = Method::from_bytes(&line.method.unwrap_or_default())
            .map_err(|_| refused("bad-request"))?;
        let uri = read_target(&method, &target, &self.limits).map_err(refused)?;
        let mut request = Request::new(());
        *request.method_mut() = method;
        let mut fields = line.request;
        if uri.authority().is_none() && !fields.contains_key(header::HOST) {
            let host = line.host.unwrap_or_else(|| {
                self.totals.notes.without_host += 1;
                Cow::Borrowed(self.assumptions.host.as_bytes())
            });
            let host = HeaderValue::from_bytes(&host).map_err(|_| refused("host-invalid"))?;
            fields.insert(header::HOST, host);
        }
        *request.uri_mut() = uri;
        *request.headers_mut() = fields;
        // An address that nobody trusts takes the place of one that is not in the log.
        let client = line.client.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let client = client.to_canonical();
        // If the log does not say it, it is the same for all requests, and HTTPS avoids redirects to HTTPS.
        let tls = line.tls.unwrap_or(true);
        let peer = Some(SocketAddr::new(client, 0));
        let connection = Rc::new(Connection::imagined(peer, tls));
        let base = self
            .replays
            .get(self.base)
            .ok_or_else(|| refused("internal"))?;
        match base.receive(request, &connection, now) {
            Received::Asked(mut asked) => {
                let is_told = asked.bypass_as_told(&line.reason.unwrap_or_default());
                self.totals.notes.told_bypassed += u64::from(is_told);
                Ok(asked)
            }
            Received::Redirected => Err(Left::Redirected),
            Received::Refused(why) => Err(refused(why)),
        }
    }
}
