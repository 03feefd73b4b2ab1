//! What `$(HTTP_USER_AGENT{…})` says about a client (ESI 1.0 section 4): kinds as coarse as in the note, for pages that
//! still ask.

use std::borrow::Cow;

/// Returns the entry `key` of a `User-Agent`; `None` if there is no such entry.
pub fn entry<'a>(agent: Cow<'a, str>, key: &str) -> Option<Cow<'a, str>> {
    match key {
        "browser" => Some(Cow::Borrowed(browser(&agent))),
        "os" => Some(Cow::Borrowed(system(&agent))),
        "version" => Some(match agent {
            Cow::Borrowed(agent) => Cow::Borrowed(version(agent)),
            Cow::Owned(agent) => Cow::Owned(version(&agent).to_owned()),
        }),
        _ => None,
    }
}

fn browser(agent: &str) -> &'static str {
    if agent.contains("MSIE ") || agent.contains("Trident/") {
        "MSIE"
    } else if agent.starts_with("Mozilla/") {
        "MOZILLA"
    } else {
        "OTHER"
    }
}

fn system(agent: &str) -> &'static str {
    const SYSTEMS: [(&str, &str); 9] = [
        ("Windows", "WIN"),
        ("Win9", "WIN"),
        ("WinNT", "WIN"),
        ("Mac", "MAC"),
        ("X11", "UNIX"),
        ("Linux", "UNIX"),
        ("Unix", "UNIX"),
        ("BSD", "UNIX"),
        ("SunOS", "UNIX"),
    ];
    let named = SYSTEMS.iter().find(|(name, _)| agent.contains(name));
    named.map_or("OTHER", |(_, system)| system)
}

/// Returns the version of Internet Explorer, otherwise that of the first product named.
fn version(agent: &str) -> &str {
    let of_explorer = if browser(agent) == "MSIE" {
        let mut marks = ["MSIE ", "rv:"].iter();
        marks.find_map(|mark| Some(agent.split_once(mark)?.1))
    } else {
        None
    };
    let first = || agent.split_once('/').map(|(_, rest)| rest);
    let rest = of_explorer.or_else(first).unwrap_or_default();
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}
