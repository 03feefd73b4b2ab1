//! Where logs come from: files, compressed or not, and standard input; as blocks of whole lines.

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

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

/// No line of a log is longer; what is, is passed over.
pub const LONGEST_LINE: usize = 256 << 10;

/// Blocks that wait to be taken at most.
const WAITING: usize = 4;

/// What `-` stands for.
const STDIN: &str = "-";

/// A log that is open.
#[derive(Debug)]
pub struct Source {
    /// As it was named.
    pub name: String,
    file: Option<File>,
    path: PathBuf,
    /// Its size, where it is a file.
    pub size: Option<u64>,
}

/// What comes from the logs, in order.
#[derive(Debug)]
pub enum Block {
    /// The log of this number begins.
    Begin(usize),
    /// Lines, each but the last of a log with its end.
    Lines(Vec<u8>),
    /// A line that was passed over.
    Bad(Bad),
    /// The rest of this log cannot be read; why.
    Broken(io::Error),
}

impl Source {
    /// Opens a log; `-` is standard input.
    ///
    /// # Errors
    /// The system's.
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

    /// When its first line says it was. Of what can be read only once, nothing is read.
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

/// Puts logs in the order of time, as shells do not (`access.log`, `access.log.1`): by their first lines. Those that tell no time,
/// as an empty one, come first. Where any is no file all stay where they are.
pub fn in_order(mut sources: Vec<Source>, parser: &Parser) -> Vec<Source> {
    if sources.iter().all(|source| source.size.is_some()) {
        sources.sort_by_cached_key(|source| source.begins(parser.clone()));
    }
    sources
}

/// Reads the logs on a thread of its own, one after the other. `read` counts bytes as they lie in the files.
///
/// # Errors
/// No thread could be started.
pub fn blocks(sources: Vec<Source>, read: Arc<AtomicU64>) -> io::Result<Receiver<Block>> {
    let (sender, receiver) = sync_channel(WAITING);
    let run = move || {
        for (number, source) in sources.into_iter().enumerate() {
            // Nobody listens any more: the program ends.
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

/// What is compressed is known by its first bytes, not by its name.
fn plain(mut raw: BufReader<Box<dyn Read>>) -> io::Result<Box<dyn Read>> {
    let is_gzip = raw.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(raw))
    } else {
        Box::new(raw)
    })
}

/// Cuts what is read into blocks at the ends of lines.
#[derive(Default)]
struct Lines {
    /// What was read behind the last end of a line.
    rest: Vec<u8>,
    /// Within a line that is passed over.
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
        // So much of the rest is known to end no line.
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

    /// Leaves out what belongs to the line that is passed over.
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

/// Counts what is read, for those who wait.
struct Counted<R>(R, Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(into)?;
        self.1.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}
