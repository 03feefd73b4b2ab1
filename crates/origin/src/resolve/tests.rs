use super::*;
use std::sync::mpsc;
use tokio::{task::yield_now, time::advance};

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

#[test]
fn an_address_needs_no_resolver() {
    for host in ["127.0.0.1", "::1"] {
        let addresses = Arc::new(Addresses::new(host, 80));
        assert!(!addresses.is_named());
        let known = run(addresses.get()).unwrap();
        assert_eq!(
            known.addresses,
            [SocketAddr::new(host.parse().unwrap(), 80)]
        );
    }
}

/// A name whose resolver says nothing until it is told what; how often it was asked.
fn slow() -> (Arc<Addresses>, mpsc::Sender<bool>, Arc<AtomicUsize>) {
    let (tell, told) = mpsc::channel();
    let (told, asked) = (Mutex::new(told), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let mut addresses = Addresses::new("name.invalid", 80);
    addresses.resolver = Resolver::new(move |_, port| {
        count.fetch_add(1, Relaxed);
        match told.lock().unwrap().recv() {
            Ok(true) => Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    });
    (Arc::new(addresses), tell, asked)
}

#[tokio::test(start_paused = true)]
async fn a_name_that_failed_is_left_alone_for_a_while() {
    let (addresses, tell, asked) = slow();
    let late = async {
        advance(3 * PAUSE).await;
        // More than are asked for, lest a question too many wait for ever.
        (0..9).for_each(|_| tell.send(false).unwrap());
    };
    let (failed, ()) = tokio::join!(addresses.get(), late);
    assert_eq!(failed.unwrap_err().kind(), Kind::Unresolvable);
    addresses.get().await.unwrap_err();
    let last = Duration::from_millis(1);
    advance(PAUSE.saturating_sub(last)).await;
    addresses.get().await.unwrap_err();
    assert_eq!(asked.load(Relaxed), 1, "from when it is known");
    advance(last).await;
    addresses.get().await.unwrap_err();
    assert_eq!(asked.load(Relaxed), 2);
}

#[tokio::test]
async fn a_question_outlives_who_asked_and_there_is_one_at_a_time() {
    let (addresses, tell, asked) = slow();
    for _ in 0..3 {
        tokio::select! {
            biased;
            _ = addresses.get() => panic!("nothing was said"),
            () = yield_now() => {}
        }
    }
    (0..9).for_each(|_| tell.send(true).unwrap());
    let (one, other) = tokio::join!(addresses.get(), addresses.get());
    assert_eq!((one.unwrap().epoch, other.unwrap().epoch), (1, 1));
    assert_eq!(asked.load(Relaxed), 1);
}

#[test]
fn the_last_good_answer_is_kept() {
    let addresses = Arc::new(Addresses::resolved(vec![SocketAddr::from((
        [127, 0, 0, 1],
        80,
    ))]));
    run(addresses.refresh()).unwrap_err();
    assert_eq!(addresses.epoch(), 1);
    assert_eq!(run(addresses.get()).unwrap().addresses.len(), 1);
}

#[test]
fn a_name_that_changed_is_followed() {
    let addresses = Arc::new(Addresses::new("localhost", 80));
    let gone = SocketAddr::from(([127, 0, 0, 9], 80));
    addresses.known.store(Arc::new(Known {
        addresses: vec![gone],
        epoch: 1,
    }));
    addresses.prefer(3);
    run(addresses.refresh()).unwrap();
    let known = run(addresses.get()).unwrap();
    assert!(!known.addresses.contains(&gone), "{known:?}");
    assert!(
        known
            .addresses
            .iter()
            .all(|address| address.ip().is_loopback())
    );
    assert_eq!((addresses.epoch(), addresses.favourite()), (2, 0));
    run(addresses.refresh()).unwrap();
    assert_eq!(addresses.epoch(), 2, "nothing changed");
}

#[test]
fn a_change_is_told_from_a_rotation() {
    let [one, two, three] = [1, 2, 3].map(|n| SocketAddr::from(([10, 0, 0, n], 80)));
    for (before, after, same) in [
        (vec![one, two], vec![two, one], true),
        (vec![one, two], vec![one], false),
        (vec![one], vec![one, two], false),
        (vec![one, two], vec![one, three], false),
    ] {
        assert_eq!(same_set(&before, &after), same, "{before:?} {after:?}");
    }
}
