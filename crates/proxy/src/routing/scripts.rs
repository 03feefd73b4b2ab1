//! Refusals of scripts: PHP runs `/a.php` for `/a.php/x` too, and an application behind `/index.php` takes
//! `/index.php/x` for `/x`.
//!
//! These readings of a path count only towards a refusal. Were they others' routes too, a site whose pages all have
//! `/index.php` before them would have lost the store for each.

use super::{
    Subject,
    readings::{judge, lead_to, refuses},
};
use crate::policy::Routes;
use memchr::memchr_iter;
use rules::key;
use std::borrow::Cow;

/// How scripts are named, and the one that answers for others' paths.
const ENDING: &[u8] = b".php";
const FRONT: &str = "index.php";

/// How many readings of one spelling are looked at. A path may be long, and have many spellings; more than one name that
/// ends so would take a folder that is called like a script.
const MOST: usize = 3;

/// Returns the route that refuses a script which the subject's path may run, if it comes before the route `taken` and
/// names paths at all.
pub(super) fn refusing(routes: &Routes, subject: &Subject<'_>, taken: usize) -> Option<usize> {
    if taken == 0
        || !may_name_script_in_units(subject.path)
        || !(0..taken).any(|index| refuses(routes, index))
    {
        return None;
    }
    let mut spelled = key::readings(subject.path);
    spelled.push(subject.path.to_owned());
    let mut paths: Vec<String> = spelled.iter().flat_map(|path| in_path(path)).collect();
    paths.sort_unstable();
    paths.dedup();
    let led_to = lead_to(routes, subject, &paths, judge(subject));
    let names_paths = |index: usize| {
        let route = routes.get(index);
        route.is_some_and(|route| !route.matcher.paths.is_empty())
    };
    led_to
        .into_iter()
        .map(|reading| reading.route)
        .find(|index| *index < taken && refuses(routes, *index) && names_paths(*index))
}

/// As [`may_name_script`], where origins may decode `%u0061`.
fn may_name_script_in_units(path: &str) -> bool {
    may_name_script(path)
        || matches!(key::spell_units(path), Cow::Owned(spelled) if may_name_script(&spelled))
}

/// Whether something follows what looks like a script's name. Most paths have nothing of the kind.
fn may_name_script(path: &str) -> bool {
    let bytes = path.as_bytes();
    memchr_iter(b'.', bytes).any(|dot| {
        let behind = bytes.get(dot..).unwrap_or_default();
        behind.len() > ENDING.len() && behind.get(..ENDING.len()).is_some_and(is_ending)
    })
}

fn is_ending(bytes: &[u8]) -> bool {
    bytes.eq_ignore_ascii_case(ENDING)
}

/// Returns what `path` may be taken for: the first scripts that it continues from, and what an application behind a front
/// sees. PHP runs the first that there is.
fn in_path(path: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (end, _) in path.match_indices('/').skip(1) {
        if all.len() >= MOST {
            break;
        }
        let Some((name, rest)) = path.split_at_checked(end) else {
            continue;
        };
        let bytes = name.as_bytes();
        if !bytes
            .get(bytes.len().saturating_sub(ENDING.len())..)
            .is_some_and(is_ending)
        {
            continue;
        }
        all.push(name.to_owned());
        let folder = name.rsplit_once('/');
        if let Some((folder, script)) = folder
            && script.eq_ignore_ascii_case(FRONT)
        {
            all.push(format!("{folder}{rest}"));
        }
    }
    all
}

#[cfg(test)]
mod tests;
