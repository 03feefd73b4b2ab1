//! `larder explain`: asks a running Larder why a URL is or is not answered from the store, and explains it in plain
//! words.

mod last;
mod remedy;
mod words;

#[cfg(test)]
mod tests;

use crate::{admin::Answer, cli::Ending, command::asking};
use std::{
    fmt::Write as _,
    io::{self, Write},
    net::SocketAddr,
};

/// Asks the admin API at `admin` about a GET for `url` with the fields `headers` (`Name: value`), and explains on
/// `out`. If there is no answer, `err` says why.
///
/// # Errors
/// Those of the output.
pub fn run(
    url: &str,
    admin: SocketAddr,
    headers: &[String],
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Ending> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match runtime.block_on(ask(admin, &target(url, headers))) {
        Ok(answer) => {
            words::write(&answer, out)?;
            Ok(Ending::Done)
        }
        Err(asking::Failed { ending, what }) => {
            writeln!(err, "larder: {what}")?;
            Ok(ending)
        }
    }
}

async fn ask(admin: SocketAddr, target: &str) -> Result<Answer, asking::Failed> {
    let mut client = asking::connect(admin).await?;
    let response = client.get(target).await;
    asking::read(
        admin,
        &response.map_err(|error| asking::nobody(admin, &error))?,
    )
}

/// Returns the target of the question at the admin API. A fragment concerns only the browser (RFC 9110 section 7.1),
/// and a URL without a scheme is taken for `http`.
fn target(url: &str, headers: &[String]) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let scheme = if url.contains("://") { "" } else { "http://" };
    let mut target = format!("/explain?url={scheme}");
    percent_encode(url, &mut target);
    for header in headers {
        target.push_str("&header=");
        percent_encode(header, &mut target);
    }
    target
}

/// Encodes everything but unreserved characters (RFC 3986 section 2.3).
fn percent_encode(text: &str, into: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(into, "%{byte:02X}");
        }
    }
}
