//! `larder warm`: fetches into a running cache.

use super::crawling;
use crate::{
    cli::Ending,
    config::{value::ServerUrl, word},
    crawl::{fetcher::Manner, stop::Stop},
    warm::{Jitter, Orders, Round, Source, Warmer, next_round, variants},
};
use clap::Args;
use http::{HeaderName, HeaderValue};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    runtime,
    task::LocalSet,
    time::{Instant, sleep_until},
};

/// The flags of `larder warm`.
#[derive(Args, Clone, Debug)]
#[allow(
    rustdoc::bare_urls,
    clippy::doc_markdown,
    reason = "the comments are the command's help"
)]
pub struct Warm {
    /// URLs to fetch
    #[arg(value_name = "URL", required_unless_present_any = ["sitemap", "file"])]
    urls: Vec<String>,
    /// A sitemap, or an index of sitemaps, whose pages to fetch; may be repeated
    #[arg(long, value_name = "URL")]
    sitemap: Vec<String>,
    /// A file with one URL a line; - is standard input
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Send all requests to this cache, whatever their hosts
    #[arg(long, value_name = "URL", value_parser = word::<ServerUrl>)]
    via: Option<ServerUrl>,
    /// A header field of some requests, such as 'Accept-Encoding: gzip'; every URL is fetched with every combination of
    /// the values that are given for a field
    #[arg(long = "variant", value_name = "FIELD", value_parser = crawling::field)]
    variants: Vec<(HeaderName, HeaderValue)>,
    /// A header field of every request; may be repeated
    #[arg(long = "header", short = 'H', value_name = "FIELD", value_parser = crawling::field)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Highest number of requests in progress
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Highest number of requests begun in a second; 0: no limit
    #[arg(long, value_name = "N", default_value_t = 100)]
    rate: u32,
    /// Repeat until stopped: a round at this interval (a tenth earlier or later)
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    every: Option<Duration>,
    /// Print only errors
    #[arg(long, short)]
    quiet: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    match word(text)? {
        every if every < Duration::from_secs(1) => Err("a round a second at most".to_owned()),
        every => Ok(every),
    }
}

/// Fetches, and reports the result on `out`. Errors and progress go to `err`.
///
/// # Errors
/// Those of the output.
pub fn run(warm: Warm, out: &mut impl Write, err: &mut impl Write) -> io::Result<Ending> {
    let Some(variants) = variants(&warm.variants) else {
        writeln!(err, "larder: these are more than 64 variants of each URL")?;
        return Ok(Ending::Refused);
    };
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut stop = Stop::catch()?;
        let (every, quiet) = (warm.every, warm.quiet);
        let mut lists = Lists::of(&warm);
        let warmer = Warmer::new(Orders {
            via: warm.via,
            variants,
            manner: Manner {
                agent: HeaderValue::from_static(concat!("larder-warm/", env!("CARGO_PKG_VERSION"))),
                fields: warm.headers,
                concurrency: warm.concurrency.into(),
                rate: warm.rate,
            },
            quiet,
        });
        let Some(source) = read(&mut lists, err)? else {
            return Ok(Ending::Refused);
        };
        let Some(every) = every else {
            let round = warmer.round(&source, &mut stop).await;
            tell(&round, quiet, out)?;
            let wrong = round.is_wrong || round.stopped;
            return Ok(if wrong { Ending::Refused } else { Ending::Done });
        };
        let mut source = Some(source);
        loop {
            let began = Instant::now();
            if let Some(source) = &source {
                let round = warmer.round(source, &mut stop).await;
                tell(&round, quiet, out)?;
                if round.stopped {
                    return Ok(Ending::Done);
                }
            }
            let next = next_round(every, began.elapsed(), Jitter::random());
            tokio::select! {
                () = sleep_until(began + next) => {}
                () = stop.told() => return Ok(Ending::Done),
            }
            // A list that cannot be read now may be there for the next round.
            source = read(&mut lists, err)?;
        }
    })
}

/// Reads the lists. If one cannot be read, `err` says so.
fn read(lists: &mut Lists, err: &mut impl Write) -> io::Result<Option<Source>> {
    match lists.read() {
        Ok(source) => Ok(Some(source)),
        Err(what) => {
            writeln!(err, "larder: {what}")?;
            Ok(None)
        }
    }
}

fn tell(round: &Round, quiet: bool, out: &mut impl Write) -> io::Result<()> {
    if quiet {
        return Ok(());
    }
    let how = if round.stopped { ", then stopped" } else { "" };
    let requests = match round.summary.requests() {
        1 => "1 request".to_owned(),
        several => format!("{several} requests"),
    };
    writeln!(out, "{requests}{how}")?;
    write!(out, "{}", round.summary)?;
    out.flush()
}

/// The sources of the URLs; files are read again for each round.
struct Lists {
    source: Source,
    files: Vec<PathBuf>,
    /// The URLs from standard input, which can be read only once.
    input: Option<Vec<String>>,
}

impl Lists {
    fn of(warm: &Warm) -> Self {
        Self {
            source: Source {
                urls: warm.urls.clone(),
                sitemaps: warm.sitemap.clone(),
            },
            files: warm.file.clone(),
            input: None,
        }
    }

    fn read(&mut self) -> Result<Source, String> {
        let mut source = self.source.clone();
        for file in &self.files {
            if file == Path::new("-") {
                if self.input.is_none() {
                    let lines = crawling::lines(io::stdin().lock().lines());
                    self.input = Some(lines.map_err(|error| format!("standard input: {error}"))?);
                }
                source.urls.extend(self.input.iter().flatten().cloned());
            } else {
                let open = File::open(file).map(BufReader::new);
                let lines = open.and_then(|file| crawling::lines(file.lines()));
                let lines = lines.map_err(|error| format!("{}: {error}", file.display()))?;
                source.urls.extend(lines);
            }
        }
        Ok(source)
    }
}
