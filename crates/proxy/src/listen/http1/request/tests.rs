use super::*;
use crate::{
    body::ReplyBody,
    listen::{counters::Counters, watch::Worker},
};

/// `hyper` would, too, but by a clock that stands still when the wall clock is set back.
#[test]
fn an_answer_without_a_date_gets_one_before_hyper_writes_it() {
    let watch = Watch::new(Worker::new(Arc::new(Counters::default()), None));
    let date = |served| {
        let answer = finished(served, InFlight::new(&watch), false, false);
        answer.headers().get(header::DATE).cloned()
    };
    let own = || Box::new(Response::new(Bytes::new()));
    assert!(date(Err::<Response<ReplyBody>, _>(own())).is_some());
    assert!(date(Ok(Response::new(ReplyBody::default()))).is_some());
    let mut dated = Response::new(ReplyBody::default());
    let told = HeaderValue::from_static("Sun, 22 Nov 2026 08:00:00 GMT");
    dated.headers_mut().insert(header::DATE, told.clone());
    assert_eq!(date(Ok(dated)), Some(told));
}
