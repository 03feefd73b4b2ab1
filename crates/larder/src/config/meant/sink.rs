//! Where faults go while the configuration is built.

use crate::config::{
    Fault,
    value::{At, Count, Text},
};
use std::time::Duration;

/// Nothing can be done in less: a time limit below this would end everything.
pub(super) const A_MOMENT: Duration = Duration::from_millis(1);

/// Collects faults.
pub(super) struct Sink<'a> {
    faults: &'a mut Vec<Fault>,
    /// Whether everything that was written could be read. If not, what seems missing may be there.
    complete: bool,
}

impl<'a> Sink<'a> {
    /// Collects into `faults`, which holds those of the reading.
    pub(super) const fn new(faults: &'a mut Vec<Fault>) -> Self {
        let complete = faults.is_empty();
        Self { faults, complete }
    }

    /// Something is wrong.
    pub(super) fn push(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Something is not there. Said only where it cannot be that it is there and was not read.
    pub(super) fn missing(&mut self, fault: Fault) {
        if self.complete {
            self.once(fault);
        }
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
        let Some(At { value, span }) = written else {
            return default;
        };
        if value.0 < least {
            self.push(
                Fault::at(span, format!("`{key}` is at least {least}"))
                    .instead(format!("write `{key} = {least}`")),
            );
        }
        value.0.max(least)
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
