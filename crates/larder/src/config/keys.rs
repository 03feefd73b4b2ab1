//! Keys that the configuration does not know, and what was probably meant by them.

use super::{Fault, schema::View};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, ops::Range};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

/// Words of other programs, and what they are called here.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("upstream", "origin"),
    ("backend", "origin"),
    ("proxy_pass", "origin"),
    ("proxy_cache_valid", "ttl"),
    ("default_ttl", "ttl"),
    ("proxy_cache_use_stale", "stale"),
    ("keep", "stale"),
    ("proxy_read_timeout", "timeouts"),
    ("proxy_connect_timeout", "timeouts"),
    ("first_byte_timeout", "timeouts"),
    ("gzip", "compress"),
    ("brotli", "compress"),
    ("gzip_types", "compress_types"),
    ("keepalive", "idle_connections"),
    ("max_fails", "passive"),
    ("fail_timeout", "passive"),
    ("max_conns", "most_concurrent"),
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
    ("expires", "ttl"),
    ("grace", "stale"),
    ("location", "route"),
    ("routes", "route"),
    ("origins", "origin"),
    ("bind", "listen"),
    ("port", "listen"),
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
    ("fastcgi_connect_timeout", "timeouts"),
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

/// Removes the unknown keys from `table` and reports them. Also removes and reports values that serde would misread:
/// lists in place of tables, which it would fill by the order of the list, and dates.
pub(super) fn take_unknown(table: &mut DeTable<'_>, root: &Value, faults: &mut Vec<Fault>) {
    let mut places = Places::default();
    places.collect("", View::root(root));
    Walk { places, faults }.table(table, View::root(root));
}

struct Walk<'a> {
    places: Places,
    faults: &'a mut Vec<Fault>,
}

impl Walk<'_> {
    fn table(&mut self, table: &mut DeTable<'_>, schema: View<'_>) {
        let Some((known, schema)) = schema.table() else {
            return;
        };
        let (mut unknown, mut wrong_kinds) = (Vec::new(), Vec::new());
        for (key, value) in table.iter_mut() {
            match known.get(key.get_ref().as_ref()) {
                Some(inner) => {
                    let inner = schema.to(inner);
                    let key = key.get_ref().to_string();
                    let wrong =
                        list_for_table(&key, value, inner).or_else(|| date(&key, value, inner));
                    self.value(&key, value, inner);
                    wrong_kinds.extend(wrong.map(|fault| (key, fault)));
                }
                None => unknown.push((key.get_ref().to_string(), key.span())),
            }
        }
        for (key, span) in unknown {
            self.faults.push(self.unknown(&key, &span, known));
            table.remove(key.as_str());
        }
        for (key, fault) in wrong_kinds {
            self.faults.push(fault);
            table.remove(key.as_str());
        }
    }

    fn value(&mut self, key: &str, value: &mut Spanned<DeValue<'_>>, schema: View<'_>) {
        match value.get_mut() {
            DeValue::Table(table) => self.table(table, schema),
            DeValue::Array(list) => {
                let Some(members) = schema.members() else {
                    return;
                };
                let mut kept = DeArray::new();
                for mut member in std::mem::replace(list, DeArray::new()) {
                    if let Some(fault) = list_for_table(key, &member, members) {
                        self.faults.push(fault);
                    } else {
                        self.value(key, &mut member, members);
                        kept.push(member);
                    }
                }
                *list = kept;
            }
            _ => {}
        }
    }

    fn unknown(&self, key: &str, span: &Range<usize>, known: &Map<String, Value>) -> Fault {
        let fault = Fault::at(span, format!("unknown key `{key}`"));
        if let Some(nearest) = nearest_key(key, known) {
            return fault.instead(format!("did you mean `{nearest}`?"));
        }
        if let Some(places) = self.places.of(key) {
            return fault.instead(format!("`{key}` belongs in {places}"));
        }
        let ours = other_word(key).and_then(|ours| Some((ours, self.places.of(ours)?)));
        fault.instead(match ours {
            Some((ours, places)) => {
                format!("it is called `{ours}` here and belongs in {places}")
            }
            None => format!("known here: {}", join(known.keys())),
        })
    }
}

