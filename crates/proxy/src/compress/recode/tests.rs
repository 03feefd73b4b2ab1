use super::*;

/// There may be as many of these as there are clients.
#[test]
fn encoders_for_one_client_take_room_of_the_budget() {
    let memory = Memory::new(2 << 20, Arc::default());
    let counts = Arc::<Counts>::default();
    let body = || Content::Whole(Bytes::from(vec![b'a'; 100 << 10]));
    for coding in Coding::ALL {
        let encoded = || Recoded::encoded(body(), coding, &counts, &memory);
        let first = encoded().expect("there is room");
        assert!(memory.budget().reserved() > 100 << 10);
        let refused = encoded().expect_err("there is room for one");
        assert!(matches!(refused, Content::Whole(_)), "it goes as it is");
        drop(first);
        assert_eq!(memory.budget().reserved(), 0);
        let mut next = encoded().expect("there is room again");
        let mut context = Context::from_waker(std::task::Waker::noop());
        while let Poll::Pending | Poll::Ready(Some(Ok(_))) = next.poll(&mut context) {}
        assert_eq!(memory.budget().reserved(), 0, "given back at the end");
    }
    assert_eq!(counts.figures().refused, 3);
}
