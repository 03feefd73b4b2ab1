//! The control thread: what is not a request's business.

use crate::admin;
use origin::Origin;
use std::{
    io,
    net::TcpListener,
    sync::Arc,
    thread::{self, JoinHandle},
};
use tokio::{
    runtime,
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    task::{JoinSet, LocalSet, spawn_local},
};

/// The thread and how to talk to it.
pub struct Control {
    origins: UnboundedSender<Vec<Arc<Origin>>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Control {
    /// Starts the thread; `listener` serves the admin API.
    pub fn start(listener: Option<TcpListener>, state: Arc<admin::State>) -> io::Result<Self> {
        let (origins, watched) = unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let thread = thread::Builder::new()
            .name("larder-control".to_owned())
            .spawn(move || {
                LocalSet::new().block_on(&runtime, run(listener, state, watched, stopped));
            })?;
        Ok(Self {
            origins,
            stop,
            thread,
        })
    }

    /// Watches these origins from now on, and no others.
    pub fn watch(&self, origins: Vec<Arc<Origin>>) {
        let _ = self.origins.send(origins);
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
    watched: UnboundedReceiver<Vec<Arc<Origin>>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let (end_admin, admin_ended) = oneshot::channel::<()>();
    spawn_local(watch(watched));
    let admin = spawn_local(serve_admin(listener, state, admin_ended));
    let _ = (&mut stopped).await;
    drop(end_admin);
    admin.abort();
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

/// Health checks and name resolution of the origins in force.
async fn watch(mut orders: UnboundedReceiver<Vec<Arc<Origin>>>) {
    let mut watches = JoinSet::new();
    while let Some(origins) = orders.recv().await {
        watches.abort_all();
        for origin in origins {
            watches.spawn_local(origin.keep_watch());
        }
    }
}
