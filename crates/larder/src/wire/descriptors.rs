//! How many connections the system's limit on open files leaves room for.

use proxy::listen::Limits;
use rlimit::Resource;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What was said last.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// What the process itself needs, at the least.
const OWN: u64 = 64;

/// Of four descriptors one is kept for what is no client's: connections to origins, files, the admin API. Without it nobody could be
/// told, nor look, once connections have taken all.
fn for_clients(descriptors: u64) -> usize {
    let own = OWN.max(descriptors / 4);
    usize::try_from(descriptors.saturating_sub(own).max(1)).unwrap_or(usize::MAX)
}

/// Keeps the number of connections within what this process may open, and says so.
pub(super) fn within(mut limits: Limits) -> Limits {
    let Ok(descriptors) = Resource::NOFILE.get_soft() else {
        return limits;
    };
    let (wanted, most) = (limits.connections, for_clients(descriptors));
    if wanted <= most {
        return limits;
    }
    limits.connections = most;
    if LAST.swap(most, Relaxed) == most {
        // A reload that changes nothing of it.
        return limits;
    }
    let what = format!(
        "{most} connections at most, not the {wanted} of `limits.connections`: the system lets this process open {descriptors} files \
         (`ulimit -n`, systemd's `LimitNOFILE`)"
    );
    if wanted == Limits::default().connections {
        tracing::info!("{what}");
    } else {
        tracing::warn!("{what}");
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_kept() {
        for (descriptors, connections) in
            [(0, 1), (65, 1), (200, 136), (1024, 768), (20_000, 15_000)]
        {
            assert_eq!(for_clients(descriptors), connections);
        }
    }
}
