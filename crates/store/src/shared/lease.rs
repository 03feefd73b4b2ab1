//! The right to fetch for all nodes.

use super::{Inner, errands::Errand, guard::Failed};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::{runtime::Handle, time::Instant};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The right to fetch for all nodes. Given back when dropped; if its holder dies, the server lets it expire.
pub struct Lease {
    shared: Arc<Inner>,
    name: String,
    token: String,
    held: bool,
}

impl Lease {
    /// Takes the lease of this name; `None` if another node holds it. Waits no longer than `until`.
    pub(super) async fn take(
        shared: &Arc<Inner>,
        name: String,
        until: Instant,
    ) -> Result<Option<Self>, Failed> {
        // Made before it is taken, so that it is given back even if the answer does not come, or the caller drops this
        // future.
        let mut lease = Self {
            shared: Arc::clone(shared),
            name,
            token: format!("{:016x}", unique(&shared.config.node)),
            held: true,
        };
        let guard = &shared.guard;
        let expiry = shared.config.lease;
        lease.held = guard
            .add(&lease.name, lease.token.as_bytes(), expiry, until)
            .await?;
        Ok(lease.held.then_some(lease))
    }

    /// The largest body, in bytes, that the others can get. Nobody need wait for a larger one.
    pub fn largest_body(&self) -> u64 {
        self.shared.config.largest_body
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if !std::mem::take(&mut self.held) {
            return;
        }
        let errand = Errand::begin(&self.shared);
        let (name, token) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.token),
        );
        runtime.spawn(async move {
            // If that fails, the lease expires.
            let _ = errand.0.guard.delete_if(&name, token.as_bytes()).await;
        });
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.name).finish()
    }
}

/// Returns a number that no other call returns, on any node.
pub(super) fn unique(node: &str) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let what = [
        since.as_nanos() as u64,
        u64::from(std::process::id()),
        NEXT.fetch_add(1, Relaxed),
    ];
    let what = what.map(u64::to_le_bytes).concat();
    xxh3_64_with_seed(&what, xxh3_64_with_seed(node.as_bytes(), 0))
}
