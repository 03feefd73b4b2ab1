//! What is made of a connection once: most of its requests say the same.

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
    element: RefCell<Option<Element>>,
    host: RefCell<Option<Host>>,
}

/// What an authority was read as.
#[derive(Debug)]
struct Host {
    scheme: &'static str,
    written: Box<[u8]>,
    meant: Rc<str>,
}

/// An element of `Forwarded` (RFC 7239 section 4), and what of it a request may say otherwise.
#[derive(Debug)]
struct Element {
    scheme: Option<&'static str>,
    host: Box<str>,
    value: HeaderValue,
}

impl Texts {
    /// The element that tells of this scheme, if of any, and this host: the last one where it told of the same, or made now.
    pub fn element(
        &self,
        scheme: Option<&'static str>,
        host: &str,
        make: impl FnOnce() -> Option<HeaderValue>,
    ) -> Option<HeaderValue> {
        let mut last = self.element.borrow_mut();
        if let Some(last) = &*last
            && last.scheme == scheme
            && *last.host == *host
        {
            return Some(last.value.clone());
        }
        let value = make()?;
        *last = Some(Element {
            scheme,
            host: host.into(),
            value: value.clone(),
        });
        Some(value)
    }

    /// The host that is meant by what was `written` for this scheme: the last one where the same was, or read now.
    #[inline]
    pub fn host<E>(
        &self,
        scheme: &'static str,
        written: &[u8],
        read: impl FnOnce() -> Result<Rc<str>, E>,
    ) -> Result<Rc<str>, E> {
        let mut last = self.host.borrow_mut();
        if let Some(last) = &*last
            && last.scheme == scheme
            && *last.written == *written
        {
            return Ok(last.meant.clone());
        }
        let host = read()?;
        *last = Some(Host {
            scheme,
            written: written.into(),
            meant: host.clone(),
        });
        Ok(host)
    }
}
