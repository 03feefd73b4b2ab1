//! Targets with bytes that a URI may contain only encoded (RFC 3986 section 2), and that some clients send as they are:
//! `"`, `<`, `>`, `` ` ``, and everything beyond ASCII. They are read as their encoded form, which is keyed, sent and
//! logged.

use super::line::request_line;
use crate::listen::{
    check::{check_length, check_target},
    config::Limits,
    direct::verb::Verb,
    fault::Fault,
};
use http::{Method, Uri};
use rules::key;

/// The URI that `target` is or means; `None` if there is none.
pub(super) fn uri(target: &str) -> Option<Uri> {
    Uri::try_from(key::encode_rest(target)).ok()
}

/// Reads the target of a request that came elsewhere as that of one that comes here: with its encoding where
/// [`encoded`] makes one, and otherwise as `hyper` does.
///
/// # Errors
/// Why it is refused, as written in `Cache-Status`.
pub fn read_target(method: &Method, written: &[u8], limits: &Limits) -> Result<Uri, &'static str> {
    let read = match Verb::of(method) {
        Some(_) => std::str::from_utf8(written).ok().and_then(uri),
        None => Uri::try_from(written).ok(),
    };
    let Some(read) = read else {
        // One that is too long for any URI is given up before its end.
        let is_too_long = written.len() > limits.target;
        return Err(if is_too_long {
            Fault::TargetTooLong.token()
        } else {
            "bad-request"
        });
    };
    check_length(&read, limits).map_err(Fault::token)?;
    check_target(method, read.scheme_str(), read.path()).map_err(Fault::token)?;
    Ok(read)
}

/// Returns input that begins with a head whose line needs its target encoded, with that done. The head is left to
/// `hyper`, which refuses such a target or takes it as it came. `None` for any other head, and for one that is never
/// answered here.
pub(in crate::listen) fn encoded(head: &[u8]) -> Option<Vec<u8>> {
    let (begin, line) = request_line(head)?;
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (method, target) = (words.next()?, words.next()?);
    Verb::of(&Method::from_bytes(method).ok()?)?;
    let written = std::str::from_utf8(target).ok()?;
    let encoded = key::encode_rest(written);
    if encoded == written || Uri::try_from(&encoded).is_err() {
        return None;
    }
    let at = begin + method.len() + 1;
    let (before, after) = (head.get(..at)?, head.get(at + target.len()..)?);
    Some([before, encoded.as_bytes(), after].concat())
}
