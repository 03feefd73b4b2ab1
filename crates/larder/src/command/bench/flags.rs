//! The flags of `larder bench`.

use crate::config::word;
use clap::Args;
use http::{HeaderName, Method};
use load::{
    Version,
    assertion::Assertion,
    process::Watched,
    site::{USER, list},
};
use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

/// The flags of `larder bench`.
#[allow(
    rustdoc::bare_urls,
    clippy::doc_markdown,
    reason = "the comments are the command's help"
)]
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub struct Bench {
    /// URLs to request, one after another; NAME= before a URL names it in the result
    #[arg(value_name = "[NAME=]URL")]
    pub(super) urls: Vec<String>,
    /// Compare the URLs, round by round, instead of requesting them one after another
    #[arg(long, requires = "urls")]
    pub(super) compare: bool,
    /// Number of rounds of a comparison [default: 3]
    #[arg(long, value_name = "N", requires = "compare", value_parser = count)]
    pub(super) rounds: Option<usize>,
    #[command(flatten)]
    pub(super) shape: Shape,
    #[command(flatten)]
    pub(super) list: List,
    #[command(flatten)]
    pub(super) request: Request,
    #[command(flatten)]
    pub(super) wire: Wire,
    #[command(flatten)]
    pub(super) result: Outcome,
}

/// How many connections or users send requests, and when.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Shape of the load")]
pub(super) struct Shape {
    /// Connections that send the next request as soon as one is answered; with --rate, the most at once [default: 50;
    /// with --rate: 1000]
    #[arg(short, long, value_name = "N", value_parser = count, conflicts_with = "users")]
    pub(super) connections: Option<usize>,
    /// Users, each on its own connection
    #[arg(short, long, value_name = "N", value_parser = count)]
    pub(super) users: Option<usize>,
    /// Longest pause of a user between two requests; its length is random
    #[arg(long, value_name = "DURATION", requires = "users", value_parser = word::<Duration>)]
    pub(super) pause: Option<Duration>,
    /// Time within which the users start one after another
    #[arg(long, value_name = "DURATION", requires = "users", value_parser = word::<Duration>)]
    pub(super) ramp: Option<Duration>,
    /// Requests a second, each due at its time whatever the answers do; FROM..TO rises evenly
    #[arg(short, long, value_name = "RATE", conflicts_with = "users", value_parser = rate)]
    pub(super) rate: Option<Rate>,
    /// Length of the run [default: 10s; with --ramp, as long as that; with --requests, 10m at most]
    #[arg(short, long, value_name = "DURATION", value_parser = word::<Duration>)]
    pub(super) duration: Option<Duration>,
    /// Number of requests
    #[arg(short = 'n', long, value_name = "N")]
    pub(super) requests: Option<u64>,
    /// Make the same load for this time before the run, and do not count it
    #[arg(long, value_name = "DURATION", value_parser = word::<Duration>)]
    pub(super) warm_up: Option<Duration>,
    /// Highest number of requests a second, whatever the shape [default: no limit for this machine, 1000 for other
    /// machines]
    #[arg(long, value_name = "RATE", value_parser = positive)]
    pub(super) max_rate: Option<f64>,
    /// Threads that make load [default: one for each core]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) workers: Option<usize>,
    /// Seed for random choices: the same seed gives the same requests and pauses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Allow more than an hour, 20,000 connections, 100,000 requests/s or 100 million requests
    #[arg(long)]
    pub(super) unbounded: bool,
    /// Allow this host, which is another machine; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(super) allow_remote: Vec<String>,
}

/// The sources of many URLs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Many URLs")]
#[allow(
    rustdoc::broken_intra_doc_links,
    reason = "what is in brackets may be left out"
)]
pub(super) struct List {
    /// Request what this file lists: [METHOD] URL|PATH [weight=N] [body=TEXT] on each line; - is standard input
    #[arg(short, long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Request the pages of this sitemap (file or URL) from the target
    #[arg(long, value_name = "FILE|URL", conflicts_with = "file")]
    pub(super) sitemap: Option<String>,
    /// Choose URLs at random by Zipf's law: the n-th is requested as often as 1/n to the power of EXPONENT
    #[arg(long, value_name = "EXPONENT", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = positive)]
    pub(super) zipf: Option<f64>,
}

