use super::*;
use bytes::Bytes;
use std::sync::Arc;
use store::Parts;

#[test]
fn what_is_not_all_there_is_not_empty() {
    let parts = |length| Body::Parts(Arc::new(Parts::new(length, 0, Bytes::from("abc"))));
    assert!(matches!(all_of(&parts(4)), Content::Missing));
    assert!(matches!(all_of(&parts(3)), Content::Whole(all) if all == "abc"));
    let nothing = Body::Whole(Bytes::new());
    assert!(matches!(all_of(&nothing), Content::Empty));
}
