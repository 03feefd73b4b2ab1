//! The right to fetch for all nodes.

mod held;
mod outdated;

use super::{Inner, errands::Errand, guard::Failed};
use crate::purge::Position;
use held::Held;
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
    /// What the server holds: [`Held`] as a text.
    value: String,
    held: bool,
}

impl Lease {
    /// Takes the lease of this name for a fetch that [begins](Held::began) at this position; `None` if another node holds
    /// it. Waits no longer than `until`.
    ///
    /// With `outdated`, takes the place of that lease; `None` if the server holds another by now. Whoever held it gives
    /// back nothing: what is there is not its own any more.
    pub(super) async fn take(
        shared: &Arc<Inner>,
        name: &str,
        outdated: Option<&[u8]>,
        began: Option<Position>,
        until: Instant,
    ) -> Result<Option<Self>, Failed> {
        // Made before it is taken, so that it is given back even if the answer does not come, or the caller drops this
        // future.
        let held = Held {
            process: shared.process,
            number: unique(&shared.config.node),
            began,
        };
        let mut lease = Self {
            shared: Arc::clone(shared),
            name: name.to_owned(),
            value: held.to_string(),
            held: true,
        };
        let (guard, expiry) = (&shared.guard, shared.config.lease);
        let value = lease.value.as_bytes();
        lease.held = match outdated {
            None => guard.add(name, value, expiry, until).await?,
            Some(old) => guard.replace_if(name, old, value, expiry, until).await?,
        };
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
        let (name, value) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.value),
        );
        runtime.spawn(async move {
            // If that fails, the lease expires.
            let _ = errand.0.guard.delete_if(&name, value.as_bytes()).await;
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
