//! The names that servers give to the parts of a line.

use super::meaning::{Meaning, Unit};
use http::{HeaderName, header};

/// Returns the meaning of a variable of nginx; `None` if it is of no use here.
pub(super) fn nginx(variable: &str) -> Option<Meaning> {
    if variable == "http_x_forwarded_proto" {
        return Some(Meaning::Tls);
    }
    if let Some(name) = variable.strip_prefix("http_") {
        return field(name).map(Meaning::RequestField);
    }
    let sent = ["sent_http_", "upstream_http_"]
        .iter()
        .find_map(|prefix| variable.strip_prefix(prefix));
    if let Some(name) = sent {
        return field(name).map(Meaning::ResponseField);
    }
    Some(match variable {
        "remote_addr" => Meaning::Client,
        "remote_user" => Meaning::User,
        "time_local" | "time_iso8601" | "msec" => Meaning::Time,
        "request" => Meaning::Request,
        "request_method" => Meaning::Method,
        "request_uri" => Meaning::Target,
        // `/index.php` for every page in many applications.
        "uri" | "document_uri" => Meaning::Path,
        "args" | "query_string" => Meaning::Query,
        "scheme" | "https" | "ssl_protocol" => Meaning::Tls,
        "host" => Meaning::Host,
        "server_name" => Meaning::ServerName,
        "status" => Meaning::Status,
        "body_bytes_sent" => Meaning::Bytes,
        "bytes_sent" => Meaning::AllBytes,
        "request_time" => Meaning::Took(Unit::Seconds),
        "upstream_response_time" => Meaning::OriginTime(Unit::Seconds),
        "upstream_cache_status" => Meaning::Answered,
        "content_type" => Meaning::RequestField(header::CONTENT_TYPE),
        _ => return None,
    })
}

/// Returns a field's name from its name in variables of nginx.
fn field(name: &str) -> Option<HeaderName> {
    HeaderName::from_bytes(name.replace('_', "-").as_bytes()).ok()
}

/// Returns the meaning of a directive in formats of Apache and varnishncsa: its letter, and the text in braces before
/// it.
pub(super) fn ncsa(letter: char, argument: &str) -> Option<Meaning> {
    let named = |name: &str| HeaderName::from_bytes(name.as_bytes()).ok();
    Some(match (letter, argument) {
        ('h' | 'a', _) => Meaning::Client,
        ('u', _) => Meaning::User,
        ('t', "" | "sec" | "msec" | "usec") => Meaning::Time,
        ('r', _) => Meaning::Request,
        ('m', _) => Meaning::Method,
        ('U', _) => Meaning::Path,
        ('q', _) => Meaning::Query,
        ('s', _) => Meaning::Status,
        ('b' | 'B', _) => Meaning::Bytes,
        ('O', _) => Meaning::AllBytes,
        ('D', _) | ('T', "us") => Meaning::Took(Unit::Micros),
        ('T', "ms") => Meaning::Took(Unit::Millis),
        ('T', _) => Meaning::Took(Unit::Seconds),
        ('v' | 'V', _) => Meaning::ServerName,
        ('i', name) if name.eq_ignore_ascii_case("host") => Meaning::Host,
        ('i', name) if name.eq_ignore_ascii_case("x-forwarded-proto") => Meaning::Tls,
        ('i', name) => Meaning::RequestField(named(name)?),
        ('o', name) => Meaning::ResponseField(named(name)?),
        ('x', "Varnish:time_firstbyte") => Meaning::OriginTime(Unit::Seconds),
        ('x', "Varnish:hitmiss" | "Varnish:handling") => Meaning::Answered,
        _ => return None,
    })
}

