//! Reads the stream and applies it.

use super::{
    Common, Event, Missed,
    batch::Batch,
    clock::Clock,
    entry::{self, Entry, Part},
    line::Line,
    lock, nodes, writer,
};
use crate::{
    clock::now,
    purge::{Position, Purge, What},
    purger::Unreachable,
    shared::remote::{Error, Kind},
};
use redis::{Value, cmd};
use rules::time::Time;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    task::yield_now,
    time::{Instant, sleep, sleep_until},
};

/// The first and the longest wait after a failure.
const RETRIES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The longest time between two looks at a stream without news.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// A reading of the stream, over as many connections as it takes.
struct Reader {
    common: Arc<Common>,
    /// The last entry applied; `None` if it is unknown, so that reading starts at the beginning.
    position: Option<Position>,
    batch: Batch,
    /// Whether the last event about the stream said that it is followed.
    following: bool,
    /// How long to wait after the next failure.
    retry: Duration,
}

/// The result of one look at the stream.
enum Step {
    /// There may be more.
    More,
    /// It has been read to its end.
    End(Position),
}

/// Reads as long as the thread lives.
pub async fn read(common: Arc<Common>) {
    let mut reader = Reader {
        position: common.memory.log().position(),
        common,
        batch: Batch::default(),
        following: false,
        retry: RETRIES.0,
    };
    let mut told = None;
    loop {
        let Err(lost) = reader.follow().await;
        if reader.following || told.as_ref() != Some(&lost) {
            reader.common.event(&lost);
            told = Some(lost);
        }
        reader.following = false;
        // The connection that purges use has most likely died with it.
        reader.common.hang_up();
        sleep(reader.retry).await;
        reader.retry = (reader.retry * 2).min(RETRIES.1);
    }
}

/// Stops trusting what is kept once nothing has been heard for too long.
pub async fn watch(common: Arc<Common>) {
    loop {
        let until = *lock(&common.heard) + common.trust;
        if until > Instant::now() {
            sleep_until(until).await;
            continue;
        }
        if !common.memory.log().is_unsure() {
            common.memory.log().distrust();
            common.event(&Event::Distrusted);
        }
        sleep(common.trust).await;
    }
}

impl Reader {
    /// Follows the stream on a connection of its own until that fails. Returns the event for the failure.
    async fn follow(&mut self) -> Result<Infallible, Event> {
        let common = Arc::clone(&self.common);
        let mut line = Line::connect(&common.servers, common.patience())
            .await
            .map_err(lost)?;
        let mut clock = Clock::read(&common, &mut line).await.map_err(unreported)?;
        let mut reported = None;
        loop {
            let asked = (Instant::now(), now());
            let step = self.step(&mut line, clock).await.map_err(lost)?;
            if let Some(position) = self.position {
                // A node that waits for all others takes a silent one for one that trusts nothing it keeps. And what a
                // primary refuses shows that it is cut off from its replicas. So this error must not be ignored.
                nodes::report(&common, &mut line, position, &mut reported)
                    .await
                    .map_err(unreported)?;
                clock = reported.unwrap_or(clock);
            }
            match step {
                Step::More => yield_now().await,
                Step::End(position) => {
                    self.caught_up(asked);
                    self.news(&mut line, position).await.map_err(lost)?;
                }
            }
        }
    }

    /// Looks once: the last entry applied must still be there, and what follows it is applied.
    async fn step(&mut self, line: &mut Line, clock: Clock) -> Result<Step, Error> {
        let (most, limit, asked) = (self.batch.entries(), self.common.patience(), Instant::now());
        let entries = self.range(line, self.position, most + 1).await;
        self.batch.learn(&entries, asked.elapsed(), limit);
        let entries = entries?;
        let full = entries.len() > most;
        let first = entries.first().map(|entry| entry.position);
        let Some(position) = self.position else {
            return self.begin(entries, clock).await;
        };
        if first != Some(position) {
            self.missed(line, position).await?;
            return Ok(Step::More);
        }
        let new = entries.into_iter().skip(1);
        let last = self.apply(new, clock).unwrap_or(position);
        self.position = Some(last);
        Ok(if full { Step::More } else { Step::End(last) })
    }

    /// Begins with the first entries of the stream. Nothing is known about earlier ones.
    async fn begin(&mut self, entries: Vec<Entry>, clock: Clock) -> Result<Step, Error> {
        let Some(first) = entries.first() else {
            // There is always an entry, so that a loss of the stream is noticed.
            let anchor = [Purge::nothing()];
            writer::append(&self.common, writer::anonymous(&anchor))
                .await
                .map_err(unreachable)?;
            return Ok(Step::More);
        };
        self.common.count_again();
        let log = self.common.memory.log();
        log.forget();
        self.common.told.push_again(&self.common.memory, now());
        log.begin_at(first.position);
        self.position = self.apply(entries.into_iter(), clock);
        Ok(Step::More)
    }

