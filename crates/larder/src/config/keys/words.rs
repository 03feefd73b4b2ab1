//! Words of other programs, and what they are called here.

use serde_json::{Map, Value};

/// Words of other programs, and what they are called here: a key, also in a table of its own. A word with several
/// meanings has that which the table around it knows, or else the first.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("upstream", "origin"),
    ("backend", "origin"),
    ("proxy_pass", "origin"),
    ("proxy_cache_valid", "ttl"),
    ("default_ttl", "ttl"),
    ("proxy_cache_use_stale", "stale"),
    ("keep", "stale"),
    ("proxy_read_timeout", "timeouts"),
    ("proxy_connect_timeout", "timeouts.connect"),
    ("connect_timeout", "timeouts.connect"),
    ("first_byte_timeout", "timeouts.first_byte"),
    ("between_bytes_timeout", "timeouts.between_bytes"),
    ("probe", "health"),
    ("hash_data", "key"),
    ("querysort", "key.sort"),
    ("do_esi", "esi"),
    ("do_gzip", "compress"),
    ("least_conn", "balance"),
    ("stale_while_revalidate", "stale.while_revalidate"),
    ("stale_if_error", "stale.if_error"),
    ("bypass_cookies", "bypass.cookies"),
    ("bypass_headers", "bypass.headers"),
    ("gzip", "compress"),
    ("brotli", "compress"),
    ("gzip_types", "compress_types"),
    ("keepalive", "idle_connections"),
    ("max_fails", "passive"),
    ("fail_timeout", "passive"),
    ("max_conns", "most_concurrent"),
    ("max_connections", "most_concurrent"),
    ("proxy_cache_key", "key"),
    ("proxy_cache_bypass", "bypass"),
    ("add_header", "response_headers"),
    ("proxy_hide_header", "response_headers"),
    ("proxy_set_header", "request_headers"),
    ("access_log", "log"),
    ("server_name", "host"),
    ("client_max_body_size", "request_body"),
    ("worker_processes", "workers"),
    ("max_age", "ttl"),
    ("expires", "browser_ttl"),
    ("grace", "stale"),
    ("location", "route"),
    ("location", "path"),
    ("routes", "route"),
    ("origins", "origin"),
    ("bind", "listen"),
    ("port", "listen"),
    ("port", "address"),
    ("port", "url"),
    ("host", "address"),
    ("host", "url"),
    ("geo", "client"),
    ("limit_except", "method"),
    ("server", "servers"),
    ("url", "servers"),
    ("vary", "headers"),
    ("cert", "certificate"),
    ("methods", "method"),
    ("proxy_no_cache", "bypass"),
    ("threads", "workers"),
    ("redis", "shared"),
    ("valkey", "shared"),
    ("memcached", "shared"),
    ("proxy_cache_path", "disk"),
    ("max_size", "size"),
    ("acl", "allow"),
    ("proxy_cache_purge", "purge"),
    ("fastcgi_pass", "fastcgi"),
    ("fastcgi_index", "index"),
    ("fastcgi_param", "params"),
    ("try_files", "try"),
    ("try_files", "front"),
    ("document_root", "root"),
    ("scripts", "script"),
    ("fastcgi_cache", "cache"),
    ("fastcgi_cache_background_update", "stale"),
    ("fastcgi_cache_bypass", "bypass"),
    ("fastcgi_cache_key", "key"),
    ("fastcgi_cache_lock", "collapse_wait"),
    ("fastcgi_cache_lock_timeout", "collapse_wait"),
    ("fastcgi_cache_path", "disk"),
    ("fastcgi_cache_purge", "purge"),
    ("fastcgi_cache_use_stale", "stale"),
    ("fastcgi_cache_valid", "ttl"),
    ("fastcgi_connect_timeout", "timeouts.connect"),
    ("fastcgi_hide_header", "response_headers"),
    ("fastcgi_ignore_headers", "ttl_mode"),
    ("fastcgi_keep_conn", "idle_connections"),
    ("fastcgi_next_upstream", "retry"),
    ("fastcgi_no_cache", "bypass"),
    ("fastcgi_read_timeout", "timeouts"),
    ("fastcgi_send_timeout", "timeouts"),
    ("proxy_buffer_size", "header_size"),
    ("fastcgi_buffer_size", "header_size"),
    ("proxy_cache", "cache"),
    ("proxy_cache_background_update", "stale"),
    ("proxy_cache_lock", "collapse_wait"),
    ("proxy_cache_lock_timeout", "collapse_wait"),
    ("proxy_http_version", "protocol"),
    ("proxy_ignore_headers", "ttl_mode"),
    ("proxy_next_upstream", "retry"),
    ("proxy_next_upstream_tries", "retry"),
    ("proxy_send_timeout", "timeouts"),
    ("proxy_ssl_name", "tls"),
    ("proxy_ssl_trusted_certificate", "tls"),
    ("proxy_ssl_verify", "tls"),
    ("ssl_certificate", "tls"),
    ("ssl_certificate_key", "tls"),
    ("client_body_timeout", "body_time"),
    ("client_header_timeout", "header_time"),
    ("keepalive_timeout", "idle_time"),
    ("send_timeout", "write_time"),
    ("limit_conn", "connections_per_address"),
    ("gzip_min_length", "compress_min_size"),
    ("resolver", "resolve_every"),
    ("set_real_ip_from", "trusted"),
];

