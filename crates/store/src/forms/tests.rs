use super::*;
use crate::{Memory, purge::Log, sample};
use rules::time::Time;
use std::sync::Arc;

fn coded(coding: Coding, length: usize) -> Coded {
    let bytes = vec![b'x'; length];
    Coded {
        coding,
        level: Level::Fast,
        body: Some(Body::Whole(bytes.into())),
        hash: 7,
    }
}

fn memory(limit: u64) -> Memory {
    Memory::new(limit, Arc::new(Log::default()))
}

fn kept(memory: &Memory, key: &[u8]) -> Arc<Stored> {
    let ticket = memory.begin();
    let stored = Arc::new(sample::any_request(10).fetched_by(ticket));
    memory
        .insert(key, ticket, stored.clone(), 8)
        .expect("nothing was purged");
    stored
}

/// What is held now.
fn now(memory: &Memory) -> Arc<Stored> {
    let held = memory.find(b"http://a/").expect("held");
    held.as_slice()[0].clone()
}

#[test]
fn a_form_is_weighed_and_goes_with_its_response() {
    let memory = memory(64 << 20);
    let stored = kept(&memory, b"http://a/");
    let before = memory.statistics().stored;
    for (coding, more) in [(Coding::Gzip, 100_000), (Coding::Brotli, 50_000)] {
        assert!(memory.add_form(b"http://a/", stored.content(), &coded(coding, more)));
        assert!(now(&memory).forms.get(coding).is_some());
    }
    let with = memory.statistics().stored;
    assert!(with - before >= 150_000, "{before} {with}");
    assert!(memory.add_form(b"http://a/", stored.content(), &coded(Coding::Gzip, 50)));
    assert_eq!(now(&memory).forms.as_slice().len(), 2);
    assert!(
        memory.statistics().stored < with,
        "it took the other's place"
    );
    memory.forget(b"http://a/");
    assert_eq!(memory.statistics().stored, 0);
    let late = memory.add_form(b"http://a/", stored.content(), &coded(Coding::Zstd, 50));
    assert!(!late, "nothing comes back");
}

#[test]
fn a_form_never_joins_another_response() {
    let memory = memory(64 << 20);
    let old = kept(&memory, b"http://a/");
    let new = kept(&memory, b"http://a/");
    let late = memory.add_form(b"http://a/", old.content(), &coded(Coding::Gzip, 50));
    assert!(!late);
    let held = memory.find(b"http://a/").expect("held");
    assert_eq!(held.as_slice().len(), 1);
    assert_eq!(held.as_slice()[0].id(), new.id());
    assert!(held.as_slice()[0].forms.get(Coding::Gzip).is_none());
}

#[test]
fn a_form_joins_what_a_soft_purge_has_left() {
    let memory = memory(64 << 20);
    let stored = kept(&memory, b"http://a/");
    let stale = Arc::new(stored.stale_since(Time::from_secs(11), 0));
    assert!(memory.exchange(b"http://a/", &stored, &stale));
    assert!(memory.add_form(b"http://a/", stored.content(), &coded(Coding::Gzip, 50)));
    assert_eq!(now(&memory).facts, stale.facts);
    assert!(now(&memory).forms.get(Coding::Gzip).is_some());
}

/// A page that is validated at each request gets a new head while its forms are being made.
#[test]
fn a_form_joins_what_was_freshened_meanwhile() {
    use http::{HeaderMap, HeaderValue, header};
    let memory = memory(64 << 20);
    let old = kept(&memory, b"http://a/");
    let fresh = |fields: &HeaderMap| {
        let (status, facts, body) = (old.status, old.facts, old.body.clone());
        Stored::new(0, status, Fields::pack(fields), facts, None, None, body).with_made_of(&old)
    };
    let mut fields = HeaderMap::new();
    let new = Arc::new(fresh(&fields));
    assert_ne!(new.id(), old.id());
    assert!(memory.freshen(b"http://a/", &old, &new));
    assert!(memory.add_form(b"http://a/", old.content(), &coded(Coding::Gzip, 50)));
    assert_eq!(now(&memory).id(), new.id());
    assert!(now(&memory).forms.get(Coding::Gzip).is_some());
    let forbidden = HeaderValue::from_static("no-transform");
    fields.insert(header::CACHE_CONTROL, forbidden);
    assert!(memory.freshen(b"http://a/", &new, &Arc::new(fresh(&fields))));
    let late = memory.add_form(b"http://a/", old.content(), &coded(Coding::Zstd, 50));
    assert!(!late, "it may not be transformed any more");
    assert!(now(&memory).forms.as_slice().is_empty());
}

/// Two validations are under way when the form arrives. Neither 304 loses it.
#[test]
fn a_form_is_not_lost_to_a_304_that_was_under_way() {
    let memory = memory(64 << 20);
    let old = kept(&memory, b"http://a/");
    let fresh = || {
        let (status, facts, body) = (old.status, old.facts, old.body.clone());
        let fields = old.fields.clone();
        let new = Stored::new(0, status, fields, facts, None, None, body);
        Arc::new(new.with_made_of(&old).fetched_by(memory.begin()))
    };
    let (first, second) = (fresh(), fresh());
    assert!(memory.add_form(b"http://a/", old.content(), &coded(Coding::Gzip, 50)));
    assert!(memory.freshen(b"http://a/", &old, &first));
    assert_eq!(now(&memory).id(), first.id());
    assert!(now(&memory).forms.get(Coding::Gzip).is_some());
    assert!(!memory.freshen(b"http://a/", &old, &second));
    let ticket = memory.begin();
    assert!(
        memory
            .insert(b"http://a/", ticket, second.clone(), 8)
            .is_ok()
    );
    assert_eq!(now(&memory).id(), second.id());
    assert!(now(&memory).forms.get(Coding::Gzip).is_some());
    let another = kept(&memory, b"http://a/");
    assert_eq!(now(&memory).id(), another.id());
    assert!(now(&memory).forms.as_slice().is_empty(), "other content");
}

#[test]
fn what_does_not_fit_is_not_kept() {
    let memory = memory(1 << 20);
    let stored = kept(&memory, b"http://a/");
    let large = coded(Coding::Gzip, 1 << 20);
    assert!(!memory.add_form(b"http://a/", stored.content(), &large));
    assert!(memory.find(b"http://a/").is_some());
}

#[test]
fn freshening_keeps_forms_under_the_new_fields() {
    use http::{HeaderMap, HeaderValue, header};
    let old = sample::any_request(10).with_form(coded(Coding::Gzip, 50));
    let sent = |stored: &Stored| stored.forms.get(Coding::Gzip)?.stored.clone();
    for _ in 0..5 {
        sent(&old).expect("made").used();
    }
    let mut fields = HeaderMap::new();
    fields.insert(header::ETAG, HeaderValue::from_static("\"2\""));
    let fresh = |fields: &HeaderMap| {
        let (status, facts, body) = (old.status, old.facts, old.body.clone());
        Stored::new(0, status, Fields::pack(fields), facts, None, None, body).with_made_of(&old)
    };
    let form = sent(&fresh(&fields)).expect("kept");
    assert_eq!(form.uses(), 5, "it is asked for as often as before");
    let tag = form.fields.get(&header::ETAG).expect("a tag");
    assert_eq!(tag, "\"2-larder-gzip-0000000000000007\"");
    assert_eq!(form.body.length(), Some(50));
    let forbidden = HeaderValue::from_static("no-transform");
    fields.insert(header::CACHE_CONTROL, forbidden);
    assert_eq!(fresh(&fields).forms.as_slice().len(), 0);
}
