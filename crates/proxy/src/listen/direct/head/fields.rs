//! The fields of a request that is only a head, and what they say about it.

use super::Copied;
use crate::{listen::check::is_authority, said::FieldPresence};
use http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use httparse::Header;

/// What fields say about their request, whatever its line says.
#[derive(Clone, Copy, Debug)]
pub(in crate::listen::direct) struct FieldSummary {
    wish: Wish,
    /// Whether there is exactly one `Host` line, and it is valid.
    pub(in crate::listen::direct) names_host: bool,
    /// Which features the fields use.
    pub(super) said: FieldPresence,
}

impl FieldSummary {
    /// Whether the connection is closed after the answer to a request of this version (RFC 9112 section 9.3).
    pub(super) fn closes(self, version: Version) -> bool {
        match self.wish {
            Wish::Close => true,
            Wish::Stay => false,
            Wish::None => version == Version::HTTP_10,
        }
    }
}

/// What a client wants of the connection after the answer.
#[derive(Clone, Copy, Debug)]
enum Wish {
    None,
    Stay,
    Close,
}

/// Puts the fields into `fields`; `None` if they announce content, or want more of the connection.
pub(super) fn read(
    copy: &Copied<'_>,
    lines: &[Header<'_>],
    fields: &mut HeaderMap,
) -> Option<FieldSummary> {
    let mut wish = Wish::None;
    let mut host = None;
    fields.reserve(lines.len());
    for line in lines {
        let name = name(line.name)?;
        match name {
            header::CONTENT_LENGTH
            | header::TRANSFER_ENCODING
            | header::EXPECT
            | header::UPGRADE
            | header::TRAILER => return None,
            header::CONNECTION => wish = wished(line.value, wish)?,
            header::HOST => host = Some(host.is_none() && is_authority(line.value)),
            _ => {}
        }
        let value = HeaderValue::from_maybe_shared(copy.part(line.value)?).ok()?;
        fields.append(name, value);
    }
    Some(FieldSummary {
        wish,
        names_host: host == Some(true),
        said: FieldPresence::by(fields),
    })
}

/// Parses a field's name. The names that most requests have, as most clients write them, are known at sight.
pub(super) fn name(written: &str) -> Option<HeaderName> {
    Some(match written {
        "Host" | "host" => header::HOST,
        "User-Agent" | "user-agent" => header::USER_AGENT,
        "Accept" | "accept" => header::ACCEPT,
        "Accept-Encoding" | "accept-encoding" => header::ACCEPT_ENCODING,
        "Accept-Language" | "accept-language" => header::ACCEPT_LANGUAGE,
        "Cookie" | "cookie" => header::COOKIE,
        "Connection" | "connection" => header::CONNECTION,
        "Referer" | "referer" => header::REFERER,
        _ => return HeaderName::from_bytes(written.as_bytes()).ok(),
    })
}

/// What a `Connection` line wishes, after the lines before it: `close` stands. `None` if it wishes anything else.
fn wished(line: &[u8], before: Wish) -> Option<Wish> {
    match (line, before) {
        (line, _) if line.eq_ignore_ascii_case(b"close") => Some(Wish::Close),
        (line, Wish::None | Wish::Stay) if line.eq_ignore_ascii_case(b"keep-alive") => {
            Some(Wish::Stay)
        }
        _ => None,
    }
}
