//! Values of fields ready to send: a worker's own, which its answers repeat.

use http::HeaderValue;
use rules::status::Handled;
use std::rc::Rc;

/// How many values are kept of what a number tells.
const SLOTS: usize = 256;

/// Values of fields that the answers of a worker repeat. It keeps one value for each number of seconds for fresh hits,
/// and the last one for forwarded answers. Only this worker counts references to them.
#[derive(Debug, Default)]
pub struct FieldValueCache {
    ages: Seconds,
    hits: Seconds,
    forwarded: Option<(Forwarded, Rc<HeaderValue>)>,
    /// The name of the cache in these values.
    name: String,
}

/// What `Cache-Status` says about an answer that is not a hit: how it was handled, `ttl` and `detail`.
type Forwarded = (Handled, Option<i64>, Option<&'static str>);

impl FieldValueCache {
    /// `Age` (RFC 9111 section 5.1).
    pub fn age(&mut self, seconds: u64) -> Rc<HeaderValue> {
        self.ages.value(seconds, || HeaderValue::from(seconds))
    }

    /// `Cache-Status` of the cache `name` for a hit that is fresh for `seconds` (RFC 9211 section 2).
    pub fn hit(
        &mut self,
        name: &str,
        seconds: u64,
        make: impl FnOnce() -> HeaderValue,
    ) -> Rc<HeaderValue> {
        self.is_of(name);
        self.hits.value(seconds, make)
    }

    /// `Cache-Status` of the cache `name` for an answer that is not a hit (RFC 9211 section 2).
    pub fn forwarded(
        &mut self,
        name: &str,
        what: Forwarded,
        make: impl FnOnce() -> HeaderValue,
    ) -> Rc<HeaderValue> {
        self.is_of(name);
        match &self.forwarded {
            Some((last, value)) if *last == what => value.clone(),
            _ => self.forwarded.insert((what, make().into())).1.clone(),
        }
    }

    /// Begins anew if the values are of another cache than `name`.
    fn is_of(&mut self, name: &str) {
        if self.name != name {
            name.clone_into(&mut self.name);
            self.hits = Seconds::default();
            self.forwarded = None;
        }
    }
}

/// Values made from numbers, the last one for each remainder.
#[derive(Debug)]
struct Seconds(Box<[Option<NumberedValue>]>);

/// A number and the value made from it.
type NumberedValue = (u64, Rc<HeaderValue>);

impl Default for Seconds {
    fn default() -> Self {
        Self(vec![None; SLOTS].into())
    }
}

impl Seconds {
    fn value(&mut self, seconds: u64, make: impl FnOnce() -> HeaderValue) -> Rc<HeaderValue> {
        let Some(slot) = self.0.get_mut(seconds as usize % SLOTS) else {
            return make().into();
        };
        match slot {
            Some((of, value)) if *of == seconds => value.clone(),
            _ => slot.insert((seconds, make().into())).1.clone(),
        }
    }
}
