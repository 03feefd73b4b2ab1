//! `larder publish`: writes a site as files.

use super::{asking, crawling};
use crate::{
    cli::Ending,
    config::{value::ServerUrl, word},
    crawl::{fetcher::Manner, frontier::Bounds, stop::Stop},
    publish::{self, Ended, FolderError, Orders, Publisher, Start},
};
use clap::Args;
use http::{HeaderName, HeaderValue, header};
use proxy::policy::PathPattern;
use std::{
    io::{self, BufRead, Write},
    net::SocketAddr,
    path::PathBuf,
};
use tokio::{runtime, task::LocalSet};

/// The flags of `larder publish`.
#[derive(Args, Clone, Debug)]
#[allow(
    rustdoc::bare_urls,
    clippy::doc_markdown,
    clippy::struct_excessive_bools,
    reason = "the comments are the command's help, and each flag is one"
)]
pub struct Publish {
    /// Where to begin, as paths or URLs; - reads them from standard input, one a line [default: / without --sitemap]
    #[arg(value_name = "PAGE")]
    pages: Vec<String>,
    /// The application
    #[arg(long, value_name = "URL", value_parser = server)]
    from: (ServerUrl, String),
    /// The folder; it is created if it does not exist
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Name of the site, if it is not the application's address: it is the host of requests, and links to it belong to
    /// the site
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// A sitemap, or an index of sitemaps; may be repeated
    #[arg(long, value_name = "URL")]
    sitemap: Vec<String>,
    /// Publish only the named pages, and do not follow their links
    #[arg(long)]
    no_follow: bool,
    /// Leave out paths such as '/calendar/*'; may be repeated
    #[arg(long, value_name = "PATH", value_parser = word::<PathPattern>)]
    exclude: Vec<PathPattern>,
    /// Remove what an earlier run published and this one did not find
    #[arg(long)]
    prune: bool,
    /// Afterwards, publish again what is purged at the Larder with this admin address, until stopped [default without a
    /// value: 127.0.0.1:9180]
    #[arg(long, value_name = "ADMIN", num_args = 0..=1, default_missing_value = "127.0.0.1:9180", value_parser = asking::admin_address)]
    watch_purges: Option<SocketAddr>,
    /// Highest number of pages
    #[arg(long = "pages", value_name = "N", default_value_t = 10_000)]
    most: usize,
    /// Highest number of links between a starting point and a page
    #[arg(long, value_name = "N", default_value_t = 50)]
    depth: u32,
    /// Highest number of requests in progress
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Highest number of requests begun in a second; 0: no limit
    #[arg(long, value_name = "N", default_value_t = 100)]
    rate: u32,
    /// A header field of every request, such as 'X-Forwarded-Proto: https'; may be repeated
    #[arg(long = "header", short = 'H', value_name = "FIELD", value_parser = field)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Print only errors
    #[arg(long, short)]
    quiet: bool,
}

fn server(text: &str) -> Result<(ServerUrl, String), String> {
    Ok((word(text)?, text.trim_end_matches('/').to_owned()))
}

/// Parses a field that may be sent for every page.
fn field(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let field = crawling::field(text)?;
    if field.0 == header::COOKIE {
        return Err(
            "what is published is for everybody, and a cookie asks for one visitor's pages"
                .to_owned(),
        );
    }
    Ok(field)
}

/// Publishes, and reports the result on `out`. Errors and progress go to `err`.
///
/// # Errors
/// Those of the output and of standard input.
pub fn run(publish: Publish, out: &mut impl Write, err: &mut impl Write) -> io::Result<Ending> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (admin, quiet) = (publish.watch_purges, publish.quiet);
    let start = start(&publish)?;
    let orders = orders(publish);
    let ended = LocalSet::new().block_on(&runtime, async {
        let mut stop = Stop::catch()?;
        let publisher = match Publisher::open(orders, &start) {
            Ok(publisher) => publisher,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let told = |error: FolderError| {
            format!("{error}; what was published stays, and the same command goes on from here")
        };
        Ok::<_, io::Error>(
            match admin {
                Some(admin) => publish::watch(&publisher, admin, &start, &mut stop)
                    .await
                    .map(|()| None),
                None => publisher.run(&start, &mut stop).await.map(Some),
            }
            .map_err(told),
        )
    })?;
    match ended {
        Err(what) => {
            writeln!(err, "larder: {what}")?;
            Ok(Ending::Refused)
        }
        Ok(None) => Ok(Ending::Done),
        Ok(Some(ended)) => tell(&ended, quiet, out, err),
    }
}

fn tell(
    ended: &Ended,
    quiet: bool,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Ending> {
    let Ended {
        tally,
        stopped,
        incomplete,
        ..
    } = ended;
    if *stopped {
        writeln!(err, "larder: stopped; the same command goes on from here")?;
    }
    if !quiet {
        writeln!(out, "{tally}")?;
    }
    let nothing = tally.new + tally.changed + tally.same + tally.redirects + tally.resumed == 0;
    Ok(if *incomplete || nothing {
        Ending::Refused
    } else {
        Ending::Done
    })
}

fn start(publish: &Publish) -> io::Result<Start> {
    let mut pages = Vec::new();
    for page in &publish.pages {
        if page == "-" {
            pages.extend(crawling::lines(io::stdin().lock().lines())?);
        } else {
            pages.push(page.clone());
        }
    }
    if publish.pages.is_empty() && publish.sitemap.is_empty() {
        pages.push("/".to_owned());
    }
    Ok(Start {
        pages,
        sitemaps: publish.sitemap.clone(),
        ..Start::default()
    })
}

fn orders(publish: Publish) -> Orders {
    let (from, from_text) = publish.from;
    Orders {
        from,
        from_text,
        host: publish.host,
        to: publish.to,
        exclude: publish.exclude,
        follow: !publish.no_follow,
        prune: publish.prune,
        bounds: Bounds {
            pages: publish.most,
            depth: publish.depth,
        },
        manner: Manner {
            agent: HeaderValue::from_static(concat!("larder-publish/", env!("CARGO_PKG_VERSION"))),
            fields: publish.headers,
            concurrency: publish.concurrency.into(),
            rate: publish.rate,
        },
        quiet: publish.quiet,
    }
}
