//! The parts of a request that differ by user: its number, and its cookies.

use super::User;
use crate::site::{One, Request, USER};
use bytes::Bytes;
use http::{HeaderName, header};

impl User {
    /// Returns the head as bytes, with the fields of this user and what is written together with it.
    pub(super) fn head(&self, request: &Request, one: &One) -> Bytes {
        let own = self.own(request);
        if own.is_empty() {
            return one.head.clone();
        }
        let (common, rest) = one.head.split_at_checked(one.common).unwrap_or_default();
        let mut bytes = common.to_vec();
        for (name, value) in own {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(rest);
        bytes.into()
    }

    /// Returns the fields of a request that belong to this user: its number is filled in, its cookies are in one line.
    pub(super) fn own(&self, request: &Request) -> Vec<(HeaderName, String)> {
        let mut own: Vec<_> = request
            .own
            .iter()
            .map(|(name, value)| (name.clone(), value.replace(USER, &self.number.to_string())))
            .collect();
        if self.worker.common.plan.cookies {
            let given = own.iter().position(|(name, _)| name == header::COOKIE);
            let given = given.map(|at| own.swap_remove(at).1);
            if let Some(cookies) = self.jar.field(request.origin, given.as_deref()) {
                own.push((header::COOKIE, cookies));
            }
        }
        own
    }
}
