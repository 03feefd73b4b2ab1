//! The control thread: the work that belongs to no request.

use super::{threads, watches::Watches};
use crate::admin::{self, peers::Peers};
use origin::Origin;
use std::{
    io,
    net::TcpListener,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};
use store::disk::{Disk, Event};
use tokio::{
    runtime,
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    task::{LocalSet, spawn_local},
    time::sleep,
};

/// How often the disk tier is asked for its events.
const LISTEN: Duration = Duration::from_secs(1);

/// How often it is checked whether the shared tier's server may be back.
const PROBE: Duration = Duration::from_secs(1);

/// The thread, and the channels to it.
pub struct Control {
    origins: UnboundedSender<Vec<Arc<Origin>>>,
    peers: UnboundedSender<Arc<Peers>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Control {
    /// Starts the thread; `listener` serves the admin API.
    pub fn start(listener: Option<TcpListener>, state: Arc<admin::State>) -> io::Result<Self> {
        let (origins, watched) = unbounded_channel();
        let (peers, sent) = unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let mut builder = runtime::Builder::new_current_thread();
        let runtime = threads::stay(builder.enable_all()).build()?;
        threads::begin(runtime.handle())?;
        let thread = thread::Builder::new()
            .name("larder-control".to_owned())
            .spawn(move || {
                LocalSet::new().block_on(&runtime, run(listener, state, (watched, sent), stopped));
            })?;
        Ok(Self {
            origins,
            peers,
            stop,
            thread,
        })
    }

    /// Watches these origins from now on, and no others.
    pub fn watch(&self, origins: Vec<Arc<Origin>>) {
        let _ = self.origins.send(origins);
    }

    /// Sends purges on to these nodes.
    pub fn send_purges(&self, peers: Arc<Peers>) {
        let _ = self.peers.send(peers);
    }

    /// Stops the thread.
    pub fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

async fn run(
    listener: Option<TcpListener>,
    state: Arc<admin::State>,
    (watched, mut sent): (
        UnboundedReceiver<Vec<Arc<Origin>>>,
        UnboundedReceiver<Arc<Peers>>,
    ),
    mut stopped: oneshot::Receiver<()>,
) {
    let (end_admin, admin_ended) = oneshot::channel::<()>();
    spawn_local(async move { Watches::default().obey(watched).await });
    spawn_local(tell_of_disk(state.clone()));
    spawn_local(probe_shared(state.clone()));
    spawn_local(async move {
        while let Some(peers) = sent.recv().await {
            spawn_local(peers.run());
        }
    });
    let admin = spawn_local(serve_admin(listener, state.clone(), admin_ended));
    let _ = (&mut stopped).await;
    drop(end_admin);
    // Gives requests to the admin API a little time to be answered. A task that panicked has reported that itself.
    let _ = admin.await;
    // The disk tier is closed by now.
    if let Some(disk) = &state.cache.disk {
        tell_events(disk);
    }
}

async fn serve_admin(
    listener: Option<TcpListener>,
    state: Arc<admin::State>,
    ended: oneshot::Receiver<()>,
) {
    let Some(listener) = listener else { return };
    let served = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => {
            let stop = async {
                let _ = ended.await;
            };
            admin::serve(listener, state, stop).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::error!(%error, "the admin API has stopped");
    }
}

/// Reports events of the disk tier in the program's own log, as they come.
async fn tell_of_disk(state: Arc<admin::State>) {
    let Some(disk) = &state.cache.disk else {
        return;
    };
    loop {
        tell_events(disk);
        sleep(LISTEN).await;
    }
}

fn tell_events(disk: &Disk) {
    for event in disk.events() {
        match event {
            Event::Loaded { .. } | Event::Mended(_) => tracing::info!("{event}"),
            Event::Failed { .. } => tracing::error!("{event}"),
            Event::Damaged { .. }
            | Event::Outdated
            | Event::Unread { .. }
            | Event::Unreadable { .. } => tracing::warn!("{event}"),
        }
    }
}

/// Finds out when the shared tier's server is back, also where everything is answered without it.
async fn probe_shared(state: Arc<admin::State>) {
    let Some(shared) = &state.cache.shared else {
        return;
    };
    loop {
        sleep(PROBE).await;
        shared.probe().await;
    }
}
