//! The names that servers give to the parts of a line.

use super::slot::{Slot, Unit};
use http::{HeaderName, header};

/// Returns the meaning of a variable of nginx; `None` if it is of no use here.
pub(super) fn nginx(variable: &str) -> Option<Slot> {
    if let Some(name) = variable.strip_prefix("http_") {
        return field(name).map(Slot::RequestField);
    }
    let sent = ["sent_http_", "upstream_http_"]
        .iter()
        .find_map(|prefix| variable.strip_prefix(prefix));
    if let Some(name) = sent {
        return field(name).map(Slot::ResponseField);
    }
    Some(match variable {
        "remote_addr" => Slot::Client,
        "remote_user" => Slot::User,
        "time_local" | "time_iso8601" | "msec" => Slot::Time,
        "request" => Slot::Request,
        "request_method" => Slot::Method,
        "request_uri" => Slot::Target,
        // `/index.php` for every page in many applications.
        "uri" | "document_uri" => Slot::Path,
        "args" | "query_string" => Slot::Query,
        "scheme" | "https" | "ssl_protocol" => Slot::Tls,
        "host" => Slot::Host,
        "server_name" => Slot::ServerName,
        "status" => Slot::Status,
        "body_bytes_sent" => Slot::Bytes,
        "bytes_sent" => Slot::AllBytes,
        "request_time" => Slot::Took(Unit::Seconds),
        "upstream_response_time" => Slot::OriginTime(Unit::Seconds),
        "upstream_cache_status" => Slot::Answered,
        "content_type" => Slot::RequestField(header::CONTENT_TYPE),
        _ => return None,
    })
}

/// Returns a field's name from its name in variables of nginx.
fn field(name: &str) -> Option<HeaderName> {
    HeaderName::from_bytes(name.replace('_', "-").as_bytes()).ok()
}

/// Returns the meaning of a directive in formats of Apache and varnishncsa: its letter, and the text in braces before
/// it.
pub(super) fn ncsa(letter: char, argument: &str) -> Option<Slot> {
    let named = |name: &str| HeaderName::from_bytes(name.as_bytes()).ok();
    Some(match (letter, argument) {
        ('h' | 'a', _) => Slot::Client,
        ('u', _) => Slot::User,
        ('t', "" | "sec" | "msec" | "usec") => Slot::Time,
        ('r', _) => Slot::Request,
        ('m', _) => Slot::Method,
        ('U', _) => Slot::Path,
        ('q', _) => Slot::Query,
        ('s', _) => Slot::Status,
        ('b' | 'B', _) => Slot::Bytes,
        ('O', _) => Slot::AllBytes,
        ('D', _) | ('T', "us") => Slot::Took(Unit::Micros),
        ('T', "ms") => Slot::Took(Unit::Millis),
        ('T', _) => Slot::Took(Unit::Seconds),
        ('v' | 'V', _) => Slot::ServerName,
        ('i', name) if name.eq_ignore_ascii_case("host") => Slot::Host,
        ('i', name) if name.eq_ignore_ascii_case("x-forwarded-proto") => Slot::Tls,
        ('i', name) => Slot::RequestField(named(name)?),
        ('o', name) => Slot::ResponseField(named(name)?),
        ('x', "Varnish:time_firstbyte") => Slot::OriginTime(Unit::Seconds),
        ('x', "Varnish:hitmiss" | "Varnish:handling") => Slot::Answered,
        _ => return None,
    })
}

/// Returns the meaning of a key in a JSON log or of a column in a W3C log. Keys of nested objects are joined by dots.
/// If several keys mean the same, a line has only one of them, or they agree, or [`Line::put`](super::Line) knows the
/// better one.
pub(super) fn key(name: &str) -> Option<Slot> {
    Some(match name {
        "time" | "ts" | "timestamp" | "@timestamp" | "time_iso8601" | "time_local" | "msec"
        | "datetime" => Slot::Time,
        "date" => Slot::Date,
        "client" | "c-ip" | "remote_addr" | "remote_ip" | "client_ip" | "request.client_ip"
        | "request.remote_ip" => Slot::Client,
        "user" | "remote_user" | "cs-username" | "user_id" => Slot::User,
        "scheme" | "cs-protocol" | "request.tls.version" | "https" | "ssl_protocol" => Slot::Tls,
        "method" | "request_method" | "cs-method" | "request.method" => Slot::Method,
        "host" | "x-host-header" | "cs-host" | "http_host" | "request.host" => Slot::Host,
        "server_name" | "vhost" => Slot::ServerName,
        "target" | "request_uri" | "cs-uri" | "request.uri" => Slot::Target,
        "uri" | "document_uri" | "url" | "path" | "cs-uri-stem" => Slot::Path,
        "query" | "args" | "query_string" | "cs-uri-query" => Slot::Query,
        "request" => Slot::Request,
        "status" | "sc-status" | "response_code" => Slot::Status,
        "bytes" | "size" | "body_bytes_sent" | "sc-content-len" | "response_size" => Slot::Bytes,
        "bytes_sent" | "sc-bytes" => Slot::AllBytes,
        "took_ms" | "duration_ms" | "request_time_ms" => Slot::Took(Unit::Millis),
        "request_time" | "duration" => Slot::Took(Unit::Seconds),
        "time-taken" => Slot::Took(Unit::ByPoint),
        "origin_ms" => Slot::OriginTime(Unit::Millis),
        "upstream_response_time" | "origin-lbl" => Slot::OriginTime(Unit::Seconds),
        "cache" | "upstream_cache_status" | "cache_status" | "x-edge-response-result-type" => {
            Slot::Answered
        }
        "reason" => Slot::Reason,
        "referer" | "referrer" | "http_referer" | "http_referrer" => {
            Slot::RequestField(header::REFERER)
        }
        "user_agent" | "http_user_agent" | "agent" => Slot::RequestField(header::USER_AGENT),
        "content_type" | "sc-content-type" => Slot::ResponseField(header::CONTENT_TYPE),
        "cache_control" => Slot::ResponseField(header::CACHE_CONTROL),
        _ => return described(name),
    })
}

/// Returns the field that a key names: `request.headers.Accept`, `resp_headers.Vary`, `sent_http_vary`, `cs(Cookie)`,
/// `sc(Vary)`.
fn described(name: &str) -> Option<Slot> {
    let between = |prefix: &str, end: &str| name.strip_prefix(prefix)?.strip_suffix(end);
    let field_of = |name: &str| HeaderName::from_bytes(name.as_bytes()).ok();
    if let Some(name) = between("request.headers.", "") {
        return field_of(name).map(Slot::RequestField);
    }
    if let Some(name) = between("resp_headers.", "").or_else(|| between("response_headers.", "")) {
        return field_of(name).map(Slot::ResponseField);
    }
    if let Some(name) = between("cs(", ")") {
        // CloudFront writes the name of its own distribution here, and the host in `x-host-header`.
        let is_host = name.eq_ignore_ascii_case("host");
        return if is_host {
            Some(Slot::ServerName)
        } else {
            field_of(name).map(Slot::RequestField)
        };
    }
    if let Some(name) = between("sc(", ")") {
        return field_of(name).map(Slot::ResponseField);
    }
    let as_variable = name.starts_with("http_")
        || name.starts_with("sent_http_")
        || name.starts_with("upstream_http_");
    as_variable.then(|| nginx(name)).flatten()
}
