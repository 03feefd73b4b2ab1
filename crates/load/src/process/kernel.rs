//! What the kernel tells about each process, in `/proc` and by its clock.

use nix::{time::ClockId, unistd::Pid};
use std::{collections::HashMap, fs, time::Duration};

/// Ticks a second in `/proc/PID/stat`: `USER_HZ`, which Linux fixes at 100 for programs.
const TICKS: u64 = 100;

/// The resolution of CPU time if it is counted in ticks.
pub(crate) const TICK: Duration = Duration::from_millis(1000 / TICKS);

/// A line of `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub name: String,
    pub parent: u32,
    pub ticks: u64,
    pub pages: u64,
}

impl Stat {
    /// Its CPU time, in whole ticks.
    pub(super) fn cpu(&self) -> Duration {
        Duration::from_millis(self.ticks * 1000 / TICKS)
    }
}

/// Returns all processes by their numbers.
pub(super) fn all() -> HashMap<u32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return HashMap::new();
    };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter_map(|id: u32| {
        let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some((id, stat(&line)?))
    })
    .collect()
}

/// Reads a line of `/proc/PID/stat` (proc(5)). The name may itself contain spaces and brackets.
fn stat(line: &str) -> Option<Stat> {
    let (before, after) = line.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    // The first field after the name is the third of the line.
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        name: name.to_owned(),
        parent: u32::try_from(number(4)?).ok()?,
        ticks: number(14)? + number(15)?,
        pages: number(24)?,
    })
}

/// Returns the CPU time of a process, from the clock that the kernel keeps for it. `None`: the clock cannot be read.
///
/// All its threads count, including those that have ended. A server that answers from memory uses only a few ticks in a
/// round: counted in ticks, its CPU time would be off by a tenth.
pub(super) fn clock(id: u32) -> Option<Duration> {
    let id = Pid::from_raw(i32::try_from(id).ok()?);
    let time = ClockId::pid_cpu_clock_id(id).ok()?.now().ok()?;
    Some(time.into())
}

/// Returns the last part of the path of a process's program.
pub(super) fn program(id: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{id}/exe")).ok()?;
    Some(path.file_name()?.to_str()?.to_owned())
}

pub(super) fn page() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_is_read() {
        let line =
            "42 (a) b (c)) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 9 9 20 0 1 0 100 5000 77 1844";
        let read = stat(line).unwrap();
        let wanted = Stat {
            name: "a) b (c)".to_owned(),
            parent: 7,
            ticks: 200,
            pages: 77,
        };
        assert_eq!(read, wanted);
        assert_eq!(stat("42 (a"), None);
    }
}
