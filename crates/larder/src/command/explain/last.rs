//! Explains in plain words what is remembered of the last fetch for a key.

use super::words::token;

/// Returns the sentence about the last fetch. `why` is the token that says why nothing was stored.
pub(super) fn sentence(why: &str) -> String {
    match (failure(why), meanwhile(why)) {
        (Some(words), _) => format!("The last fetch for it failed: {words}."),
        (None, Some(words)) => format!("The last answer for it was not stored: {words}."),
        (None, None) => format!("The last answer for it was not stored: {}.", token(why)),
    }
}

/// Explains what happened between a fetch and its storing.
fn meanwhile(why: &str) -> Option<&'static str> {
    Some(match why {
        "invalidated" => {
            "a purge, an unsafe request or a cache group covered it while it was fetched"
        }
        "range-error" => "it was an error in answer to a request for a part",
        "no-room" => "it is for the disk, and memory had no room for what waits to be written",
        "superseded" => "a later request fetched a newer one meanwhile",
        _ => return None,
    })
}

/// Explains why no answer came, or not a whole one.
fn failure(why: &str) -> Option<&'static str> {
    Some(match why {
        "unresolvable" => "the server's name has no address",
        "refused" => "the server cannot be connected to",
        "no-socket" => "this machine had no socket left to connect with",
        "declined" => "the page store does not do what it is asked for: see the log",
        "connect-timeout" => "no connection in time (`timeouts.connect`)",
        "tls" => "the TLS handshake with the server did not succeed",
        "no-upgrade" => "the server speaks HTTP/2, which has no upgrades",
        "protocol" => {
            "the server broke the protocol, or over HTTP/2 its answer's header is too large (`header_size`)"
        }
        "stream-refused" => "the server took no more requests on its HTTP/2 connections",
        "first-byte-timeout" => "no answer began in time (`timeouts.first_byte`)",
        "between-bytes-timeout" => "the answer stalled (`timeouts.between_bytes`)",
        "whole-timeout" => "the answer took too long (`timeouts.whole`)",
        "truncated" => "the answer was cut short",
        "malformed" => "the answer cannot be read as HTTP",
        "unasked-switch" => "the application switched to a protocol that nobody asked for",
        "head-too-large" => "the answer's header is too large (`header_size`)",
        "queue-full" => {
            "too many fetches were waiting for this origin (`most_concurrent`, `queue.length`)"
        }
        "queue-timeout" => "its turn did not come in time (`most_concurrent`, `queue.time`)",
        "no-healthy-server" => "health checks found every server down",
        "script" => "PHP reported a fatal error in the middle of the page",
        "request-body" => "the request's content could not be read",
        "spool" => "the request's content could not be written to a file",
        "unreadable" => "the file cannot be read",
        "outside" => "a link leads out of the folder",
        "configuration" => "the origin cannot work as it is configured: see the log",
        "unasked" => {
            "the application sent a 304 that confirms nothing, or a 206 although the whole was requested"
        }
        "bad-part" => {
            "the bytes of the application's 206 are not those that its `Content-Range` names"
        }
        _ => return None,
    })
}
