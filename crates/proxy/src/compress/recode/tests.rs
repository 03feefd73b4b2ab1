use super::*;

/// There may be as many encoders as there are clients.
#[test]
fn encoders_for_one_client_take_room_of_the_budget() {
    let memory = Memory::new(2 << 20, Arc::default());
    let counts = Arc::<Counts>::default();
    let body = || Content::Whole(Bytes::from(vec![b'a'; 100 << 10]));
    for (refusals, coding) in Coding::ALL.into_iter().enumerate() {
        let encoded = || Recoded::encoded(body(), coding, &counts, &memory).ok();
        let all: Vec<_> = std::iter::from_fn(encoded).collect();
        assert!((1..=2).contains(&all.len()), "{coding}: {}", all.len());
        assert!(memory.budget().reserved() >= Encoder::least(coding));
        assert_eq!(counts.figures().refused, refusals as u64 + 1, "as it is");
        drop(all);
        assert_eq!(memory.budget().reserved(), 0);
        let mut next = encoded().expect("there is room again");
        let mut context = Context::from_waker(std::task::Waker::noop());
        while let Poll::Pending | Poll::Ready(Some(Ok(_))) = next.poll(&mut context) {}
        assert_eq!(memory.budget().reserved(), 0, "given back at the end");
    }
}

/// There may be as many decoders too, and the sender of the content decides how much they take.
#[test]
fn decoders_take_room_of_the_budget() {
    let memory = Arc::new(Memory::new(4 << 20, Arc::default()));
    let counts = Arc::<Counts>::default();
    // Empty streams: a window of 2^16, one of 2^24, and the beginning of one of 2^23.
    for (coding, start, fits) in [
        (Coding::Brotli, &[0x06][..], true),
        (Coding::Brotli, &[0x3f], false),
        (Coding::Zstd, &[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68], false),
        (Coding::Gzip, &[0x1f, 0x8b], true),
    ] {
        let content = Content::Whole(Bytes::from_static(start));
        let decoded = Recoded::decoded(content, coding, &counts, &memory);
        assert_eq!(decoded.is_some(), fits, "{coding}");
        assert_eq!(memory.budget().reserved() > 0, fits, "{coding}");
        drop(decoded);
        assert_eq!(memory.budget().reserved(), 0);
    }
    let late = Content::pieces(vec![
        Bytes::from_static(&[0x28, 0xb5]).into(),
        Bytes::from_static(&[0x2f, 0xfd, 0x00, 0x68]).into(),
    ]);
    let late = Recoded::decoded(late, Coding::Zstd, &counts, &memory);
    let mut late = late.expect("its window is not known yet");
    let mut context = Context::from_waker(std::task::Waker::noop());
    let polled = late.poll(&mut context);
    assert!(matches!(polled, Poll::Ready(Some(Err(_)))), "no room");
    assert_eq!(memory.budget().reserved(), 0, "given back with the error");
}

/// Other tasks have their turn meanwhile, even if there is no output: any client may request content that is decoded.
#[test]
fn streams_that_hold_nothing_take_turns() {
    const EMPTY: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
    const HELLO: &[u8] =
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x05\0\xfa\xffhello\x86\xa6\x10\x36\x05\0\0\0";
    let memory = Arc::new(Memory::new(4 << 20, Arc::default()));
    let body = [EMPTY.repeat(10_000), HELLO.to_vec()].concat();
    let decoded = Recoded::decoded(
        Content::Whole(body.into()),
        Coding::Gzip,
        &Arc::default(),
        &memory,
    );
    let mut decoded = decoded.expect("there is room");
    let mut context = Context::from_waker(std::task::Waker::noop());
    let (mut turns, mut out) = (0, Vec::new());
    loop {
        match decoded.poll(&mut context) {
            Poll::Pending => turns += 1,
            Poll::Ready(Some(Ok(bytes))) => out.extend(bytes),
            Poll::Ready(Some(Err(error))) => panic!("{error}"),
            Poll::Ready(None) => break,
        }
    }
    assert_eq!(out, b"hello");
    assert!(turns > 100, "{turns}");
}
