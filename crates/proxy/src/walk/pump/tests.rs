use super::*;
use crate::{sample, walk::outbound};
use bytes::Bytes;
use http::{HeaderMap, Method};
use origin::{
    Origin, OriginConfig,
    config::{Address, Server},
};
use std::{
    cell::RefCell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::Waker,
};
use store::{
    BodyPiece,
    disk::Failed,
    fill::{Backing, Overflow, Pushed},
};
use testkit::{Reply, scratch_dir};
use tokio::{runtime::Builder, task::LocalSet};

/// A disk that takes nothing until it is told to.
#[derive(Clone, Debug, Default)]
struct Slow(Arc<Turn>);

#[derive(Debug, Default)]
struct Turn {
    takes: AtomicBool,
    /// The task that asked it to take something.
    asked: Mutex<Option<Waker>>,
}

impl Slow {
    fn was_asked(&self) -> bool {
        self.0.asked.lock().expect("nobody panicked").is_some()
    }

    fn take(&self) {
        self.0.takes.store(true, SeqCst);
        let asked = self.0.asked.lock().expect("nobody panicked").take();
        asked.expect("somebody waits").wake();
    }
}

impl Overflow for Slow {
    fn begin(&self, _length: Option<u64>) -> Option<Box<dyn Backing>> {
        Some(Box::new(Taking(self.clone(), Vec::new())))
    }
}

#[derive(Debug)]
struct Taking(Slow, Vec<u8>);

impl Backing for Taking {
    fn poll_push(
        &mut self,
        piece: &Bytes,
        _: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failed>> {
        if !self.0.0.takes.load(SeqCst) {
            *self.0.0.asked.lock().expect("nobody panicked") = Some(context.waker().clone());
            return Poll::Pending;
        }
        self.1.extend_from_slice(piece);
        Poll::Ready(Ok(()))
    }

    fn written(&self) -> BodyPiece {
        BodyPiece::Memory(Bytes::copy_from_slice(&self.1))
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<BodyPiece, Failed>> {
        Poll::Ready(Ok(self.written()))
    }
}

#[test]
fn who_stops_waits_for_the_disk_to_take_what_has_come() {
    let path = scratch_dir().join("origin");
    let server = testkit::Origin::start_unix(&path);
    server.reply("/p", Reply::ok().body("content"));
    let config = OriginConfig {
        servers: vec![Server::new(Address::Unix(path))],
        ..OriginConfig::default()
    };
    let policy = crate::policy::Policy {
        origin: Origin::new(config).expect("has a server"),
        ..sample::policy(sample::key_spec())
    };
    let ask = sample::ask(sample::site(policy), None, HeaderMap::new());
    let worker = sample::worker(&sample::memory());
    let (slow, kept) = (Slow::default(), Rc::<RefCell<_>>::default());
    let runtime = Builder::new_current_thread().enable_all().build();
    LocalSet::new().block_on(&runtime.expect("a runtime"), async {
        let request = outbound::bodyless(&ask, Method::GET, HeaderMap::new());
        let request = request.unwrap_or_else(|_| panic!("a request"));
        let context = outbound::context(&ask, || false);
        let answer = ask.policy().origin.fetch(request, context).await;
        let body = Arrival::new(answer.expect("an answer").into_body());

        let (_fill, mut writer) = begin_fill(&worker);
        writer.announce(Some(7));
        writer.overflow_to(Arc::new(slow.clone()));
        assert_eq!(writer.overflow(), Pushed::Kept);
        let stored = kept.clone();
        let destination = Destination::Then(Box::new(move |_, body| {
            *stored.borrow_mut() = body.length();
            true
        }));
        let room = Room {
            in_memory: 0,
            largest: 100,
        };
        writer.fill().interest().keep();
        tokio::task::spawn_local(Pump::new(&worker, body, writer, destination, room).run());
        while !slow.was_asked() {
            tokio::task::yield_now().await;
        }

        let mut stopped = Box::pin(worker.has_stored());
        let looked = poll_fn(|context| Poll::Ready(stopped.as_mut().poll(context).is_ready()));
        assert!(!looked.await, "the disk has not taken it yet");
        assert_eq!(*kept.borrow(), None);
        slow.take();
        stopped.await;
        assert_eq!(*kept.borrow(), Some(7));
        worker.has_stored().await;
    });
}
