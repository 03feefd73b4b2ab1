//! Characters written like `%u0061`, as JavaScript's `escape` writes them. No URI has them (RFC 3986 section 2.1), but
//! some origins decode them in a path: Jetty 9, later ones that are told to (`UriCompliance.UNSAFE`), and IIS. In a
//! query, Jetty 9 and ASP.NET do.

use super::{is_unreserved, put};
use std::borrow::Cow;

/// How many bytes stand for a unit of UTF-16.
const LENGTH: usize = 6;

/// The unit of UTF-16 that a percent sign at `index` and what follows it stand for.
pub(super) fn unit(path: &[u8], index: usize) -> Option<u16> {
    let [b'%', b'u' | b'U', ..] = path.get(index..index.checked_add(LENGTH)?)? else {
        return None;
    };
    let digit = |offset: usize| char::from(*path.get(index + offset)?).to_digit(16);
    let unit = (2..LENGTH).try_fold(0, |unit, offset| Some(unit * 16 + digit(offset)?))?;
    u16::try_from(unit).ok()
}

/// Spells characters that are written like `%u0061` as a [normalised](super::normalize) path or query has them. Returns it
/// borrowed if there are none.
pub fn spell_units(path: &str) -> Cow<'_, str> {
    let bytes = path.as_bytes();
    if !memchr::memchr_iter(b'%', bytes).any(|at| unit(bytes, at).is_some()) {
        return Cow::Borrowed(path);
    }
    let mut spelled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        spelled.push_str(before);
        let at = |count: usize| unit(rest.as_bytes(), before.len() + count * LENGTH);
        let units: Vec<u16> = (0..).map_while(at).collect();
        if units.is_empty() {
            spelled.push('%');
            rest = after;
            continue;
        }
        for letter in char::decode_utf16(units.iter().copied()) {
            spell(letter.unwrap_or(char::REPLACEMENT_CHARACTER), &mut spelled);
        }
        rest = after.get(units.len() * LENGTH - 1..).unwrap_or_default();
    }
    spelled.push_str(rest);
    Cow::Owned(spelled)
}

fn spell(letter: char, spelled: &mut String) {
    for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
        put(byte, !is_unreserved(byte), spelled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_as_units_of_utf_16() {
        for (written, spelled) in [
            ("/%u0061dmin", "/admin"),
            ("/%U0061dmi%u006E", "/admin"),
            ("/%u002e%u002E/a", "/../a"),
            ("/a%u002fb", "/a%2Fb"),
            ("/a%u0040%u0025%u0000", "/a%40%25%00"),
            ("/%u00e9%u20ac", "/%C3%A9%E2%82%AC"),
            ("/%ud83d%ude00", "/%F0%9F%98%80"),
            ("/%ud83dx%ude00", "/%EF%BF%BDx%EF%BF%BD"),
            ("/%%u0061%é%u0062", "/%a%éb"),
        ] {
            assert_eq!(spell_units(written), spelled, "{written}");
        }
        for path in [
            "/",
            "/%",
            "/%u",
            "/%u006",
            "/%u00g1",
            "/%v0061",
            "/u0061",
            "/%2Fu0061",
        ] {
            assert!(matches!(spell_units(path), Cow::Borrowed(_)), "{path}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_so_is_spelled_as_in_a_path(text in "[^/%]{0,8}", upper: bool) {
            let units = text.encode_utf16().map(|unit| if upper {
                format!("%U{unit:04X}")
            } else {
                format!("%u{unit:04x}")
            });
            let written = format!("/{}", units.collect::<String>());
            let encoded = spell_units(&written);
            let decoded: Vec<u8> = super::super::decoded(encoded.as_bytes()).collect();
            prop_assert_eq!(decoded, format!("/{text}").into_bytes());
        }

        #[test]
        fn any_path(path in "(\\PC|%u00[0-9a-z]{2}){0,9}") {
            prop_assert!(!matches!(spell_units(&path), Cow::Owned(spelled) if spelled == path));
        }
    }
}
