//! `PURGE`, `BAN`, `PURGEKEYS` and `PURGETAGS`, with the fields of clients for Varnish, nginx and Symfony.

use super::{
    Command, Dialect, Head, Malformed, Matching, Wish,
    expression::{self, OnTags},
    fos, prefixed,
};
use crate::{marks, policy::PurgePolicy};
use http::HeaderName;
use rules::surrogate;

/// Fields with an expression on tags.
const TAG_EXPRESSIONS: [&str; 3] = [
    "x-magento-tags-pattern",
    "x-cache-tags-pattern",
    "apiplatform-ban-regex",
];

/// Fields with a list of tags, besides those of responses.
pub const TAG_LISTS: [&str; 2] = ["xkey-purge", "xkey-softpurge"];

/// Only one of the lines would be read.
pub const REPEATED: Malformed = Malformed::NotOffered(
    "a field with an expression stands there more than once: purge in several requests",
);

/// Reads a request whose method is for caches.
pub fn command(policy: &PurgePolicy, head: Head<'_>) -> Result<Command, Malformed> {
    let method = head.method.as_str();
    let all = |wishes| Command {
        wishes,
        soft: is_soft(head),
        dialect: dialect(head),
    };
    let command = |wish| all(vec![wish]);
    if repeats_expression(head) {
        return Err(REPEATED);
    }
    if let Some(names) = TAG_EXPRESSIONS.iter().find(|name| head.has(name)) {
        let text = head
            .text(*names)
            .ok_or(Malformed::Nothing("the expression on tags is empty"))?;
        let mut command = command(on_tags(&text));
        // Magento's configuration bans what either field names.
        command.wishes.extend(pool(head));
        return Ok(command);
    }
    if fos::is_ban(head) {
        return fos::ban(policy, head).map(command);
    }
    if method == "BAN"
        && let Some(text) = head.text("x-cache-tags")
    {
        return Ok(command(on_tags(&text)));
    }
    if let Some(wish) = drupals(head) {
        return wish.map(command);
    }
    let tags = tags(head);
    if !tags.is_empty() {
        return Ok(command(Wish::Tags(tags)));
    }
    if method == "PURGEKEYS" {
        return Err(Malformed::Nothing(
            "send `xkey-purge` or `xkey-softpurge` with keys",
        ));
    }
    if method == "PURGETAGS" || head.path_and_query() == "/tags" {
        return Err(Malformed::Nothing("send `X-Cache-Tags` with tags"));
    }
    if surrogate::FIELDS
        .iter()
        .any(|name| head.fields.contains_key(name))
        || TAG_LISTS.iter().any(|name| head.has(name))
    {
        return Err(Malformed::Nothing("the list of tags is empty"));
    }
    if let Some(pool) = pool(head) {
        return Ok(command(pool));
    }
    if head.has("x-pool") {
        return Err(Malformed::Nothing("the expression on pools is empty"));
    }
    no_unknown_limit(policy, head, false)?;
    Ok(all(in_target(policy, head)))
}

/// Refuses a field with which a client limits what it bans, and which is not known here: it has a set of tags, or a name
/// of somebody's own VCL (`X-Ban-Url`, `X-Tags`). The name alone does not count where the ban is limited otherwise.
pub fn no_unknown_limit(
    policy: &PurgePolicy,
    head: Head<'_>,
    is_limited: bool,
) -> Result<(), Malformed> {
    let bans = head.method == "BAN" || fos::is_ban(head);
    let is_secret = |name: &HeaderName| {
        let secret = policy.secret.as_ref();
        secret.is_some_and(|(secret, _)| secret == name)
    };
    // Only names that begin with such a word: libraries send fields of their own (`x-datadog-tags`).
    let limits = |name: &HeaderName| {
        let name = name.as_str();
        let word = name.trim_start_matches("x-").split('-').next();
        ["ban", "tag", "tags", "regex", "pattern"].contains(&word.unwrap_or_default())
    };
    let is_read =
        |name: &HeaderName| surrogate::carries_tags(name) || TAG_LISTS.contains(&name.as_str());
    let has_tags = |text: &[u8]| text.starts_with(b"(^|,)") && text.ends_with(b"(,|$)");
    let unknown = head.fields.iter().find(|(name, value)| {
        let is_named_so = bans && !is_limited && limits(name);
        let is_unread = !is_read(name) && has_tags(value.as_bytes().trim_ascii());
        (is_named_so || is_unread) && !is_secret(name)
    });
    unknown.map_or(Ok(()), |(name, _)| Err(Malformed::Limit(name.to_string())))
}

