//! Health checks and name resolution for the origins in use.

use origin::Origin;
use std::sync::Arc;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    task::{AbortHandle, JoinSet},
};

/// One watch for each origin. They run in the `LocalSet` of the task that owns this.
#[derive(Default)]
pub struct Watches {
    under_way: Vec<(Arc<Origin>, AbortHandle)>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Watches the origins of the last order, until no more orders can come.
    pub async fn obey(&mut self, mut orders: UnboundedReceiver<Vec<Arc<Origin>>>) {
        loop {
            tokio::select! {
                biased;
                // A finished task takes memory until it is joined. One that panicked has reported that itself.
                Some(_) = self.tasks.join_next() => {}
                order = orders.recv() => match order {
                    Some(origins) => self.change(&origins),
                    None => return,
                },
            }
        }
    }

    /// Watches these origins from now on, and no others. A watch that already runs continues: only it knows how many of
    /// a server's checks have failed in a row.
    fn change(&mut self, origins: &[Arc<Origin>]) {
        self.under_way.retain(|(origin, task)| {
            let stays = origins.iter().any(|it| Arc::ptr_eq(it, origin));
            if !stays {
                task.abort();
            }
            stays && !task.is_finished()
        });
        for origin in origins {
            let is_watched = |(it, _): &(_, _)| Arc::ptr_eq(it, origin);
            if !self.under_way.iter().any(is_watched) {
                let task = self.tasks.spawn_local(origin.clone().keep_watch());
                self.under_way.push((origin.clone(), task));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use origin::{
        OriginConfig,
        config::{ActiveHealth, Address, Server},
    };
    use std::{path::PathBuf, time::Duration};
    use tokio::{
        runtime,
        sync::mpsc::unbounded_channel,
        task::{Id, LocalSet, yield_now},
    };

    /// An origin at which nobody listens and which is not looked at: its watch goes on until it is aborted.
    fn origin() -> Arc<Origin> {
        let socket = PathBuf::from("/nowhere/at/all.sock");
        Origin::new(OriginConfig {
            servers: vec![Server::new(Address::Unix(socket))],
            active: Some(ActiveHealth {
                path: "/".to_owned(),
                host: None,
                every: Duration::from_hours(1),
                timeout: Duration::from_secs(1),
                healthy_after: 1,
                unhealthy_after: 1,
                status: 200..=299,
            }),
            ..OriginConfig::default()
        })
        .unwrap()
    }

    fn ids(watches: &Watches) -> Vec<Id> {
        watches
            .under_way
            .iter()
            .map(|(_, task)| task.id())
            .collect()
    }

    #[test]
    fn a_change_ends_what_is_gone_and_begins_what_is_new() {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        LocalSet::new().block_on(&runtime.unwrap(), async {
            let [stays, goes, comes] = [origin(), origin(), origin()];
            let mut watches = Watches::default();
            watches.change(&[stays.clone(), goes.clone()]);
            let before = ids(&watches);
            watches.change(&[comes, stays.clone()]);
            let after = ids(&watches);
            assert_eq!(after[0], before[0], "it goes on");
            assert!(!before.contains(&after[1]));
            let ended = watches.tasks.join_next().await.unwrap();
            assert!(ended.unwrap_err().is_cancelled());
            assert_eq!((watches.tasks.len(), Arc::strong_count(&goes)), (2, 1));
        });
    }

    #[test]
    fn of_what_has_ended_nothing_is_kept() {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        LocalSet::new().block_on(&runtime.unwrap(), async {
            let (orders, received) = unbounded_channel();
            let (first, mut watches) = (origin(), Watches::default());
            let reload = async {
                orders.send(vec![first.clone()]).unwrap();
                while Arc::strong_count(&first) < 3 {
                    yield_now().await;
                }
                orders.send(vec![origin()]).unwrap();
                while Arc::strong_count(&first) > 1 {
                    yield_now().await;
                }
                drop(orders);
            };
            tokio::join!(watches.obey(received), reload);
            assert_eq!(watches.tasks.len(), 1);
        });
    }
}
