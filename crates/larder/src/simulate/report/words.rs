//! Figures in the form in which people read them.

use super::File;
use bytesize::ByteSize;

/// `1,234,567`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 line`, `1,234 lines`: a number, and what it is of.
pub(super) fn counted(number: u64, one: &str, several: &str) -> String {
    let what = if number == 1 { one } else { several };
    format!("{} {what}", count(number))
}

/// `access.log (combined)`: a log, and its format if it has any.
pub(super) fn named(file: &File) -> String {
    let File { name, format } = file;
    if format.is_empty() {
        name.clone()
    } else {
        format!("{name} ({format})")
    }
}

/// `83.2 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `64 MiB`.
pub(super) fn size(bytes: u64) -> String {
    let text = ByteSize::b(bytes).display().iec().to_string();
    text.replacen(".0 ", " ", 1)
}

/// A size of memory, or that it has no limit.
pub(super) fn memory(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "unlimited".to_owned(), size)
}

/// `1.2 s`, `340 ms`, `2h 5m`: as exact as is useful.
pub(super) fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 100.0 {
        format!("{seconds:.1} s")
    } else {
        let whole = std::time::Duration::from_secs(seconds as u64);
        humantime::format_duration(whole).to_string()
    }
}

/// `1,234`, `12.3`, `0.004`: the smaller the number, the more decimals.
pub(super) fn rate(number: f64) -> String {
    if number >= 100.0 {
        count(number.round() as u64)
    } else if number >= 1.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.3}")
    }
}

/// Cuts text to at most `width` characters, at the end.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Replaces what cannot be printed as it is, so that nothing in a log controls the terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}
