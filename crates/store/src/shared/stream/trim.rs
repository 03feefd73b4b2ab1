//! Limits the bytes of the server's memory that the stream takes: the server trims by entries, and these may be large.

use super::{Common, line::Line};
use crate::shared::remote::Error;
use redis::cmd;
use std::sync::atomic::Ordering::Relaxed;

/// The most bytes that the stream takes, as the server counts them, not counting what nodes append between two checks.
pub const MOST_BYTES: u64 = 64 << 20;

/// A node checks when it has appended this many bytes since its last check.
const LOOK_EVERY: u64 = 1 << 20;

/// Checks the size of the stream. To be called after entries were appended.
///
/// While the stream is too large, its older half is dropped. As with too many entries, a node that had not read them
/// forgets what it kept. If the server does not say how large the stream is (the right to ask may be missing), it trims
/// by entries alone.
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
    // `SAMPLES 0` counts all entries: a sample may miss the large ones.
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
