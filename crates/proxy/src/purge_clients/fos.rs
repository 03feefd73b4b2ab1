//! `FOSHttpCache`'s bans: expressions on host, target, content type and tags, all of which must match.

use super::{
    Head, Malformed, Matching, Wish,
    expression::{self, OnTarget},
    varnish,
};
use crate::policy::PurgePolicy;
use http::HeaderName;
use rules::surrogate;

/// Fields with an expression, besides that on tags.
pub const EXPRESSIONS: [&str; 3] = ["x-host", "x-url", "x-content-type"];

const EMPTY: Malformed = Malformed::Nothing("the list of tags is empty");

/// Whether a request bans by any of [`EXPRESSIONS`].
pub fn is_ban(head: Head<'_>) -> bool {
    EXPRESSIONS.iter().any(|name| head.has(name))
}

/// Returns what a request bans by [`EXPRESSIONS`], and by tags.
pub fn ban(policy: &PurgePolicy, head: Head<'_>) -> Result<Wish, Malformed> {
    // The library sends all three, and its target is only the path of the application's base URL.
    let is_its_own = head.method == "BAN" && EXPRESSIONS.iter().all(|name| head.has(name));
    if !is_its_own && varnish::target(policy, head) != "/" {
        return Err(Malformed::NotOffered(
            "a purge by `X-Host`, `X-Url` or `X-Content-Type` has the target `/`: send the URL in `X-Url`, or none of them",
        ));
    }
    let is_blank = |name: &'static str| head.has(name) && head.text(name).is_none();
    if EXPRESSIONS.into_iter().any(is_blank) {
        return Err(Malformed::Nothing(
            "the expression in `X-Host`, `X-Url` or `X-Content-Type` is empty",
        ));
    }
    let tags = tags(head)?;
    let target = head.text("x-url").map(|text| expression::on_target(&text));
    let target = target.filter(|target| *target != OnTarget::Everything);
    varnish::no_unknown_limit(policy, head, tags.is_some() || target.is_some())?;
    Ok(matching(head, target, tags))
}

/// Returns the expression on tags, in whichever field carries tags elsewhere: the option `tags_header` names it. A list
/// becomes the expression that matches the same tags.
fn tags(head: Head<'_>) -> Result<Option<String>, Malformed> {
    let names = surrogate::FIELDS.iter().map(HeaderName::as_str);
    let mut present = names
        .chain(varnish::TAG_LISTS)
        .filter(|name| head.fields.contains_key(*name));
    let Some(name) = present.next() else {
        return Ok(None);
    };
    if present.next().is_some() {
        return Err(Malformed::NotOffered(
            "tags stand in more than one field: purge in several requests",
        ));
    }
    let text = head.text(name).ok_or(EMPTY)?;
    if name == "x-cache-tags" || varnish::is_expression(&text) {
        let is_whole = !head.repeats(name);
        return is_whole
            .then(|| Some(text.into_owned()))
            .ok_or(varnish::REPEATED);
    }
    let listed = varnish::tags(head);
    let listed: Vec<_> = listed.iter().map(|tag| regex::escape(tag)).collect();
    if listed.is_empty() {
        return Err(EMPTY);
    }
    Ok(Some(format!("(^|,)({})(,|$)", listed.join("|"))))
}

fn matching(head: Head<'_>, target: Option<OnTarget>, tags: Option<String>) -> Wish {
    let given = |name| {
        head.text(name)
            .filter(|text| !expression::is_everything(text))
    };
    let (host, content_type) = (given("x-host"), given("x-content-type"));
    let tags = tags.map(|text| (varnish::on_tags(&text), text));
    let tags = tags.filter(|(wish, _)| *wish != Wish::Everything);
    if content_type.is_none() {
        match (&host, &target, &tags) {
            (None, None, None) => return Wish::Everything,
            (None, None, Some((wish, _))) => return wish.clone(),
            (None, Some(OnTarget::Prefix(path)), None) => {
                return Wish::Prefix {
                    host: String::new(),
                    path: path.clone(),
                };
            }
            (Some(host), target, None) => {
                if let Some(wish) = on_host(host, target.as_ref()) {
                    return wish;
                }
            }
            _ => {}
        }
    }
    let whole = |text: &str| expression::translated(text);
    Wish::Matching(Box::new(Matching {
        host: host.map(|text| whole(&text)),
        target: target
            .and_then(|_| head.text("x-url"))
            .map(|text| expression::translated_target(&text)),
        content_type: content_type.map(|text| whole(&text)),
        tags: tags.map(|(_, text)| whole(&text)),
        ..Matching::default()
    }))
}

/// Returns a ban of a whole host, or of targets on it that begin so.
fn on_host(host: &str, target: Option<&OnTarget>) -> Option<Wish> {
    let host = expression::one_host(host)?;
    match target {
        None => Some(Wish::Host(host)),
        Some(OnTarget::Prefix(path)) => Some(Wish::Prefix {
            host,
            path: path.clone(),
        }),
        Some(_) => None,
    }
}
