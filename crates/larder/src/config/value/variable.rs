//! Variables of nginx, which mean nothing here: what is written is what is sent and compared.

use super::{Word, Wrong};

/// How the names of those begin that people write where nginx takes them.
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

/// Whether nginx would put something else in the place of a part of `text`.
pub(in crate::config) fn names_variable(text: &str) -> bool {
    text.split('$').skip(1).any(|rest| {
        let name = rest.trim_start_matches('{');
        KNOWN.iter().any(|known| name.starts_with(known))
    })
}

/// What is wrong with a value that names one.
pub(super) fn no_variables() -> Wrong {
    Wrong::new(
        "a value is sent as it is written: there are no variables (the client's address is in `X-Forwarded-For`)",
    )
}

/// Refuses the variable that holds something (`$cookie_session`) in place of its name; `kind` is how such variables begin.
pub(super) fn stands_alone<T: Word>(text: &str, kind: &str) -> Result<(), Wrong> {
    let name = text
        .strip_prefix('$')
        .and_then(|text| text.strip_prefix(kind));
    name.map_or(Ok(()), |name| {
        let wrong = Wrong::new("there are no variables: the name stands alone");
        Err(wrong.instead_if_good::<T>(name))
    })
}