/// Returns the meaning of a key in a JSON log or of a column in a W3C log. Keys of nested objects are joined by dots.
/// If several keys mean the same, a line has only one of them, or they agree, or [`Line::put`](super::Line) knows the
/// better one.
pub(super) fn key(name: &str) -> Option<Meaning> {
    Some(match name {
        "time" | "ts" | "timestamp" | "@timestamp" | "time_iso8601" | "time_local" | "msec"
        | "datetime" => Meaning::Time,
        "date" => Meaning::Date,
        "client" | "c-ip" | "remote_addr" | "remote_ip" | "client_ip" | "request.client_ip"
        | "request.remote_ip" => Meaning::Client,
        "user" | "remote_user" | "cs-username" | "user_id" => Meaning::User,
        "scheme" | "cs-protocol" | "request.tls.version" | "https" | "ssl_protocol" => Meaning::Tls,
        "method" | "request_method" | "cs-method" | "request.method" => Meaning::Method,
        "host" | "x-host-header" | "cs-host" | "http_host" | "request.host" => Meaning::Host,
        "server_name" | "vhost" => Meaning::ServerName,
        "target" | "request_uri" | "cs-uri" | "request.uri" => Meaning::Target,
        "uri" | "document_uri" | "url" | "path" | "cs-uri-stem" => Meaning::Path,
        "query" | "args" | "query_string" | "cs-uri-query" => Meaning::Query,
        "request" => Meaning::Request,
        "status" | "sc-status" | "response_code" => Meaning::Status,
        "bytes" | "size" | "body_bytes_sent" | "sc-content-len" | "response_size" => Meaning::Bytes,
        "bytes_sent" | "sc-bytes" => Meaning::AllBytes,
        "took_ms" | "duration_ms" | "request_time_ms" => Meaning::Took(Unit::Millis),
        "request_time" | "duration" => Meaning::Took(Unit::Seconds),
        "time-taken" => Meaning::Took(Unit::ByPoint),
        "origin_ms" => Meaning::OriginTime(Unit::Millis),
        "upstream_response_time" | "origin-lbl" => Meaning::OriginTime(Unit::Seconds),
        "cache" | "upstream_cache_status" | "cache_status" | "x-edge-response-result-type" => {
            Meaning::Answered
        }
        "reason" => Meaning::Reason,
        "referer" | "referrer" | "http_referer" | "http_referrer" => {
            Meaning::RequestField(header::REFERER)
        }
        "user_agent" | "http_user_agent" | "agent" => Meaning::RequestField(header::USER_AGENT),
        "content_type" | "sc-content-type" => Meaning::ResponseField(header::CONTENT_TYPE),
        "cache_control" => Meaning::ResponseField(header::CACHE_CONTROL),
        _ => return described(name),
    })
}

/// Returns the field that a key names: `request.headers.Accept`, `resp_headers.Vary`, `sent_http_vary`, `cs(Cookie)`,
/// `sc(Vary)`.
fn described(name: &str) -> Option<Meaning> {
    let between = |prefix: &str, end: &str| name.strip_prefix(prefix)?.strip_suffix(end);
    let field_of = |name: &str| HeaderName::from_bytes(name.as_bytes()).ok();
    if let Some(name) = between("request.headers.", "") {
        return field_of(name).map(Meaning::RequestField);
    }
    if let Some(name) = between("resp_headers.", "").or_else(|| between("response_headers.", "")) {
        return field_of(name).map(Meaning::ResponseField);
    }
    if let Some(name) = between("cs(", ")") {
        // CloudFront writes the name of its own distribution here, and the host in `x-host-header`.
        let is_host = name.eq_ignore_ascii_case("host");
        return if is_host {
            Some(Meaning::ServerName)
        } else {
            field_of(name).map(Meaning::RequestField)
        };
    }
    if let Some(name) = between("sc(", ")") {
        return field_of(name).map(Meaning::ResponseField);
    }
    let as_variable = name.starts_with("http_")
        || name.starts_with("sent_http_")
        || name.starts_with("upstream_http_");
    as_variable.then(|| nginx(name)).flatten()
}
