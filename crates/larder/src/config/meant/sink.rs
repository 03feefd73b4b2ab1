//! Where faults go while the configuration is built.

use crate::config::{
    Fault,
    torn::Torn,
    value::{At, Count, Text},
};
use std::{
    ops::{Range, RangeInclusive},
    time::Duration,
};

/// Nothing can be done in less: a time limit below this would end everything.
pub(super) const A_MOMENT: Duration = Duration::from_millis(1);

/// Collects faults.
pub(in crate::config) struct Sink<'a> {
    faults: &'a mut Vec<Fault>,
    /// What could not be read, and may say what seems missing.
    torn: Torn,
}

impl<'a> Sink<'a> {
    /// Collects into `faults`, which holds those of the reading.
    pub(in crate::config) const fn new(faults: &'a mut Vec<Fault>, torn: Torn) -> Self {
        Self { faults, torn }
    }

    /// Something is wrong.
    pub(super) fn push(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Something is not there. Said only where it cannot be that one of `keys`, which would say it, stands in the same table and was
    /// not read.
    pub(super) fn missing(&mut self, keys: &[&str], fault: Fault) {
        self.missing_under(&[], keys, fault);
    }

    /// As [`missing`](Self::missing), of what could stand under one of these `tables` too.
    pub(super) fn missing_under(&mut self, tables: &[&str], keys: &[&str], fault: Fault) {
        let may_be_there = match &fault.span {
            Some(span) => self.may_say(span, keys),
            None => tables.is_empty() && self.torn.any(),
        };
        if !may_be_there && !self.may_say_under(tables, keys) {
            self.once(fault);
        }
    }

    /// Whether one of `keys` may stand under one of these `tables`, and was not read.
    pub(super) fn may_say_under(&self, tables: &[&str], keys: &[&str]) -> bool {
        tables.iter().any(|table| self.torn.under(table, keys))
    }

    /// Whether one of `keys` may stand in the table that `place` is in, and was not read.
    pub(super) fn may_say(&self, place: &Range<usize>, keys: &[&str]) -> bool {
        self.torn.at(place, keys)
    }

    /// Something is wrong that several parts of the configuration run into.
    pub(super) fn once(&mut self, fault: Fault) {
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// Whether there was any fault.
    pub(super) const fn any(&self) -> bool {
        !self.faults.is_empty()
    }

    /// A number that must not be below `least`.
    pub(super) fn at_least(
        &mut self,
        least: u32,
        key: &str,
        written: Option<&At<Count>>,
        default: u32,
    ) -> u32 {
        self.within(&(least..=u32::MAX), key, written, default)
    }

    /// A number that must be one of these.
    pub(super) fn within(
        &mut self,
        these: &RangeInclusive<u32>,
        key: &str,
        written: Option<&At<Count>>,
        default: u32,
    ) -> u32 {
        let Some(At { value, span }) = written else {
            return default;
        };
        let right = value.0.clamp(*these.start(), *these.end());
        if right != value.0 {
            let bound = if right > value.0 { "least" } else { "most" };
            self.push(
                Fault::at(span, format!("`{key}` is at {bound} {right}"))
                    .instead(format!("write `{key} = {right}`")),
            );
        }
        right
    }

    /// A time that must not be below `least`.
    pub(super) fn lasts(
        &mut self,
        least: Duration,
        key: &str,
        written: Option<&Text<Duration>>,
        usual: Duration,
    ) -> Duration {
        let Some(Text { value, span }) = written else {
            return usual;
        };
        if *value < least {
            let [least, usual] = [least, usual].map(|time| {
                let shown = humantime::format_duration(time).to_string();
                shown.replace(' ', "")
            });
            self.push(
                Fault::at(span, format!("`{key}` is at least {least}"))
                    .instead(format!("write `{key} = \"{usual}\"`")),
            );
        }
        *value
    }
}