/// Words of other programs for which no key stands: a key of the tables in which that is so, and what to write there.
const OTHERWISE: &[(&str, &str, &str)] = &[
    ("allow", "refuse", CLIENTS),
    ("deny", "refuse", CLIENTS),
    ("acl", "refuse", CLIENTS),
    ("pass", "cache", "write `cache = false`"),
    ("uncacheable", "cache", "write `cache = false`"),
];

const CLIENTS: &str = "write a route with `client` for those who may, and after it one for the same paths with `refuse = \"403\"`";

/// Returns `key` in the spelling that is used here.
pub(super) fn plain(key: &str) -> String {
    key.to_ascii_lowercase().replace('-', "_")
}

/// Translates a word of other programs: what it may mean.
pub(super) fn other_words(key: &str) -> impl Iterator<Item = &'static str> {
    let word = plain(key);
    let others = OTHER_WORDS
        .iter()
        .filter(move |(theirs, _)| *theirs == word);
    others.map(|(_, ours)| *ours)
}

/// The table of a key with dots, or the key itself.
pub(super) fn first(key: &str) -> &str {
    key.split('.').next().unwrap_or(key)
}

/// Returns what to write in place of a word of other programs in a table of these keys, if no key stands for it.
pub(super) fn otherwise(key: &str, known: &Map<String, Value>) -> Option<&'static str> {
    let word = plain(key);
    let mut rows = OTHERWISE.iter();
    let row = rows.find(|(theirs, ours, _)| *theirs == word && known.contains_key(*ours));
    row.map(|(.., said)| *said)
}

/// Returns the known key that a word of other programs means, and what to write, which may be a key of its table.
pub(super) fn translated<'a>(
    key: &str,
    known: &'a Map<String, Value>,
) -> Option<(&'a str, &'static str)> {
    let own = |key: &str| known.get_key_value(key).map(|(own, _)| own.as_str());
    other_words(key).find_map(|ours| {
        let inner = ours.rsplit('.').next().unwrap_or(ours);
        let outer = own(first(ours)).map(|key| (key, ours));
        outer.or_else(|| own(inner).map(|key| (key, inner)))
    })
}

/// Every key that stands in place of another program's word.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    let ours = OTHER_WORDS.iter().map(|(_, ours)| *ours);
    ours.chain(OTHERWISE.iter().map(|(_, ours, _)| *ours))
}
