//! Versions in request lines that parsers do not know (RFC 9110 section 2.5).

use super::direct::request_line;

/// The version in a request line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrittenVersion {
    /// 1.0 or 1.1.
    Known,
    /// A later version of HTTP/1, with the index of its last digit. Its client understands 1.1, and is served in that.
    Later(usize),
    /// Another major version: what follows may mean anything.
    Foreign,
}

/// Returns the version in the request line at the beginning of `head`; `None` if there is none, or not yet.
pub(super) fn written(head: &[u8]) -> Option<WrittenVersion> {
    let (begin, line) = request_line(head)?;
    let version = line.splitn(3, |byte| *byte == b' ').nth(2)?;
    let [b'H', b'T', b'T', b'P', b'/', major, b'.', minor, ..] = version else {
        return None;
    };
    match (major, minor) {
        (b'1', b'0' | b'1') => Some(WrittenVersion::Known),
        (b'1', b'2'..=b'9') => {
            let before = line.len() - version.len();
            Some(WrittenVersion::Later(begin + before + "HTTP/1.".len()))
        }
        (b'0'..=b'9', b'0'..=b'9') => Some(WrittenVersion::Foreign),
        _ => None,
    }
}

/// Returns input that begins with a head of a later HTTP/1, with the version changed to 1.1.
pub(super) fn lowered(head: &[u8]) -> Option<Vec<u8>> {
    let Some(WrittenVersion::Later(at)) = written(head) else {
        return None;
    };
    let mut head = head.to_vec();
    *head.get_mut(at)? = b'1';
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_are_read_where_they_stand() {
        for (head, version) in [
            ("GET / HTTP/1.0\r\n", Some(WrittenVersion::Known)),
            ("GET / HTTP/1.1", Some(WrittenVersion::Known)),
            ("GET / HTTP/1.2\r\n", Some(WrittenVersion::Later(13))),
            ("\r\n\nGET / HTTP/1.9", Some(WrittenVersion::Later(16))),
            ("GET / HTTP/0.9\r\n", Some(WrittenVersion::Foreign)),
            ("GET / HTTP/2.0\r\n", Some(WrittenVersion::Foreign)),
            ("GET / HTTP/3.1", Some(WrittenVersion::Foreign)),
            ("GET / HTTP/1.", None),
            ("GET / HTTP/1.x\r\n", None),
            ("GET / http/1.2\r\n", None),
            ("GET /\r\nHost: a HTTP/1.2\r\n", None),
            ("GET /\r\n", None),
            ("\r\n", None),
            ("", None),
        ] {
            assert_eq!(written(head.as_bytes()), version, "{head:?}");
        }
    }

    proptest! {
        /// Only one digit changes, and only in what the parser refuses.
        #[test]
        fn a_lowered_head_is_as_it_came_otherwise(
            head in "(\r?\n){0,2}(GET|G@T) {1,2}[/a ]{0,3} HTTP/[0-2]\\.[0-3x](1?\r?\nA: b HTTP/1\\.2\r\n\r\n)?",
        ) {
            if let Some(lowered) = lowered(head.as_bytes()) {
                let parsed = httparse::Request::new(&mut []).parse(head.as_bytes());
                prop_assert!(parsed.is_err());
                let pairs = lowered.iter().zip(head.bytes());
                prop_assert_eq!(pairs.filter(|(new, old)| *new != old).count(), 1);
                prop_assert_eq!(lowered.len(), head.len());
            }
        }

        /// Any bytes may come.
        #[test]
        fn any_bytes(head: Vec<u8>) {
            let _ = lowered(&head);
        }
    }
}
