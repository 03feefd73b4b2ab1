//! CPU time and memory of processes on this machine, from their clocks and from `/proc`.

use nix::{time::ClockId, unistd::Pid};
use std::{
    collections::{HashMap, HashSet},
    fs,
    time::Duration,
};

/// Ticks a second in `/proc/PID/stat`: `USER_HZ`, which Linux fixes at 100 for programs.
const TICKS: u64 = 100;

/// The resolution of CPU time if it is counted in ticks.
pub(crate) const TICK: Duration = Duration::from_millis(1000 / TICKS);

/// The processes to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// As it was asked for.
    pub asked: String,
    who: Vec<Who>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    /// This process and its descendants.
    Id(u32),
    /// All processes with this name, and their descendants.
    Name(String),
}

/// What the processes have used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Use {
    pub cpu: Duration,
    /// Whether some of it is known only in [`TICK`]s.
    pub in_ticks: bool,
    /// Resident memory now, in bytes. Shared memory counts for each process.
    pub memory: u64,
    pub processes: usize,
}

/// Follows processes during a run.
#[derive(Debug)]
pub(crate) struct Watch {
    watched: Watched,
    /// CPU time of each process when it was last seen.
    seen: HashMap<u32, Duration>,
    cpu: Duration,
    in_ticks: bool,
}

/// A line of `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stat {
    name: String,
    parent: u32,
    ticks: u64,
    pages: u64,
}

impl Watched {
    /// Reads names and process numbers, separated by commas.
    ///
    /// # Errors
    /// There is none in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let who: Vec<_> = text
            .split(',')
            .map(str::trim)
            .filter(|one| !one.is_empty())
            .map(|one| one.parse().map_or_else(|_| Who::Name(one.into()), Who::Id))
            .collect();
        if who.is_empty() {
            return Err("the name or number of a process is missing".to_owned());
        }
        let asked = text.to_owned();
        Ok(Self { asked, who })
    }
}

impl Watch {
    /// Begins to watch. What was used before does not count.
    pub(crate) fn begin(watched: &Watched) -> Self {
        let processes = all();
        let found = found(watched, &processes);
        let seen = found.iter().filter_map(|id| {
            let stat = processes.get(id)?;
            Some((*id, clock(*id).unwrap_or_else(|| stat.cpu())))
        });
        Self {
            watched: watched.clone(),
            seen: seen.collect(),
            cpu: Duration::ZERO,
            in_ticks: false,
        }
    }

    /// Returns what was used since the beginning. A process that came later counts from its start. What a process that
    /// has gone used after the last look is unknown.
    pub(crate) fn look(&mut self) -> Use {
        let processes = all();
        let found = found(&self.watched, &processes);
        let mut memory = 0;
        for id in &found {
            let Some(stat) = processes.get(id) else {
                continue;
            };
            let exact = clock(*id);
            self.in_ticks |= exact.is_none();
            let cpu = exact.unwrap_or_else(|| stat.cpu());
            let before = self.seen.insert(*id, cpu).unwrap_or_default();
            self.cpu += cpu.saturating_sub(before);
            memory += stat.pages * page();
        }
        self.seen.retain(|id, _| found.contains(id));
        Use {
            cpu: self.cpu,
            in_ticks: self.in_ticks,
            memory,
            processes: found.len(),
        }
    }
}

/// Returns the CPU time of a process, from the clock that the kernel keeps for it. `None`: the clock cannot be read.
///
/// All its threads count, including those that have ended. A server that answers from memory uses only a few ticks in a
/// round: counted in ticks, its CPU time would be off by a tenth.
fn clock(id: u32) -> Option<Duration> {
    let id = Pid::from_raw(i32::try_from(id).ok()?);
    let time = ClockId::pid_cpu_clock_id(id).ok()?.now().ok()?;
    Some(time.into())
}

impl Stat {
    fn cpu(&self) -> Duration {
        Duration::from_millis(self.ticks * 1000 / TICKS)
    }
}

