//! Keeps the stream within bytes of the server's memory: of itself the server trims by entries, and these may be large.

use super::{Common, line::Line};
use crate::shared::remote::Error;
use redis::cmd;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes that the stream takes at most, as the server counts them, but for what nodes append between two looks.
pub const MOST_BYTES: u64 = 64 << 20;

/// A node looks when it has appended so many bytes since it last did.
const LOOK_EVERY: u64 = 1 << 20;

/// To be called after entries were appended. Where the stream has become too large its older half goes, again and again: as with
/// too many entries, who had not read them forgets what it kept. A server that does not say how large it is (the right to ask may
/// be missing) trims by entries alone.
pub async fn appended(common: &Common) {
    if common.appended.load(Relaxed) < LOOK_EVERY {
        return;
    }
    common.appended.store(0, Relaxed);
    if let Ok(mut line) = common.line().await {
        let _ = within(common, &mut line, MOST_BYTES).await;
    }
}

async fn within(common: &Common, line: &mut Line, most: u64) -> Result<(), Error> {
    let (name, patience) = (&common.purges, common.patience());
    let mut size = cmd("MEMORY");
    // All of it is looked at: a sample may miss what is large.
    size.arg("USAGE").arg(name).arg("SAMPLES").arg(0);
    let mut length = cmd("XLEN");
    length.arg(name);
    while line.ask::<Option<u64>>(&size, patience).await?.unwrap_or(0) > most {
        let entries: u64 = line.ask(&length, patience).await?;
        if entries < 2 {
            break;
        }
        let mut trim = cmd("XTRIM");
        trim.arg(name).arg("MAXLEN").arg(entries / 2);
        line.ask::<u64>(&trim, patience).await?;
    }
    Ok(())
}
