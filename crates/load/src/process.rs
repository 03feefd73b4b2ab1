//! CPU time and memory of processes on this machine, from their clocks and from `/proc`.

mod kernel;
mod machine;

pub(crate) use kernel::TICK;
pub(crate) use machine::{MachineTime, machine_cores, own_cpu};

use kernel::Stat;
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

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

/// What the processes have used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// CPU time.
    pub cpu: Duration,
    /// Whether some of it is known only in ticks of 10 ms.
    pub in_ticks: bool,
    /// Resident memory, in bytes: at one look, or the most of several. Shared memory counts for each process.
    pub memory: u64,
    /// The number of processes: at one look, or the largest of several.
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
        let processes = kernel::all();
        let found = found(watched, &processes);
        let seen = found.iter().filter_map(|id| {
            let stat = processes.get(id)?;
            Some((*id, kernel::clock(*id).unwrap_or_else(|| stat.cpu())))
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
    pub(crate) fn look(&mut self) -> Used {
        let processes = kernel::all();
        let found = found(&self.watched, &processes);
        let mut memory = 0;
        for id in &found {
            let Some(stat) = processes.get(id) else {
                continue;
            };
            let exact = kernel::clock(*id);
            self.in_ticks |= exact.is_none();
            let cpu = exact.unwrap_or_else(|| stat.cpu());
            let before = self.seen.insert(*id, cpu).unwrap_or_default();
            self.cpu += cpu.saturating_sub(before);
            memory += stat.pages * kernel::page();
        }
        self.seen.retain(|id, _| found.contains(id));
        Used {
            cpu: self.cpu,
            in_ticks: self.in_ticks,
            memory,
            processes: found.len(),
        }
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
            Who::Name(name) => {
                is_cut(name, &stat.name) || kernel::program(*id).as_ref() == Some(name)
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

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
}