/// Returns the watched processes with all their descendants. This process is never among them.
fn found(watched: &Watched, processes: &HashMap<u32, Stat>) -> HashSet<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (id, stat) in processes {
        children.entry(stat.parent).or_default().push(*id);
    }
    let ours = std::process::id();
    let meant = |id: &u32, stat: &Stat| {
        watched.who.iter().any(|who| match who {
            Who::Id(wanted) => wanted == id,
            Who::Name(name) => is_cut(name, &stat.name) || program(*id).as_ref() == Some(name),
        })
    };
    let first = processes.iter().filter(|(id, stat)| meant(id, stat));
    let mut open: Vec<u32> = first.map(|(id, _)| *id).collect();
    let mut found = HashSet::new();
    while let Some(id) = open.pop() {
        if id != ours && found.insert(id) {
            open.extend(children.get(&id).into_iter().flatten());
        }
    }
    found
}

/// Whether `kept` is `name`, of which the kernel keeps the first 15 bytes.
fn is_cut(name: &str, kept: &str) -> bool {
    name == kept || (kept.len() == 15 && name.starts_with(kept))
}

/// Returns the last part of the path of a process's program.
fn program(id: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{id}/exe")).ok()?;
    Some(path.file_name()?.to_str()?.to_owned())
}

fn all() -> HashMap<u32, Stat> {
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

fn page() -> u64 {
    rustix::param::page_size() as u64
}

/// Returns the CPU time of this process.
pub(crate) fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Returns how many cores the machine has, even those that this process may not use. [`machine_cpu`] is their time.
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

/// Returns the CPU time of all cores since the machine started: busy, and in total.
pub(crate) fn machine_cpu() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    // User time already includes guests' time (proc_stat(5)).
    let all: u64 = fields.iter().take(8).sum();
    let idle = fields.get(3)? + fields.get(4)?;
    Some((all.saturating_sub(idle), all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

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

    #[test]
    fn descendants_belong_to_it() {
        let one = |parent| Stat {
            name: format!("p{parent}"),
            parent,
            ticks: 0,
            pages: 0,
        };
        let processes = HashMap::from([
            (1_000_001, one(1)),
            (1_000_002, one(1_000_001)),
            (1_000_003, one(2)),
        ]);
        let by_id = found(&Watched::parse("1000001").unwrap(), &processes);
        assert_eq!(by_id, HashSet::from([1_000_001, 1_000_002]));
        let by_name = found(&Watched::parse("p2, p9").unwrap(), &processes);
        assert_eq!(by_name, HashSet::from([1_000_003]));
        assert!(Watched::parse(" ,").is_err());
    }

    #[test]
    fn a_process_is_seen_by_its_number() {
        let mut other = std::process::Command::new("cat");
        let (stdin, stdout) = (std::process::Stdio::piped(), std::process::Stdio::piped());
        let mut other = other.stdin(stdin).stdout(stdout).spawn().unwrap();
        // Its output shows that it runs.
        let mut back = [0; 5];
        other.stdin.as_mut().unwrap().write_all(b"alive").unwrap();
        other
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut back)
            .unwrap();
        let watched = Watched::parse(&other.id().to_string()).unwrap();
        let mut watch = Watch::begin(&watched);
        other.stdin.as_mut().unwrap().write_all(b"again").unwrap();
        other
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut back)
            .unwrap();
        let used = watch.look();
        assert!(used.memory > 0 && used.processes == 1);
        // A few bytes cost it far less than a tick.
        assert!(used.cpu > Duration::ZERO, "{used:?}");
        drop(other.stdin.take());
        other.wait().unwrap();
        assert_eq!(Watch::begin(&watched).look().processes, 0);
    }

    #[test]
    fn cores_of_the_machine() {
        let stat = "cpu  9 0 9 9 0 0 0 0 0 0\ncpu0 1 0 1 1\ncpu1 1 0 1 1\ncpu10 1 0 1 1\nintr 5\ncpufreq 3\n";
        assert_eq!(cores(stat), 3);
        assert!(machine_cores() >= std::thread::available_parallelism().unwrap().get());
    }
}
