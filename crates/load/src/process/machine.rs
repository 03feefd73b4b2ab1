//! CPU time and cores of the machine, and what the tool itself uses of them.

use std::{fs, time::Duration};

/// Returns the CPU time of this process.
pub(crate) fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Returns how many cores the machine has, even those that this process may not use. [`MachineTime`] is theirs.
pub(crate) fn machine_cores() -> usize {
    let counted = fs::read_to_string("/proc/stat").map(|text| cores(&text));
    let usable = || std::thread::available_parallelism().map_or(1, usize::from);
    counted
        .ok()
        .filter(|cores| *cores > 0)
        .unwrap_or_else(usable)
}

/// Counts the lines `cpu0` and so on of `/proc/stat` (`proc_stat(5)`).
fn cores(stat: &str) -> usize {
    let numbers = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
    numbers
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        .count()
}

/// The time of all cores since the machine started, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineTime {
    busy: u64,
    all: u64,
}

impl MachineTime {
    /// Reads it. `None`: the kernel does not tell it.
    pub(crate) fn now() -> Option<Self> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> = line
            .split_ascii_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        // User time already includes guests' time (proc_stat(5)).
        let all: u64 = fields.iter().take(8).sum();
        let idle = fields.get(3)? + fields.get(4)?;
        let busy = all.saturating_sub(idle);
        Some(Self { busy, all })
    }

    /// Returns the share of the time since `before` in which cores were busy. `None`: no time has passed.
    pub(crate) fn busy_since(self, before: Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        #[allow(clippy::cast_precision_loss, reason = "ticks of a run are few")]
        Some(self.busy.saturating_sub(before.busy) as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_the_machine() {
        let stat = "cpu  9 0 9 9 0 0 0 0 0 0\ncpu0 1 0 1 1\ncpu1 1 0 1 1\ncpu10 1 0 1 1\nintr 5\ncpufreq 3\n";
        assert_eq!(cores(stat), 3);
        assert!(machine_cores() >= std::thread::available_parallelism().unwrap().get());
    }
}
