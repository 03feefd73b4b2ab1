//! Reads logs from files, compressed or not, and from standard input, as blocks of whole lines.

use super::{
    format::{Parser, Read as ReadLine},
    line::Bad,
};
use flate2::read::MultiGzDecoder;
use rules::time::Time;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

/// The bytes read at a time.
const BLOCK: usize = 1 << 20;

/// The longest line of a log. A longer one is skipped.
pub const LONGEST_LINE: usize = 256 << 10;

/// The most blocks that wait to be taken.
const WAITING: usize = 4;

/// What `-` stands for.
const STDIN: &str = "-";

/// A log that is open.
#[derive(Debug)]
pub struct Source {
    /// Its name on the command line.
    pub name: String,
    file: Option<File>,
    path: PathBuf,
    /// Its size, if it is a file.
    pub size: Option<u64>,
}

/// A piece of the logs, in order.
#[derive(Debug)]
pub enum Block {
    /// The log of this number begins.
    Begin(usize),
    /// Lines; each has its line end, except perhaps the last one of a log.
    Lines(Vec<u8>),
    /// A line that was skipped.
    Bad(Bad),
    /// The rest of this log cannot be read; why.
    Broken(io::Error),
}

impl Source {
    /// Opens a log; `-` is standard input.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let name = path.display().to_string();
        if name == STDIN {
            let (file, size) = (None, None);
            return Ok(Self {
                name,
                file,
                size,
                path: path.to_owned(),
            });
        }
        let file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let size = about.is_file().then_some(about.len());
        Ok(Self {
            name,
            file: Some(file),
            size,
            path: path.to_owned(),
        })
    }

    /// Returns the time of its first line. Reads nothing from a source that can be read only once.
    fn begins(&self, mut parser: Parser) -> Option<Time> {
        self.size?;
        let file = File::open(&self.path).ok()?;
        let mut head = Vec::new();
        let plain = plain(BufReader::new(Box::new(file))).ok()?;
        plain
            .take(LONGEST_LINE as u64)
            .read_to_end(&mut head)
            .ok()?;
        let mut lines = head.split(|byte| *byte == b'\n');
        lines.find_map(|line| match parser.read(line) {
            ReadLine::Line(line) => line.time,
            ReadLine::Nothing | ReadLine::Bad(_) => None,
        })
    }
}

/// Sorts logs by the time of their first lines, since shells do not (`access.log`, `access.log.1`). Logs without a
/// time, such as empty ones, come first. If any is not a file, all stay where they are.
pub fn in_order(mut sources: Vec<Source>, parser: &Parser) -> Vec<Source> {
    if sources.iter().all(|source| source.size.is_some()) {
        sources.sort_by_cached_key(|source| source.begins(parser.clone()));
    }
    sources
}

/// Reads the logs on a separate thread, one after another. `read` counts bytes as they are in the files.
///
/// # Errors
/// No thread could be started.
pub fn blocks(sources: Vec<Source>, read: Arc<AtomicU64>) -> io::Result<Receiver<Block>> {
    let (sender, receiver) = sync_channel(WAITING);
    let run = move || {
        for (number, source) in sources.into_iter().enumerate() {
            // Nobody takes blocks any more: the program ends.
            if sender.send(Block::Begin(number)).is_err() || one(source, &read, &sender).is_err() {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("larder-read".to_owned())
        .spawn(run)?;
    Ok(receiver)
}

/// Nobody takes blocks any more.
struct Gone;

fn one(source: Source, read: &Arc<AtomicU64>, to: &SyncSender<Block>) -> Result<(), Gone> {
    let send = |block| to.send(block).map_err(|_| Gone);
    let raw: Box<dyn Read> = match source.file {
        Some(file) => Box::new(Counted(file, read.clone())),
        None => Box::new(Counted(io::stdin(), read.clone())),
    };
    let mut plain = match plain(BufReader::with_capacity(128 << 10, raw)) {
        Ok(plain) => plain,
        Err(error) => return send(Block::Broken(error)),
    };
    let mut lines = Lines::default();
    loop {
        match lines.fill(&mut *plain) {
            Ok(Filled::Block(block)) => send(Block::Lines(block))?,
            Ok(Filled::TooLong) => send(Block::Bad(Bad::TooLong))?,
            Ok(Filled::End) => return Ok(()),
            Err(error) => {
                let rest = std::mem::take(&mut lines.rest);
                if !rest.is_empty() {
                    send(Block::Lines(rest))?;
                }
                return send(Block::Broken(error));
            }
        }
    }
}

/// Decompresses if necessary. Compression is recognised by the first bytes, not by the name.
fn plain(mut raw: BufReader<Box<dyn Read>>) -> io::Result<Box<dyn Read>> {
    let is_gzip = raw.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(raw))
    } else {
        Box::new(raw)
    })
}

/// Cuts the input into blocks at line ends.
#[derive(Default)]
struct Lines {
    /// The input after the last line end.
    rest: Vec<u8>,
    /// Whether the input is inside a line that is skipped.
    skipping: bool,
    ended: bool,
}

enum Filled {
    Block(Vec<u8>),
    TooLong,
    End,
}

impl Lines {
    fn fill(&mut self, from: &mut dyn Read) -> io::Result<Filled> {
        // The part of the rest that is known to contain no line end.
        let mut looked = 0;
        loop {
            if self.skipping {
                self.skip();
            }
            let new = self.rest.get(looked..).unwrap_or_default();
            if let Some(end) = memchr::memrchr(b'\n', new) {
                let after = self.rest.split_off(looked + end + 1);
                return Ok(Filled::Block(std::mem::replace(&mut self.rest, after)));
            }
            if self.rest.len() > LONGEST_LINE {
                (self.skipping, self.rest) = (true, Vec::new());
                return Ok(Filled::TooLong);
            }
            if self.ended {
                break;
            }
            looked = self.rest.len();
            self.ended = from.take(BLOCK as u64).read_to_end(&mut self.rest)? == 0;
        }
        let rest = std::mem::take(&mut self.rest);
        Ok(if rest.is_empty() {
            Filled::End
        } else {
            Filled::Block(rest)
        })
    }

    /// Drops the input that belongs to the line that is skipped.
    fn skip(&mut self) {
        match memchr::memchr(b'\n', &self.rest) {
            Some(end) => {
                self.rest.drain(..=end);
                self.skipping = false;
            }
            None => self.rest.clear(),
        }
    }
}

/// Counts the bytes read, for the display of progress.
struct Counted<R>(R, Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(into)?;
        self.1.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}
