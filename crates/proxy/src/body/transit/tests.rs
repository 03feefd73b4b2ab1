use super::*;
use crate::sample::WakeFlag;

const MIB: u64 = 1 << 20;

fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(2 * MIB, Arc::default()))
}

fn piece(length: u64) -> Bytes {
    vec![b'x'; length as usize].into()
}

#[test]
fn a_piece_counts_until_it_is_dropped() {
    let memory = memory();
    let budget = memory.budget();
    let transit = Transit::new(&memory, None, 0);
    assert_eq!(budget.reserved(), FLOOR);
    let sent = transit.count(piece(100_000));
    assert_eq!((sent.len(), budget.reserved()), (100_000, 100_000));
    let part = sent.slice(10..20);
    drop((sent, transit));
    assert_eq!(budget.reserved(), 100_000, "a part of it is still there");
    drop(part);
    assert_eq!(budget.reserved(), 0);
}

#[test]
fn a_short_answer_takes_no_more_than_its_length() {
    let memory = memory();
    let transit = Transit::new(&memory, Some(100), 0);
    assert_eq!(memory.budget().reserved(), 100);
    drop(transit);
    assert_eq!(memory.budget().reserved(), 0);
}

#[test]
fn what_waits_unread_counts_beside_what_was_read() {
    let memory = memory();
    let budget = memory.budget();
    let mut transit = Transit::new(&memory, None, 50_000);
    assert_eq!(budget.reserved(), FLOOR + 50_000);
    let sent = transit.count(piece(100_000));
    assert_eq!(budget.reserved(), 150_000);
    transit.may_wait(70_000);
    assert_eq!(budget.reserved(), 170_000);
    transit.may_wait(0);
    assert_eq!(budget.reserved(), 100_000);
    drop(transit);
    assert_eq!(budget.reserved(), 100_000);
    drop(sent);
    assert_eq!(budget.reserved(), 0);
}

#[test]
fn where_memory_is_short_a_little_is_read_at_a_time_and_waits_for_its_client() {
    let memory = memory();
    let woken = Arc::<WakeFlag>::default();
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let transit = Transit::new(&memory, None, 0);
    let first = transit.count(piece(FLOOR));
    assert_eq!(transit.poll_turn(&mut context), Poll::Ready(false));
    let mut others = memory.budget().reservation();
    others.hold(MIB);
    assert!(transit.poll_turn(&mut context).is_pending());
    drop(first);
    assert!(woken.was_woken(), "what was waited for is sent");
    assert_eq!(transit.poll_turn(&mut context), Poll::Ready(true));
    let _one = transit.count(piece(FLOOR / 2));
    assert_eq!(
        transit.poll_turn(&mut context),
        Poll::Ready(true),
        "one is read while another is sent"
    );
    let _two = transit.count(piece(FLOOR / 2));
    assert!(transit.poll_turn(&mut context).is_pending());
    drop(others);
    assert_eq!(transit.poll_turn(&mut context), Poll::Ready(false));
}
