//! `larder purge`: purges stored responses of a running Larder.

use crate::{
    admin::purge::{Answer, Request, Wait},
    cli::Ending,
    client,
    command::asking,
    config::word,
};
use clap::Args;
use std::{
    io::{self, Write},
    net::SocketAddr,
    time::Duration,
};

/// The flags of `larder purge`.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub struct Purge {
    #[command(flatten)]
    what: What,
    /// Of the host, only what is in this cache group (Cache-Groups, RFC 9875); may be repeated
    #[arg(long, value_name = "NAME", requires = "host", conflicts_with_all = ["url", "prefix", "tag", "regex", "all"])]
    group: Vec<String>,
    /// Make responses stale from now on instead of gone: stale-while-revalidate and stale-if-error still work
    #[arg(long)]
    soft: bool,
    /// Return when all nodes have applied the purge, or fail after this time [default without a value: 12s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "12s", value_parser = word::<Duration>)]
    wait: Option<Duration>,
    /// The admin address of the running Larder
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9180", value_parser = asking::admin_address)]
    admin: SocketAddr,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// What to purge: one of these.
#[allow(
    rustdoc::bare_urls,
    clippy::doc_markdown,
    reason = "the comments are the command's help"
)]
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// One URL with all its variants
    #[arg(value_parser = one_url)]
    url: Option<String>,
    /// Everything whose URL begins with this: http://host/path, or /path for every host
    #[arg(long, value_name = "URL|PATH", value_parser = prefix)]
    prefix: Option<String>,
    /// Everything with this tag; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Everything of one host
    #[arg(long, value_parser = host)]
    host: Option<String>,
    /// Everything whose URL contains a match of this regular expression
    #[arg(long, value_parser = regex)]
    regex: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
}

/// Parses a URL; one without a scheme is taken for `http`, as in `larder explain`.
fn one_url(text: &str) -> Result<String, String> {
    match beginning(text) {
        Some("") => return Err("one URL is not everything: write --all".to_owned()),
        Some(beginning) => {
            return Err(format!(
                "one URL does not end in `*`: write --prefix {beginning}"
            ));
        }
        None => {}
    }
    if text.starts_with('/') {
        return Err(format!(
            "no host is named: write http://HOST{text}, or --prefix {text}"
        ));
    }
    Ok(whole(text))
}

/// Parses the beginning of URLs, or of their paths on every host.
fn prefix(text: &str) -> Result<String, String> {
    if matches!(text, "" | "*" | ".*") {
        return Err("a beginning is not empty: write --all for everything".to_owned());
    }
    if let Some(beginning) = beginning(text) {
        return Err(format!("a beginning ends without `*`: write {beginning}"));
    }
    if text.starts_with('/') {
        return Ok(text.to_owned());
    }
    if !text.contains('/') {
        return Err(format!(
            "write --host {text} for a host, or /{text} for a path on every host"
        ));
    }
    Ok(whole(text))
}

fn host(text: &str) -> Result<String, String> {
    if text.contains('*') {
        return Err("one host has no `*`: write --all for every host".to_owned());
    }
    Ok(text.to_owned())
}

/// Refuses an empty expression, and one that matches no URL because it is meant for a path, as Varnish's `req.url` is.
fn regex(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("an empty expression matches everything: write --all".to_owned());
    }
    match text.strip_prefix("^/") {
        Some(path) if !path.contains('|') => Err(format!(
            "an expression is compared with the whole URL: write '^https?://[^/]*/{path}', or --prefix with the beginning of a path"
        )),
        _ => Ok(text.to_owned()),
    }
}

/// The text before the `*` at the end, with which `PURGE` writes the beginning of URLs.
fn beginning(text: &str) -> Option<&str> {
    let before = text.strip_suffix('*')?;
    Some(before.strip_suffix('.').unwrap_or(before))
}

fn whole(text: &str) -> String {
    if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    }
}

/// Asks the admin API, and reports on `out` what was purged. If nothing was, or not everywhere, `err` says why.
///
/// # Errors
/// Those of the output.
pub fn run(purge: Purge, out: &mut impl Write, err: &mut impl Write) -> io::Result<Ending> {
    let (admin, json) = (purge.admin, purge.json);
    let patience = client::ANSWER + purge.wait.unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let answer = match runtime.block_on(ask(admin, &request(purge), patience)) {
        Ok(answer) => answer,
        Err(asking::Failed { ending, what }) => {
            writeln!(err, "larder: {what}")?;
            return Ok(ending);
        }
    };
    if json {
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    } else {
        tell(&answer, out)?;
    }
    let behind = answer.behind.unwrap_or_default();
    if behind.is_empty() {
        return Ok(Ending::Done);
    }
    let list = behind.join(", ");
    writeln!(err, "larder: not yet applied by {list}")?;
    Ok(Ending::Refused)
}

fn request(purge: Purge) -> Request {
    let What {
        url,
        prefix,
        tag,
        host,
        regex,
        all,
    } = purge.what;
    Request {
        url,
        prefix,
        tags: (!tag.is_empty()).then_some(tag),
        groups: (!purge.group.is_empty()).then_some(purge.group),
        host,
        regex,
        everything: all,
        soft: purge.soft,
        wait: purge.wait.map(Wait::For),
        ..Request::default()
    }
}

async fn ask(
    admin: SocketAddr,
    request: &Request,
    patience: Duration,
) -> Result<Answer, asking::Failed> {
    let body = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    let mut client = asking::connect(admin).await?;
    let sent = client.post("/purge", body.into(), patience).await;
    let response = sent.map_err(|error| match error {
        client::Error::Time => {
            format!("{admin} has not said in time that it has purged: it may have, or not")
        }
        client::Error::Ended => format!(
            "{admin} has closed the connection without saying that it has purged: it may have, or not; purge again once it runs"
        ),
        error => asking::nobody(admin, &error),
    })?;
    asking::read(admin, &response)
}

fn tell(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    let purged = &answer.purged;
    for (what, list) in [
        ("URL", &purged.urls),
        ("everything under", &purged.prefixes),
        ("tag", &purged.tags),
        ("group", &purged.groups),
        ("host", &purged.hosts),
        ("everything that matches", &purged.patterns),
    ] {
        for one in list {
            writeln!(out, "{what} {one}")?;
        }
    }
    if purged.everything {
        writeln!(out, "everything")?;
    }
    let how = if answer.soft {
        "softly purged"
    } else {
        "purged"
    };
    let responses = match answer.touched {
        1 => "1 stored response".to_owned(),
        several => format!("{several} stored responses"),
    };
    let on_disk = answer.on_disk.map(|count| format!(" and {count} on disk"));
    let on_disk = on_disk.unwrap_or_default();
    let sequence = answer.sequence;
    writeln!(
        out,
        "{how}: {responses} in memory{on_disk} here, sequence {sequence}"
    )?;
    if answer.behind.as_ref().is_some_and(Vec::is_empty) {
        writeln!(out, "applied by all nodes")?;
    }
    Ok(())
}
