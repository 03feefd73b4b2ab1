//! What other languages write for `true` and `false`.

const SWITCHES: [(&str, bool); 8] = [
    ("true", true),
    ("yes", true),
    ("on", true),
    ("1", true),
    ("false", false),
    ("no", false),
    ("off", false),
    ("0", false),
];

/// Returns what `word` means if it turns something on or off.
pub(in crate::config) fn switch(word: &str) -> Option<bool> {
    let is_word = |(known, _): &&(&str, bool)| known.eq_ignore_ascii_case(word);
    SWITCHES.iter().find(is_word).map(|(_, on)| *on)
}
