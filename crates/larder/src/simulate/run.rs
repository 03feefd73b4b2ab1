//! One pass over the logs that feeds all simulations.

use super::{
    event::Batch,
    log::{
        Bad, Parser,
        format::Read,
        source::{self, Block, Source},
    },
    plan::{Eviction, Plan},
    reader::{Assumptions, Reader},
    report::{self, BadLine, Report, Seen},
    tally::{Setting, Simulation},
};
use std::{
    io,
    sync::{
        Arc,
        atomic::AtomicU64,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

/// The most batches that wait for a thread.
const WAITING: usize = 8;

/// The number of bad lines that are shown; the others are counted.
const SHOWN: usize = 5;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The system has no thread to give.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A simulation ended early: a fault in Larder.
    #[error("a simulation ended before the logs did")]
    Simulation,
}

/// Simulates `plan` over the logs. `read` counts the bytes read, for the display of progress.
///
/// # Errors
/// Why there is no result. Faults in the logs are in the report.
pub fn simulate(
    plan: &Plan,
    parser: &Parser,
    sources: Vec<Source>,
    assumptions: &Assumptions,
    read: Arc<AtomicU64>,
) -> Result<Report, Failed> {
    let names: Vec<_> = sources.iter().map(|source| source.name.clone()).collect();
    let crew = Crew::start(plan)?;
    let mut reader = Reader::new(plan, assumptions.clone());
    let mut seen = Seen::default();
    let blocks = source::blocks(sources, read).map_err(Failed::Thread)?;
    let mut pass = Pass {
        parser,
        current: parser.clone(),
        names: &names,
        seen: &mut seen,
        file: 0,
        line: 0,
    };
    for block in blocks {
        pass.take(block, &mut reader, &crew)?;
    }
    if let Some(batch) = reader.rest() {
        crew.send(batch)?;
    }
    let simulations = crew.finish()?;
    Ok(report::build(plan, assumptions, seen, &reader, simulations))
}

/// One pass over the logs.
struct Pass<'a> {
    /// The state at the beginning of each log.
    parser: &'a Parser,
    current: Parser,
    names: &'a [String],
    seen: &'a mut Seen,
    file: usize,
    line: u64,
}

impl Pass<'_> {
    fn take(&mut self, block: Block, reader: &mut Reader, crew: &Crew) -> Result<(), Failed> {
        match block {
            Block::Begin(file) => {
                (self.file, self.line) = (file, 0);
                self.current = self.parser.clone();
                self.seen.files.push(report::File {
                    name: self.name(),
                    ..report::File::default()
                });
            }
            Block::Bad(why) => {
                self.line += 1;
                self.bad(why, b"");
            }
            Block::Broken(error) => {
                let broken = format!("{}: {error} after line {}", self.name(), self.line);
                self.seen.broken.push(broken);
            }
            Block::Lines(block) => self.lines(&block, reader, crew)?,
        }
        Ok(())
    }

    fn lines(&mut self, block: &[u8], reader: &mut Reader, crew: &Crew) -> Result<(), Failed> {
        let mut rest = block;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            self.line += 1;
            if line.len() > source::LONGEST_LINE {
                self.bad(Bad::TooLong, b"");
                continue;
            }
            match self.current.read(line) {
                Read::Line(parsed) => {
                    self.seen.lines += 1;
                    reader.take(parsed);
                }
                Read::Nothing => {}
                Read::Bad(why) => self.bad(why, line),
            }
            if let Some(batch) = reader.full_batch() {
                crew.send(batch)?;
            }
        }
        if let Some(file) = self.seen.files.last_mut() {
            file.format = self.current.format().name();
        }
        Ok(())
    }

    fn bad(&mut self, why: Bad, line: &[u8]) {
        self.seen.bad += 1;
        if self.seen.shown.len() < SHOWN {
            let shown = BadLine::new(self.name(), self.line, why, line);
            self.seen.shown.push(shown);
        }
    }

    fn name(&self) -> String {
        self.names.get(self.file).cloned().unwrap_or_default()
    }
}

/// The threads on which simulations run.
struct Crew {
    senders: Vec<SyncSender<Arc<Batch>>>,
    threads: Vec<JoinHandle<Vec<Simulation>>>,
}

impl Crew {
    fn start(plan: &Plan) -> Result<Self, Failed> {
        // The thread that reads lines needs a core for itself.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let count = cores.saturating_sub(1).clamp(1, 16);
        let mut hands: Vec<Vec<Simulation>> = (0..count).map(|_| Vec::new()).collect();
        for (number, setting) in settings(plan).into_iter().enumerate() {
            let simulation = Simulation::new(setting, setting == base(plan));
            if let Some(hand) = hands.get_mut(number % count) {
                hand.push(simulation);
            }
        }
        let lifetimes = plan.lifetimes.len();
        let mut crew = Self {
            senders: Vec::new(),
            threads: Vec::new(),
        };
        for hand in hands {
            let (sender, receiver) = sync_channel(WAITING);
            let thread = thread::Builder::new()
                .name("larder-simulate".to_owned())
                .spawn(move || work(hand, &receiver, lifetimes))
                .map_err(Failed::Thread)?;
            crew.senders.push(sender);
            crew.threads.push(thread);
        }
        Ok(crew)
    }

    fn send(&self, batch: Batch) -> Result<(), Failed> {
        let batch = Arc::new(batch);
        for sender in &self.senders {
            sender.send(batch.clone()).map_err(|_| Failed::Simulation)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<Simulation>, Failed> {
        drop(self.senders);
        let mut all = Vec::new();
        for thread in self.threads {
            all.extend(thread.join().map_err(|_| Failed::Simulation)?);
        }
        Ok(all)
    }
}

fn work(
    mut hand: Vec<Simulation>,
    batches: &Receiver<Arc<Batch>>,
    lifetimes: usize,
) -> Vec<Simulation> {
    for batch in batches {
        for simulation in &mut hand {
            simulation.take(&batch, lifetimes);
        }
    }
    hand
}

/// The simulation that others are compared with.
pub(super) fn base(plan: &Plan) -> Setting {
    Setting {
        memory: Some(plan.size),
        lifetime: plan.lifetime,
        eviction: plan.evictions.first().copied().unwrap_or(Eviction::Larder),
    }
}

/// All simulations: each size with each rule, each lifetime at one size, and one that never evicts.
fn settings(plan: &Plan) -> Vec<Setting> {
    let base = base(plan);
    let mut all = vec![
        base,
        Setting {
            memory: None,
            ..base
        },
    ];
    for eviction in &plan.evictions {
        all.extend(plan.sizes.iter().map(|size| Setting {
            memory: Some(*size),
            eviction: *eviction,
            ..base
        }));
    }
    all.extend((0..plan.lifetimes.len()).map(|lifetime| Setting { lifetime, ..base }));
    let mut kept: Vec<Setting> = Vec::with_capacity(all.len());
    for setting in all {
        if !kept.contains(&setting) {
            kept.push(setting);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
