//! nginx's variables. They mean nothing here: text is sent and compared as it is written.

use super::{Word, Wrong};

/// Beginnings of the names of variables that are common where nginx accepts them.
const KNOWN: [&str; 30] = [
    "arg_",
    "args",
    "binary_remote_addr",
    "body_bytes_sent",
    "bytes_sent",
    "content_",
    "cookie_",
    "document_",
    "fastcgi_",
    "geoip_",
    "host",
    "http",
    "is_args",
    "limit_rate",
    "msec",
    "nginx_version",
    "proxy_",
    "query_string",
    "realip_",
    "realpath_",
    "remote_",
    "request",
    "scheme",
    "sent_",
    "server_",
    "ssl_",
    "status",
    "time_",
    "upstream_",
    "uri",
];

/// Whether nginx would replace a part of `text`.
pub(in crate::config) fn names_variable(text: &str) -> bool {
    text.split('$').skip(1).any(|rest| {
        let name = rest.trim_start_matches('{');
        KNOWN.iter().any(|known| name.starts_with(known))
    })
}

/// Returns the fault of a value that names a variable.
pub(super) fn no_variables() -> Wrong {
    Wrong::new(
        "a value is sent as written: there are no variables (the client's address is in `X-Forwarded-For`)",
    )
}

/// Refuses a variable that holds something (`$cookie_session`) where its name is expected. `kind` is the beginning of
/// such variables.
pub(super) fn stands_alone<T: Word>(text: &str, kind: &str) -> Result<(), Wrong> {
    let name = text
        .strip_prefix('$')
        .and_then(|text| text.strip_prefix(kind));
    name.map_or(Ok(()), |name| {
        let wrong = Wrong::new("there are no variables: write only the name");
        Err(wrong.instead_if_good::<T>(name))
    })
}