/// The content of requests.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Requests")]
pub(super) struct Request {
    /// Method [default: GET; POST with a body]
    #[arg(short = 'X', long, value_parser = list::method)]
    pub(super) method: Option<Method>,
    /// A header field, e.g. 'Accept-Encoding: br'; {user} in it is the user's number; may be repeated
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = field)]
    pub(super) fields: Vec<(HeaderName, String)>,
    /// Content to send; @FILE reads it from a file
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(super) body: Option<String>,
    /// Let each user keep the cookies that it is given
    #[arg(long)]
    pub(super) cookies: bool,
}

/// How requests are sent.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Connections")]
pub(super) struct Wire {
    /// Use HTTP/2; without TLS, by prior knowledge
    #[arg(long)]
    pub(super) http2: bool,
    /// With HTTP/2: concurrent requests on each connection
    #[arg(long, value_name = "N", default_value = "1", requires = "http2", conflicts_with_all = ["users", "rate"])]
    pub(super) streams: NonZeroUsize,
    /// Open a new connection for each request
    #[arg(long)]
    pub(super) no_keep_alive: bool,
    /// Longest time to open a connection, and until an answer is complete
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = word::<Duration>)]
    pub(super) timeout: Duration,
    /// Trust the authorities in this PEM file, and no others
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(super) ca: Option<PathBuf>,
    /// Do not verify the server's certificate
    #[arg(long)]
    pub(super) insecure: bool,
}

impl Wire {
    pub(super) fn version(&self) -> Version {
        if self.http2 {
            Version::Two
        } else {
            Version::One
        }
    }
}

/// What is done with the result.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Result")]
pub(super) struct Outcome {
    /// Fail unless this holds, e.g. 'p99<50ms' or 'errors<0.1%'; may be repeated
    #[arg(long = "assert", value_name = "FIGURE<VALUE", value_parser = Assertion::parse)]
    pub(super) assertions: Vec<Assertion>,
    /// Report CPU and memory of these processes and their children; may be repeated, once for each target
    #[arg(long = "process", value_name = "NAME|PID,…", value_parser = Watched::parse)]
    pub(super) processes: Vec<Watched>,
    /// Also write the result to this file, in the format of its extension: .html, .json, .csv or .txt; may be repeated
    #[arg(short, long = "output", value_name = "FILE")]
    pub(super) outputs: Vec<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Print nothing during the run
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// A rate, or a range that the rate passes through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) from: f64,
    pub(super) to: f64,
}

fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "not a number from 1 on".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches("/s").parse().ok();
    let number = number.filter(|one: &f64| one.is_finite() && *one > 0.0);
    number.ok_or_else(|| "not a number above 0".to_owned())
}

fn rate(text: &str) -> Result<Rate, String> {
    let Some((from, to)) = text.split_once("..") else {
        let rate = positive(text)?;
        return Ok(Rate {
            from: rate,
            to: rate,
        });
    };
    let from = match from {
        "0" => 0.0,
        other => positive(other)?,
    };
    let to = positive(to)?;
    Ok(Rate { from, to })
}

fn field(text: &str) -> Result<(HeaderName, String), String> {
    let (name, value) = text.split_once(':').ok_or("a field is NAME: VALUE")?;
    // White space is not part of a name, and none is allowed before the colon (RFC 9112 section 5.1). The code that
    // masks secrets in a result looks for `name:`; every field that passes here is written in this way.
    let name = name
        .parse()
        .map_err(|_| format!("'{name}' is not the name of a field"))?;
    let ours = [
        http::header::CONTENT_LENGTH,
        http::header::TRANSFER_ENCODING,
        http::header::CONNECTION,
    ];
    if ours.contains(&name) {
        return Err(format!("{name} is written by the tool itself"));
    }
    let value = value.trim().to_owned();
    if name == http::header::HOST && value.contains(USER) {
        return Err(format!(
            "{USER} has no place in Host: it is one server that is asked"
        ));
    }
    http::HeaderValue::from_str(&value).map_err(|_| "a value that HTTP does not allow")?;
    Ok((name, value))
}
