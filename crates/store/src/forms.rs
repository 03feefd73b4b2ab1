//! Forms of a stored response: the same content in codings that were made here.
//!
//! A form is a stored response of its own, with its own fields, validator and body, so that conditions and ranges are right for
//! it and a hit on it costs what any hit costs. It can be found through the response it was made of and in no other way: it goes
//! with it when that is evicted, purged or replaced, and is weighed with it.

use crate::{Body, Fields, Stored};
use rules::coding::{self, Coding, Made};
use std::sync::Arc;

/// How much work went into a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As much as a client may be made to wait for.
    Fast,
    /// As much as is worth it for what is asked for often.
    High,
}

/// Content in a coding.
#[derive(Clone, Debug)]
pub struct Coded {
    /// The coding.
    pub coding: Coding,
    /// How it was made.
    pub level: Level,
    /// Its bytes; `None` where it came out no smaller than the content, or too large to be kept: the content is then sent as it is.
    pub body: Option<Body>,
    /// Differs where the bytes differ.
    pub hash: u64,
}

/// One form, or the knowledge that it is not worth having.
#[derive(Clone, Debug)]
pub struct Form {
    /// Its coding.
    pub coding: Coding,
    /// How it was made.
    pub level: Level,
    /// What is sent; `None` where the coding saves nothing, or its result cannot be kept.
    pub stored: Option<Arc<Stored>>,
    hash: u64,
}

impl Form {
    /// Differs where the bytes differ.
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// What it consists of, without the fields of its response.
    pub fn coded(&self) -> Coded {
        Coded {
            coding: self.coding,
            level: self.level,
            body: self.stored.as_ref().map(|stored| stored.body.clone()),
            hash: self.hash,
        }
    }
}

/// The forms of a stored response.
#[derive(Clone, Debug, Default)]
pub struct Forms(Option<Arc<Vec<Form>>>);

impl Forms {
    /// The form in `coding`, if it has been made.
    pub fn get(&self, coding: Coding) -> Option<&Form> {
        let mut all = self.as_slice().iter();
        all.find(|form| form.coding == coding)
    }

    /// All of them.
    pub fn as_slice(&self) -> &[Form] {
        self.0.as_ref().map_or(&[], |forms| forms.as_slice())
    }

    /// Bytes of memory they take.
    pub(crate) fn weight(&self) -> u64 {
        let each = |form: &Form| {
            let stored = form.stored.as_ref().map_or(0, |stored| stored.weight());
            stored + size_of::<Form>() as u64
        };
        self.as_slice().iter().map(each).sum()
    }

    fn with(&self, form: Form) -> Self {
        let others = self.as_slice().iter();
        let others = others.filter(|other| other.coding != form.coding);
        let mut all: Vec<_> = others.cloned().collect();
        all.push(form);
        Self(Some(Arc::new(all)))
    }
}

impl Stored {
    /// The same response with `coded` among its forms, in place of one of the same coding.
    #[must_use]
    pub fn with_form(&self, coded: Coded) -> Self {
        let form = self.form(coded);
        let mut with = self.clone();
        with.forms = self.forms.with(form);
        with
    }

    /// The same response with the content of `old`, all that was made of it, and the demand for that. No forms where the new fields
    /// forbid to transform it.
    #[must_use]
    pub fn with_made_of(self, old: &Self) -> Self {
        let mut with = self.over_content_of(old);
        with.derived.clone_from(&old.derived);
        if coding::forbids(with.fields.iter()) {
            return with;
        }
        let again = old.forms.as_slice().iter().map(|form| {
            let again = with.form(form.coded());
            if let (Some(again), Some(before)) = (&again.stored, &form.stored) {
                again.set_uses(before.uses());
            }
            again
        });
        let all: Vec<_> = again.collect();
        with.forms = Forms((!all.is_empty()).then(|| Arc::new(all)));
        with
    }

    /// Whether something was made of the content of `other`, which is the same, that is not here.
    pub(crate) fn lacks_what_was_made(&self, other: &Self) -> bool {
        let is_here = |form: &Form| {
            let here = self.forms.get(form.coding);
            here.is_some_and(|here| (here.level, here.hash) == (form.level, form.hash))
        };
        (self.derived.is_none() && other.derived.is_some())
            || !other.forms.as_slice().iter().all(is_here)
    }

    /// `coded`, made of this one's content, under this one's fields.
    pub fn form(&self, coded: Coded) -> Form {
        let Coded {
            coding,
            level,
            body,
            hash,
        } = coded;
        let stored = body.map(|body| {
            let length = body.length().unwrap_or_default();
            let mut fields = self.fields.unpack(4);
            coding::describe(&mut fields, Some(coding), Made::Whole { length, hash });
            let stored = Self::new(
                self.checked(),
                self.status,
                Fields::pack(&fields),
                self.facts,
                None,
                None,
                Body::Whole(bytes::Bytes::new()),
            );
            Arc::new(stored.with_body(body))
        });
        Form {
            coding,
            level,
            stored,
            hash,
        }
    }
}

#[cfg(test)]
mod tests {
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
        let stored = Arc::new(sample::any_request(10));
        let ticket = memory.begin();
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

    /// A page that is validated at each request gets a new head while its forms are made.
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
        assert!(memory.replace(b"http://a/", old.id(), &new));
        assert!(memory.add_form(b"http://a/", old.content(), &coded(Coding::Gzip, 50)));
        assert_eq!(now(&memory).id(), new.id());
        assert!(now(&memory).forms.get(Coding::Gzip).is_some());
        let forbidden = HeaderValue::from_static("no-transform");
        fields.insert(header::CACHE_CONTROL, forbidden);
        assert!(memory.replace(b"http://a/", new.id(), &Arc::new(fresh(&fields))));
        let late = memory.add_form(b"http://a/", old.content(), &coded(Coding::Zstd, 50));
        assert!(!late, "it may not be transformed any more");
        assert!(now(&memory).forms.as_slice().is_empty());
    }

    /// Two validations are under way when the form comes: neither the first nor the second 304 loses it.
    #[test]
    fn a_form_is_not_lost_to_a_304_that_was_under_way() {
        let memory = memory(64 << 20);
        let old = kept(&memory, b"http://a/");
        let fresh = || {
            let (status, facts, body) = (old.status, old.facts, old.body.clone());
            let fields = old.fields.clone();
            Arc::new(Stored::new(0, status, fields, facts, None, None, body).with_made_of(&old))
        };
        let (first, second) = (fresh(), fresh());
        assert!(memory.add_form(b"http://a/", old.content(), &coded(Coding::Gzip, 50)));
        assert!(memory.replace(b"http://a/", old.id(), &first));
        assert_eq!(now(&memory).id(), first.id());
        assert!(now(&memory).forms.get(Coding::Gzip).is_some());
        assert!(!memory.replace(b"http://a/", old.id(), &second));
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
}
