//! Limits the number of connections to what the system's limit on open files allows.

use proxy::listen::Limits;
use rlimit::Resource;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number that was reported last.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// The fewest descriptors that the process itself needs.
const OWN: u64 = 64;

/// Of four descriptors, one is kept for what does not belong to clients: connections to origins, files, the admin API.
/// Otherwise, once connections have taken all descriptors, the program could report nothing and nobody could look.
fn for_clients(descriptors: u64) -> usize {
    let own = OWN.max(descriptors / 4);
    usize::try_from(descriptors.saturating_sub(own).max(1)).unwrap_or(usize::MAX)
}

/// Reduces the number of connections to what this process may open, and reports that.
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
        // A reload that does not change the number.
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
