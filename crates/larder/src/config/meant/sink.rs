//! Where faults and warnings are collected while the configuration is built.

use crate::config::{
    Fault, Faults,
    torn::Torn,
    value::{At, Count, Text, TimeLimit},
};
use std::{ops::Range, time::Duration};

/// The shortest time limit. A shorter one would end everything.
pub(super) const A_MOMENT: Duration = Duration::from_millis(1);

/// Collects faults and warnings.
pub(in crate::config) struct Sink<'a> {
    faults: &'a mut Vec<Fault>,
    warnings: Vec<Fault>,
    /// What could not be read, where a key that seems to be missing may be.
    torn: Torn,
}

impl<'a> Sink<'a> {
    /// Collects into `faults`, which already holds the faults of the reading.
    pub(in crate::config) const fn new(faults: &'a mut Vec<Fault>, torn: Torn) -> Self {
        Self {
            faults,
            warnings: Vec::new(),
            torn,
        }
    }

    /// Reports a fault.
    pub(super) fn push(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Reports that something is missing, unless one of `keys`, which would supply it, may be in the same table and
    /// could not be read.
    pub(super) fn missing(&mut self, keys: &[&str], fault: Fault) {
        self.missing_under(&[], keys, fault);
    }

    /// As [`missing`](Self::missing), where one of `keys` could also be in one of these `tables`.
    pub(super) fn missing_under(&mut self, tables: &[&str], keys: &[&str], fault: Fault) {
        let may_be_there = match &fault.span {
            Some(span) => self.may_say(span, keys),
            None => tables.is_empty() && self.torn.any(),
        };
        if !may_be_there && !self.may_say_under(tables, keys) {
            self.once(fault);
        }
    }

    /// Whether one of `keys` may be in one of these `tables` and could not be read.
    pub(super) fn may_say_under(&self, tables: &[&str], keys: &[&str]) -> bool {
        tables.iter().any(|table| self.torn.under(table, keys))
    }

    /// Whether one of `keys` may be in the table that contains `place` and could not be read.
    pub(super) fn may_say(&self, place: &Range<usize>, keys: &[&str]) -> bool {
        self.torn.at(place, keys)
    }

    /// Reports a fault that several parts of the configuration find, once.
    pub(super) fn once(&mut self, fault: Fault) {
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// Warns of what is allowed, but hardly meant; once, if several parts of the configuration find it.
    pub(super) fn warn(&mut self, warning: Fault) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Returns the warnings about this file with this text. They mean something only where there is no fault.
    pub(super) fn into_warnings(self, (file, text): (&str, &str)) -> Faults {
        Faults::warnings(file.to_owned(), text.to_owned(), self.warnings)
    }

    /// Whether there is any fault.
    pub(super) const fn any(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Returns a number that must be in the range of its type.
    pub(super) fn bounded<const LEAST: u32, const MOST: u32>(
        &mut self,
        key: &str,
        written: Option<&At<Count<LEAST, MOST>>>,
        default: u32,
    ) -> u32 {
        let Some(At { value, span }) = written else {
            return default;
        };
        let right = value.0.clamp(LEAST, MOST);
        if right != value.0 {
            let bound = if right > value.0 { "least" } else { "most" };
            self.push(
                Fault::at(span, format!("`{key}` is at {bound} {right}"))
                    .instead(format!("write `{key} = {right}`")),
            );
        }
        right
    }

    /// Returns a time that must be at least `least`.
    pub(super) fn lasts(
        &mut self,
        least: Duration,
        key: &str,
        written: Option<&Text<TimeLimit>>,
        usual: Duration,
    ) -> Duration {
        let Some(Text {
            value: TimeLimit(value),
            span,
        }) = written
        else {
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
