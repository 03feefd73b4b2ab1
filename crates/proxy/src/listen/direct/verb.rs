//! The methods of requests that are answered without `hyper`.

use http::Method;

/// Methods of requests that are answered here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Head,
    Purge,
    Ban,
    Refresh,
}

impl Verb {
    /// The verbs for the cache itself.
    const OWN: [Self; 3] = [Self::Purge, Self::Ban, Self::Refresh];

    /// The verb of `method`.
    pub(super) fn of(method: &Method) -> Option<Self> {
        match *method {
            Method::GET => Some(Self::Get),
            Method::HEAD => Some(Self::Head),
            _ => Self::OWN
                .into_iter()
                .find(|own| own.text() == method.as_str()),
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Purge => "PURGE",
            Self::Ban => "BAN",
            Self::Refresh => "REFRESH",
        }
    }
}