    /// The last entry applied is gone, and so others may be.
    async fn missed(&mut self, line: &mut Line, position: Position) -> Result<(), Error> {
        self.common.memory.log().distrust();
        let first = self.range(line, None, 1).await?;
        let missed = match first.first() {
            None => Missed::Deleted,
            Some(first) if first.position > position => Missed::Trimmed,
            Some(_) => Missed::WentBack,
        };
        if missed == Missed::WentBack {
            let everything = [Purge::hard(What::Everything)];
            writer::append(&self.common, writer::anonymous(&everything))
                .await
                .map_err(unreachable)?;
        }
        self.position = None;
        self.following = false;
        self.common.event(&Event::Forgot(missed));
        Ok(())
    }

    /// Returns the entries from `from` on, including that one.
    async fn range(
        &self,
        line: &mut Line,
        from: Option<Position>,
        most: usize,
    ) -> Result<Vec<Entry>, Error> {
        let mut range = cmd("XRANGE");
        range.arg(&self.common.purges);
        match from {
            Some(from) => range.arg(from.to_string()),
            None => range.arg("-"),
        };
        range.arg("+").arg("COUNT").arg(most);
        let answer: Value = line.ask(&range, self.common.patience()).await?;
        entry::read(&answer).map_err(|error| Error::new(Kind::Protocol, error))
    }

    /// Applies `entries`, each as of the time when it entered the stream. Returns the position of the last.
    fn apply(&self, entries: impl Iterator<Item = Entry>, clock: Clock) -> Option<Position> {
        let common = &self.common;
        let mut last = None;
        let mut unreadable = None;
        for entry in entries {
            let Entry {
                position,
                by,
                purge,
            } = entry;
            last = Some(position);
            let purge = purge.unwrap_or_else(|| {
                let (_, count) = unreadable.get_or_insert((position, 0));
                *count += 1;
                Purge::hard(What::Everything)
            });
            let at = clock.on_this_node(position, now());
            match by.filter(|by| by.author == common.author).map(|by| by.part) {
                Some(Part::Copy(sequence)) => {
                    common.memory.apply_copy(purge, at, position, sequence);
                }
                Some(Part::Of(number)) => {
                    let purged = common.memory.apply(purge, at, Some(position));
                    common.applied(number, purged, position);
                }
                None => {
                    common.memory.apply(purge, at, Some(position));
                }
            }
        }
        if let Some((first, count)) = unreadable {
            common.event(&Event::Unreadable { first, count });
        }
        last
    }

    /// Notes that the stream was read to its end as of `asked`, by both clocks. The wall clock goes on while the
    /// machine is suspended, and the other clock is never set back.
    fn caught_up(&mut self, asked: (Instant, Time)) {
        *lock(&self.common.heard) = asked.0;
        self.retry = RETRIES.0;
        let log = self.common.memory.log();
        log.trust_until(asked.1.plus(self.common.trust));
        if log.is_unsure() {
            log.trust();
        }
        if !self.following {
            self.following = true;
            self.common.event(&Event::Following);
        }
    }

    /// Waits for an entry after `position`, at most for a heartbeat. The answer only signals it: the entry is read
    /// again together with the one that it must follow.
    async fn news(&self, line: &mut Line, position: Position) -> Result<(), Error> {
        let heartbeat = HEARTBEAT.min(self.common.trust / 4);
        let mut read = cmd("XREAD");
        // 0 would mean for ever.
        let block = heartbeat.as_millis().max(1) as u64;
        read.arg("COUNT").arg(1).arg("BLOCK").arg(block);
        read.arg("STREAMS").arg(&self.common.purges);
        read.arg(position.to_string());
        let _: Value = line.ask(&read, heartbeat + self.common.patience()).await?;
        Ok(())
    }
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "it is what results are mapped with"
)]
fn lost(error: Error) -> Event {
    Event::Lost(error.to_string())
}

/// A server that answers, and refuses only this, is not lost.
fn unreported(error: Error) -> Event {
    match error.kind {
        Kind::Full | Kind::Refused | Kind::Rejected | Kind::WrongType => {
            Event::Unreported(error.to_string())
        }
        _ => lost(error),
    }
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "it is what results are mapped with"
)]
fn unreachable(error: Unreachable) -> Error {
    Error::new(Kind::Unreachable, error)
}
