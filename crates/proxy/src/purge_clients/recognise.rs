//! Whether a request is a purge, or anything else that is meant for the cache itself.

use super::{Command, Malformed, api, varnish};
use crate::{
    policy::{PurgePolicy, Unadmitted},
    target::Target,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header, header::AsHeaderName};
use rules::{key, surrogate};
use std::{borrow::Cow, net::IpAddr};

/// With more tags than this, some would not be read ([`surrogate::fits`]).
pub(super) const TOO_MANY_TAGS: Malformed =
    Malformed::NotOffered("more than 64 KiB of tags in one request: purge in several");

/// The part of a request's head that matters for purging.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target.
    pub target: &'a Target,
    /// The fields.
    pub fields: &'a HeaderMap,
    /// Whether one of them is [`X_REFRESH`].
    pub refreshes: bool,
    /// The client, after the PROXY protocol.
    pub peer: Option<IpAddr>,
}

/// What a request says about purging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// Nothing: it is for the application.
    Nothing,
    /// A request to the cache by a client that may not make it, and why.
    Denied(Unadmitted),
    /// A GET that wants the stored response to be fetched again.
    Refresh,
    /// A command, or why it is not valid.
    Command(Result<Command, Malformed>),
    /// A purge whose content says what to purge.
    Content(api::Expected),
    /// A GET of Souin's list of what is stored.
    List,
}

/// The method that asks for a page to be fetched again.
pub const REFRESH: &str = "REFRESH";

/// With `1` in this field, `FOSHttpCache` asks for a page to be fetched again.
pub static X_REFRESH: HeaderName = HeaderName::from_static("x-refresh");

/// Reads a request's head. On the path of a hit: a GET's fields are looked up only if they are present.
pub fn recognise(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    match *head.method {
        Method::GET => get(policy, head),
        Method::POST => api::post(policy, head),
        _ if !is_ours(head.method) => Spoken::Nothing,
        _ => match head.admitted(policy) {
            Ok(()) => own(policy, head),
            Err(why) => Spoken::Denied(why),
        },
    }
}

/// Reads a request with a method that is only for caches.
fn own(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    if head.method.as_str() == REFRESH {
        return Spoken::Refresh;
    }
    if !surrogate::fits(head.fields) {
        return Spoken::Command(Err(TOO_MANY_TAGS));
    }
    let command = api::souin(policy, head);
    Spoken::Command(command.unwrap_or_else(|| varnish::command(policy, head)))
}

/// Whether the method is only for caches, never for an application.
pub fn is_ours(method: &Method) -> bool {
    ["PURGE", "BAN", "PURGEKEYS", "PURGETAGS", REFRESH].contains(&method.as_str())
}

fn get(policy: &PurgePolicy, head: Head<'_>) -> Spoken {
    if let Some(target) = prefixed(policy, head) {
        let host = || head.authority().into_owned();
        return match head.admitted(policy) {
            Ok(()) => Spoken::Command(Ok(Command::plain(varnish::named(host(), target)))),
            Err(why) => Spoken::Denied(why),
        };
    }
    if names_list(policy, head) {
        let admitted = head.admitted(policy);
        return admitted.map_or_else(Spoken::Denied, |()| Spoken::List);
    }
    if !head.refreshes || head.text(&X_REFRESH).is_none_or(|value| value != "1") {
        return Spoken::Nothing;
    }
    let is_for_another = || PurgePolicy::is_for_another(head.target, head.fields);
    match head.admitted(policy) {
        Ok(()) => Spoken::Refresh,
        // A site's visitors' browsers may send the field to the application.
        Err(_) if is_for_another() || !policy.admits_anybody() => Spoken::Nothing,
        Err(why) => Spoken::Denied(why),
    }
}

/// What a GET is for the cache itself by its path, from any client: a client that may not is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByPath {
    /// A purge of the path after a prefix.
    Purge,
    /// The list of what is stored.
    List,
}

/// Returns what a GET is by its path.
pub fn by_path(policy: &PurgePolicy, head: Head<'_>) -> Option<ByPath> {
    if prefixed(policy, head).is_some() {
        return Some(ByPath::Purge);
    }
    names_list(policy, head).then_some(ByPath::List)
}

/// Whether the path is that of Souin's list.
fn names_list(policy: &PurgePolicy, head: Head<'_>) -> bool {
    policy.souin.as_deref() == Some(head.target.path())
}

/// Returns the target after the prefix that means purging, with its query.
pub(super) fn prefixed(policy: &PurgePolicy, head: Head<'_>) -> Option<String> {
    let prefix = policy.get_prefix.as_deref()?;
    let target = key::normalize(head.path_and_query());
    let rest = target.strip_prefix(prefix)?;
    rest.starts_with('/').then(|| rest.to_owned())
}

impl<'a> Head<'a> {
    /// Whether its client may purge, and why not.
    pub(super) fn admitted(self, policy: &PurgePolicy) -> Result<(), Unadmitted> {
        policy.admit(self.peer, self.target, self.fields)
    }

    /// Returns path and query.
    pub(super) fn path_and_query(self) -> &'a str {
        self.target.path_and_query().unwrap_or("/")
    }

    /// Returns the authority: of the target if it has one, otherwise of `Host` (RFC 9112 section 3.3); empty without
    /// either.
    pub(super) fn authority(self) -> Cow<'a, str> {
        let named = self.target.authority().map(Cow::from);
        let field = || {
            let field = self.fields.get(header::HOST).map(HeaderValue::as_bytes);
            field.map_or(Cow::Borrowed(""), String::from_utf8_lossy)
        };
        named.unwrap_or_else(field)
    }

    /// Returns a field's first line; `None` if it is absent or blank.
    pub(super) fn text(self, name: impl AsHeaderName) -> Option<Cow<'a, str>> {
        let line = self.fields.get(name)?.as_bytes().trim_ascii();
        (!line.is_empty()).then(|| String::from_utf8_lossy(line))
    }

    /// Whether a field has more than one line.
    pub(super) fn repeats(self, name: &str) -> bool {
        self.fields.get_all(name).iter().nth(1).is_some()
    }

    pub(super) fn has(self, name: &'static str) -> bool {
        self.fields.contains_key(name)
    }
}
