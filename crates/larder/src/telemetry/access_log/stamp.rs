//! Times in the formats of the access log, formatted once a second.

use std::{
    fmt::Write,
    time::{Duration, SystemTime},
};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The last second of the year 9999, the last one that both formats can express.
const LAST_SECOND: u64 = 253_402_300_799;

/// One second in both formats. Records come almost in order, so the last second is worth keeping.
#[derive(Debug, Default)]
pub(super) struct Stamp {
    second: Option<u64>,
    /// `2025-11-21T02:36:00`, without fraction and zone.
    iso: String,
    /// `21/Nov/2025:02:36:00 +0000`.
    common: String,
}

impl Stamp {
    /// Returns the time in the common log format.
    pub(super) fn common(&mut self, at_ms: u64) -> &str {
        self.set(at_ms);
        &self.common
    }

    /// Returns the time as RFC 3339, with milliseconds.
    pub(super) fn rfc3339(&mut self, at_ms: u64) -> String {
        self.set(at_ms);
        format!("{}.{:03}Z", self.iso, at_ms % 1000)
    }

    fn set(&mut self, at_ms: u64) {
        let second = (at_ms / 1000).min(LAST_SECOND);
        if self.second == Some(second) {
            return;
        }
        self.second = Some(second);
        self.iso.clear();
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        // Writing to a string fails only for a year without four digits.
        let _ = write!(self.iso, "{}", humantime::format_rfc3339_seconds(moment));
        self.iso.truncate("2025-11-21T02:36:00".len());
        self.common = common(&self.iso).unwrap_or_else(|| "-".to_owned());
    }
}

/// Converts the time `iso` to the common log format.
fn common(iso: &str) -> Option<String> {
    let (date, time) = iso.split_once('T')?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(format!("{day}/{month}/{year}:{time} +0000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        let mut stamp = Stamp::default();
        for (at, common, iso) in [
            (0, "01/Jan/1970:00:00:00 +0000", "1970-01-01T00:00:00.000Z"),
            (
                951_868_799_999,
                "29/Feb/2000:23:59:59 +0000",
                "2000-02-29T23:59:59.999Z",
            ),
            (
                951_868_799_001,
                "29/Feb/2000:23:59:59 +0000",
                "2000-02-29T23:59:59.001Z",
            ),
            (
                1_763_692_560_120,
                "21/Nov/2025:02:36:00 +0000",
                "2025-11-21T02:36:00.120Z",
            ),
            (
                u64::MAX,
                "31/Dec/9999:23:59:59 +0000",
                "9999-12-31T23:59:59.615Z",
            ),
        ] {
            assert_eq!(stamp.common(at), common);
            assert_eq!(stamp.rfc3339(at), iso);
        }
    }
}
