//! What answers for an origin: servers, scripts, a folder or a page store. And the keys that are for another of these.

use super::{Sink, fastcgi, sources};
use crate::config::{
    Fault,
    value::{At, ServerUrl},
    written,
};
use std::ops::Range;

/// A key, and where its value is.
type Key<'a> = (&'static str, &'a Range<usize>);

/// The keys that say what answers.
pub(super) const KINDS: [&str; 6] = ["servers", "url", "fastcgi", "static", "memcached", "redis"];

/// What an application is called if it has no name.
const APP: &str = "app";

/// Returns what the origin is called if it has no name.
pub(super) fn usual_name(written: &written::Origin) -> &'static str {
    match named(written).next() {
        None | Some(("servers" | "fastcgi", _)) => APP,
        Some((key, _)) => key,
    }
}

/// Returns the keys of `written` that say what answers, in the order in which several origins are tried.
fn named(written: &written::Origin) -> impl Iterator<Item = Key<'_>> {
    let keys = [
        ("static", written.r#static.as_ref().map(|key| &key.span)),
        ("memcached", written.memcached.as_ref().map(|key| &key.span)),
        ("redis", written.redis.as_ref().map(|key| &key.span)),
        ("servers", written.servers.as_ref().map(|key| &key.span)),
        ("fastcgi", written.fastcgi.as_ref().map(|key| &key.span)),
    ];
    written_ones(keys)
}

/// Returns the keys of `written` that only apply to page stores.
fn of_pages(written: &written::Origin) -> impl Iterator<Item = Key<'_>> {
    let content_type = written.content_type.as_ref();
    let keys = [
        ("key", written.key.as_ref().map(|key| &key.span)),
        ("format", written.format.as_ref().map(|key| &key.span)),
        ("content_type", content_type.map(|key| &key.span)),
    ];
    written_ones(keys)
}

/// Returns the keys that are written.
pub(super) fn written_ones<'a, const N: usize>(
    keys: [(&'static str, Option<&'a Range<usize>>); N],
) -> impl Iterator<Item = Key<'a>> {
    keys.into_iter()
        .filter_map(|(key, span)| Some((key, span?)))
}

/// Reports that an origin is to be several things. Returns whether it is.
pub(super) fn several(table: &At<written::Origin>, sink: &mut Sink<'_>) -> bool {
    let kinds: Vec<Key<'_>> = named(&table.value).collect();
    let (Some((last, place)), true) = (kinds.last(), kinds.len() > 1) else {
        return false;
    };
    let keys: Vec<&str> = kinds.iter().map(|(key, _)| *key).collect();
    let what = match keys.as_slice() {
        [first, second] => format!("an origin has `{first}` or `{second}`, not both"),
        _ => format!("an origin has one of {}", listed(&keys, "and")),
    };
    let instead = if keys.contains(&"servers") && *last == "fastcgi" {
        // The answer of either is final.
        "make an origin of each, give them names, and write under `[defaults]` or in a route which one answers: `origin = …`".to_owned()
    } else {
        let app = table.value.name.as_ref().map(|name| name.value.as_str());
        let app = app.filter(|name| !keys.contains(name)).unwrap_or(APP);
        let names = keys.iter().map(|key| match *key {
            "servers" | "fastcgi" => app,
            key => key,
        });
        let names: Vec<&str> = names.collect();
        format!(
            "make an origin of each, called {}, and write `try = {names:?}` under `[defaults]`",
            listed(&names, "and")
        )
    };
    sink.push(Fault::at(place, what).instead(instead));
    true
}

/// Reports keys that only apply to page stores, in an origin that is `what`.
pub(super) fn only_of_pages(written: &written::Origin, what: &str, sink: &mut Sink<'_>) {
    for (key, span) in of_pages(written) {
        let said = format!("`{key}` is for page stores: it has no effect on {what}");
        let fault = Fault::at(span, said).instead(format!("leave `{key}` out"));
        sink.missing(&["memcached", "redis"], fault);
    }
}

/// Reports what an origin lacks that does not say what answers, if its other keys tell what was meant. Returns whether
/// they do.
pub(super) fn half_said(table: &At<written::Origin>, sink: &mut Sink<'_>) -> bool {
    let written = &table.value;
    if named(written).next().is_some() {
        return false;
    }
    let scripts: Vec<Key<'_>> = fastcgi::of_scripts(written).collect();
    let pages: Vec<Key<'_>> = of_pages(written).collect();
    if let Some((_, place)) = scripts.first() {
        let keys: Vec<&str> = scripts.iter().map(|(key, _)| *key).collect();
        let are = if keys.len() > 1 { "are" } else { "is" };
        let keys_are = format!("{} {are}", listed(&keys, "and"));
        let what = format!("{keys_are} for scripts, and `fastcgi`, which runs them, is missing");
        let mut instead = "add `fastcgi = \"unix:/run/php/php-fpm.sock\"`".to_owned();
        if keys == ["root"] {
            instead += ", or for a folder without scripts write `static` in place of `root`";
        }
        sink.missing(&KINDS, Fault::at(place, what).instead(instead));
        // The folder may be missing too.
        fastcgi::scripts(table, sink);
        only_of_pages(written, "scripts", sink);
        return true;
    }
    let Some((key, place)) = pages.first() else {
        return false;
    };
    let what = format!("`{key}` is for page stores, and there is none");
    let fault = Fault::at(place, what).instead("add `memcached = \"127.0.0.1:11211\"`");
    sink.missing(&KINDS, fault);
    sources::template(written.key.as_ref(), &table.span, sink);
    true
}

/// Warns of what has no effect because the server of the command line answers.
pub(super) fn replaced(written: &written::Origin, url: &ServerUrl, sink: &mut Sink<'_>) {
    // That it stands in place of the file's servers is what it is for.
    let others = named(written).filter(|(key, _)| *key != "servers");
    let others = others.chain(fastcgi::of_scripts(written));
    let others: Vec<Key<'_>> = others.chain(of_pages(written)).collect();
    if let Some((_, place)) = others.first() {
        let keys: Vec<&str> = others.iter().map(|(key, _)| *key).collect();
        let have = if keys.len() > 1 { "have" } else { "has" };
        let keys = listed(&keys, "and");
        let what = format!("the server of the command line answers: {keys} {have} no effect");
        let instead =
            format!("leave the server out of the command line, or {keys} out of the file");
        sink.warn(Fault::at(place, what).instead(instead));
    }
    if let Some(tls) = written.tls.as_ref().filter(|_| url.tls != Some(true)) {
        let what = "the server of the command line has no `https`: `tls` has no effect";
        let instead = "write `https://` before the server, or leave `tls` out of the file";
        sink.warn(Fault::at(&tls.span, what).instead(instead));
    }
}

/// Returns the keys for people, with this word before the last.
pub(super) fn listed(keys: &[&str], word: &str) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match quoted.split_last() {
        Some((last, before)) if !before.is_empty() => {
            format!("{} {word} {last}", before.join(", "))
        }
        _ => quoted.join(""),
    }
}