/// Whether a possible list of tags is an expression: it says where a tag begins or ends, or names several. Single
/// special characters do not show it, since tags have them too.
pub fn is_expression(text: &str) -> bool {
    text.contains('|')
        || text.contains("\\b")
        || text.contains(".*")
        || text.starts_with('^')
        || text.ends_with('$')
}

/// Returns the ban of Drupal's purger if it sends an expression, or several tags in one field, which is one in Varnish.
fn drupals(head: Head<'_>) -> Option<Result<Wish, Malformed>> {
    let text = head.text("cache-tags").filter(|_| head.method == "BAN")?;
    match alternatives(&text) {
        Some(tags) if tags.is_empty() => Some(Err(Malformed::Nothing("the list of tags is empty"))),
        Some(tags) => Some(Ok(Wish::Tags(tags))),
        None => is_expression(&text).then(|| Ok(on_tags(&text))),
    }
}

/// Returns tags separated by bars, perhaps also by blanks or commas, without other special characters. A dot is
/// allowed: `config:a.b` is found by its name.
fn alternatives(text: &str) -> Option<Vec<String>> {
    let is_plain = !text.contains(['^', '$', '(', ')', '[', ']', '{', '}', '\\', '*', '?']);
    let is_between = |letter: char| matches!(letter, '|' | ',') || letter.is_ascii_whitespace();
    let tags = text.split(is_between).filter(|tag| !tag.is_empty());
    (is_plain && text.contains('|')).then(|| tags.map(str::to_owned).collect())
}

/// Whether a field with an expression has several lines: only one of them would be read.
fn repeats_expression(head: Head<'_>) -> bool {
    let always = [&TAG_EXPRESSIONS[..], &fos::EXPRESSIONS, &["x-pool"]].concat();
    // Elsewhere lists of tags, but expressions in a ban.
    let bans = head.method == "BAN" || fos::is_ban(head);
    let is_expression = |name| {
        let text = head.text(name);
        name == "x-cache-tags" || text.is_some_and(|text| is_expression(&text))
    };
    always.into_iter().any(|name| head.repeats(name))
        || ["x-cache-tags", "cache-tags"]
            .into_iter()
            .any(|name| bans && head.repeats(name) && is_expression(name))
}

/// Returns the purge of what came from pools of servers, which name themselves in `X-Pool`: those that the expression
/// in the request's `X-Pool` names.
fn pool(head: Head<'_>) -> Option<Wish> {
    let text = head.text(marks::X_POOL)?;
    Some(match expression::on_tags(&text) {
        OnTags::Everything => Wish::Everything,
        OnTags::Set(pools) => {
            let names = pools.iter().map(|pool| marks::of_pool(pool));
            Wish::Tags(names.collect())
        }
        OnTags::Expression(pool) => Wish::Matching(Box::new(Matching {
            pool: Some(pool),
            ..Matching::default()
        })),
    })
}

/// Returns the form of the client's answer.
fn dialect(head: Head<'_>) -> Dialect {
    if head.has("x-magento-tags-pattern") || head.has("x-pool") {
        Dialect::Magento
    } else if head.has("fastly-key") || head.has("fastly-soft-purge") {
        Dialect::Fastly
    } else if ["xkey", "xkey-purge", "xkey-softpurge"]
        .iter()
        .any(|name| head.has(name))
    {
        Dialect::Xkey
    } else {
        Dialect::Plain
    }
}

fn is_soft(head: Head<'_>) -> bool {
    let is_one = |name| head.text(name).is_some_and(|value| value == "1");
    is_one("fastly-soft-purge")
        || is_one("x-magento-purge-soft")
        || has_purge_method(head, "soft")
        || (head.text("xkey-softpurge").is_some() && !head.has("xkey-purge"))
}

