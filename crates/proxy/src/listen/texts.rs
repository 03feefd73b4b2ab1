//! Values derived once for a connection, since most of its requests say the same.

use http::HeaderValue;
use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

/// Texts that the requests of a connection share.
#[derive(Debug, Default)]
pub struct Texts {
    /// See [`Connection::address`](super::Connection::address).
    pub(super) address: OnceCell<HeaderValue>,
    element: Last<HeaderValue>,
    host: Last<Rc<str>>,
}

impl Texts {
    /// The element of `Forwarded` (RFC 7239 section 4) that names this host, and this scheme if there is one.
    pub fn element(
        &self,
        scheme: Option<&'static str>,
        host: &[u8],
        make: impl FnOnce() -> Option<HeaderValue>,
    ) -> Option<HeaderValue> {
        let make = || make().ok_or(());
        self.element.or_make(scheme, host, make).ok()
    }

    /// The host that `written` means for this scheme.
    #[inline]
    pub fn host<E>(
        &self,
        scheme: &'static str,
        written: &[u8],
        read: impl FnOnce() -> Result<Rc<str>, E>,
    ) -> Result<Rc<str>, E> {
        self.host.or_make(Some(scheme), written, read)
    }
}

/// The value that was made last.
#[derive(Debug)]
struct Last<T>(RefCell<Option<Memo<T>>>);

/// A value, and all that it was made from.
#[derive(Debug)]
struct Memo<T> {
    scheme: Option<&'static str>,
    of: Box<[u8]>,
    it: T,
}

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self(RefCell::new(None))
    }
}

impl<T: Clone> Last<T> {
    /// Returns the last value if it was made from the same input, or else makes one.
    #[inline]
    fn or_make<E>(
        &self,
        scheme: Option<&'static str>,
        of: &[u8],
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut last = self.0.borrow_mut();
        if let Some(last) = &*last
            && last.scheme == scheme
            && *last.of == *of
        {
            return Ok(last.it.clone());
        }
        let it = make()?;
        *last = Some(Memo {
            scheme,
            of: of.into(),
            it: it.clone(),
        });
        Ok(it)
    }
}