/// Returns the fault of a list under `key` where a table is allowed and a list is not.
fn list_for_table(key: &str, value: &Spanned<DeValue<'_>>, schema: View<'_>) -> Option<Fault> {
    let is_list = matches!(value.get_ref(), DeValue::Array(_));
    let (keys, _) = schema
        .table()
        .filter(|_| is_list && schema.members().is_none() && !schema.is_text())?;
    let fault = Fault::at(&value.span(), "expected a table, found a list");
    Some(fault.instead(format!("keys of `{key}`: {}", join(keys.keys()))))
}

/// Returns the fault of a date under `key`, or in a list there. No key takes a date, and serde reads one as a table.
fn date(key: &str, value: &Spanned<DeValue<'_>>, schema: View<'_>) -> Option<Fault> {
    let place = match value.get_ref() {
        DeValue::Datetime(_) => value,
        DeValue::Array(list) => list
            .iter()
            .find(|member| matches!(member.get_ref(), DeValue::Datetime(_)))?,
        _ => return None,
    };
    let fault = Fault::at(&place.span(), "no key has a date or a time of day");
    let examples = schema.get("examples").and_then(|list| list.get(0));
    let example = examples.or_else(|| schema.get("default"));
    Some(match example.filter(|example| !example.is_object()) {
        Some(example) => fault.instead(format!("for example `{key} = {example}`")),
        None => fault,
    })
}

/// Returns `key` in the spelling that is used here.
fn plain(key: &str) -> String {
    key.to_ascii_lowercase().replace('-', "_")
}

/// Translates a word of other programs.
fn other_word(key: &str) -> Option<&'static str> {
    let word = plain(key);
    let other = OTHER_WORDS.iter().find(|(theirs, _)| *theirs == word);
    other.map(|(_, ours)| *ours)
}

/// Returns the known key that was probably meant by the unknown `key`.
pub(super) fn nearest_key<'a>(key: &str, known: &'a Map<String, Value>) -> Option<&'a str> {
    let word = plain(key);
    let translated = other_word(key).and_then(|ours| known.get_key_value(ours));
    let nearest = nearest(&word, known.keys().map(String::as_str));
    translated.map(|(ours, _)| ours.as_str()).or(nearest)
}

/// Returns the candidate nearest to `word`, if it is near enough to be meant.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let most = (word.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Joins the names, each in backticks, with commas.
pub(super) fn join<T: AsRef<str>>(names: impl Iterator<Item = T>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("`{}`", name.as_ref())).collect();
    quoted.join(", ")
}

/// Maps each key to the tables that know it.
#[derive(Default)]
struct Places(BTreeMap<String, Vec<String>>);

impl Places {
    fn collect(&mut self, path: &str, schema: View<'_>) {
        let Some((known, schema)) = schema.table() else {
            return;
        };
        for (key, inner) in known {
            let here = if path.is_empty() {
                "the top of the file".to_owned()
            } else {
                format!("`{path}`")
            };
            self.0.entry(key.clone()).or_default().push(here);
            let inner = schema.to(inner);
            let below = |open: &str, close: &str| match path.trim_matches(['[', ']']) {
                "" => format!("{open}{key}{close}"),
                path => format!("{open}{path}.{key}{close}"),
            };
            match inner.members() {
                Some(members) => self.collect(&below("[[", "]]"), members),
                None => self.collect(&below("[", "]"), inner),
            }
        }
    }

    /// Returns the tables that know `key`; if there are many, only the outermost. `None` if these are too many to be
    /// helpful.
    fn of(&self, key: &str) -> Option<String> {
        const MOST: usize = 3;
        let mut places: Vec<&str> = self.0.get(key)?.iter().map(String::as_str).collect();
        let depth = |place: &str| place.matches('.').count();
        if places.len() > MOST {
            let least = places.iter().map(|place| depth(place)).min()?;
            places.retain(|place| depth(place) == least);
        }
        (places.len() <= MOST).then(|| places.join(" or "))
    }
}