/// Returns the purge of what carries tags that an expression matches.
pub fn on_tags(text: &str) -> Wish {
    match expression::on_tags(text) {
        OnTags::Everything => Wish::Everything,
        OnTags::Set(tags) => Wish::Tags(tags),
        OnTags::Expression(tags) => Wish::Matching(Box::new(Matching {
            tags: Some(tags),
            ..Matching::default()
        })),
    }
}

/// Returns the tags that a field lists, in any dialect.
pub fn tags(head: Head<'_>) -> Vec<String> {
    let mut found = surrogate::tags(head.fields);
    for line in TAG_LISTS.iter().flat_map(|name| head.fields.get_all(*name)) {
        let text = String::from_utf8_lossy(line.as_bytes());
        found.extend(text.split_ascii_whitespace().map(str::to_owned));
    }
    found
}

/// Returns what the target names: a place, and also an expression if it is written as one.
fn in_target(policy: &PurgePolicy, head: Head<'_>) -> Vec<Wish> {
    let place = [place(policy, head)].into_iter();
    place.chain(expression_in_target(policy, head)).collect()
}

fn place(policy: &PurgePolicy, head: Head<'_>) -> Wish {
    let host = head.authority().into_owned();
    let target = target(policy, head);
    let exact = has_purge_method(head, "exact");
    let ban = head.method == "BAN";
    if head
        .text("clear-cache")
        .is_some_and(|value| value == "true")
    {
        return Wish::Everything;
    }
    match target.as_str() {
        // `/purgeall` is nginx-helper's; the others are Drupal's and Shopware's, which name no host.
        "/purgeall" => return Wish::Everything,
        "/site" | "/" if ban && !exact => return Wish::Everything,
        _ => {}
    }
    if exact {
        return Wish::Url { host, target };
    }
    match named(host, target) {
        // A ban in Varnish is an expression: `/a` also matches `/a/b`.
        Wish::Url { host, target } if ban => Wish::Prefix { host, path: target },
        wish => wish,
    }
}

/// Returns path and query, without the prefix that means purging.
pub fn target(policy: &PurgePolicy, head: Head<'_>) -> String {
    prefixed(policy, head).unwrap_or_else(|| head.path_and_query().to_owned())
}

fn has_purge_method(head: Head<'_>, word: &str) -> bool {
    let method = head.text("x-purge-method");
    method.is_some_and(|method| method == word)
}

/// Returns the target as an expression if it is written as one: Varnish's usual configuration matches URLs with it.
fn expression_in_target(policy: &PurgePolicy, head: Head<'_>) -> Option<Wish> {
    let bans = head.method == "BAN" && !has_purge_method(head, "exact");
    let target = target(policy, head);
    let is_said = has_purge_method(head, "regex");
    ((bans || is_said) && has_signs(&target)).then(|| Wish::Expression {
        host: head.authority().into_owned(),
        target: expression::translated_target(&target),
        is_said,
    })
}

/// Whether a target has signs that expressions have and URLs rarely do, apart from an asterisk at its end. Parentheses
/// occur in URLs, and count only with a modifier; bars and brackets occur in queries of URLs, and count only in the
/// path.
fn has_signs(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    let beginning = target.strip_suffix(".*").unwrap_or(target);
    let anywhere = [".*", ".+", "\\", "^", ")+", ")?", "(?"];
    anywhere.iter().any(|sign| beginning.contains(sign))
        || path.contains(['|', '[', ']'])
        || target.ends_with('$')
}

/// Returns one URL, or a prefix if the target ends in an asterisk.
pub(super) fn named(host: String, target: String) -> Wish {
    let beginning = target
        .strip_suffix(".*")
        .or_else(|| target.strip_suffix('*'));
    match beginning {
        Some("/" | "") => Wish::Host(host),
        Some(path) => Wish::Prefix {
            host,
            path: path.to_owned(),
        },
        None => Wish::Url { host, target },
    }
}
