//! What the access log tells of a request's head.

use http::HeaderValue;

/// The parts of a request's head that are told, in one piece of memory of their own: the value of a field would hold
/// the whole head in which it came.
#[derive(Clone, Debug)]
pub struct Excerpt {
    bytes: Box<[u8]>,
    /// The lengths of target, host, `Referer` and `User-Agent`; `None` for a field that the request does not have.
    lengths: [Option<usize>; 4],
}

impl Excerpt {
    /// Copies the target (path and query as the client wrote them), the normalised authority, `Referer` and
    /// `User-Agent`.
    pub fn new(
        target: &str,
        host: &str,
        referer: Option<&HeaderValue>,
        user_agent: Option<&HeaderValue>,
    ) -> Self {
        let (referer, user_agent) = (
            referer.map(HeaderValue::as_bytes),
            user_agent.map(HeaderValue::as_bytes),
        );
        let parts = [
            Some(target.as_bytes()),
            Some(host.as_bytes()),
            referer,
            user_agent,
        ];
        Self {
            bytes: parts.map(Option::unwrap_or_default).concat().into(),
            lengths: parts.map(|part| part.map(<[u8]>::len)),
        }
    }

    /// Path and query as the client wrote them.
    pub fn target(&self) -> &[u8] {
        self.part(0).unwrap_or_default()
    }

    /// The normalised authority of the request.
    pub fn host(&self) -> &[u8] {
        self.part(1).unwrap_or_default()
    }

    /// The request's `Referer`.
    pub fn referer(&self) -> Option<&[u8]> {
        self.part(2)
    }

    /// The request's `User-Agent`.
    pub fn user_agent(&self) -> Option<&[u8]> {
        self.part(3)
    }

    fn part(&self, number: usize) -> Option<&[u8]> {
        let (before, from) = self.lengths.split_at_checked(number)?;
        let at: usize = before.iter().flatten().sum();
        let length = from.first().copied().flatten()?;
        self.bytes.get(at..at + length)
    }

    /// The bytes that it has.
    pub(super) fn length(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_again() {
        let value = HeaderValue::from_static;
        let (referer, agent) = (value("https://b.example/"), value("curl"));
        let empty = value("");
        for (referer, agent) in [
            (Some(&referer), Some(&agent)),
            (None, Some(&agent)),
            (Some(&empty), None),
            (None, None),
        ] {
            let told = Excerpt::new("/page", "a.example", referer, agent);
            assert_eq!(
                (told.target(), told.host()),
                (&b"/page"[..], &b"a.example"[..])
            );
            assert_eq!(told.referer(), referer.map(HeaderValue::as_bytes));
            assert_eq!(told.user_agent(), agent.map(HeaderValue::as_bytes));
        }
    }
}
