//! Forms of a stored response: the same content in codings that were made here.
//!
//! A form is a stored response of its own, with its own fields, validator and body. So conditions and ranges are right
//! for it, and a hit on it costs what any hit costs. It can be found only through the response that it was made from.
//! It goes when that is evicted, purged or replaced, and is weighed with it.

#[cfg(test)]
mod tests;

use crate::{Body, Fields, Stored};
use rules::coding::{self, Coding, FormProvenance};
use std::sync::Arc;

/// How much work went into a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As much as a client may be made to wait for.
    Fast,
    /// As much as pays for content that is often asked for.
    High,
}

/// Content in a coding, before it has a head.
#[derive(Clone, Debug)]
pub struct Coded {
    /// The coding.
    pub coding: Coding,
    /// How much work went into it.
    pub level: Level,
    /// Its bytes; `None` if they were no smaller than the content, or too large to be kept. Then the content is sent as
    /// it is.
    pub body: Option<Body>,
    /// A hash that differs if the bytes differ.
    pub hash: u64,
}

/// One form, or the knowledge that it is not worth having.
#[derive(Clone, Debug)]
pub struct Form {
    /// Its coding.
    pub coding: Coding,
    /// How much work went into it.
    pub level: Level,
    /// The response to send; `None` if the coding saves nothing, or its result cannot be kept.
    pub stored: Option<Arc<Stored>>,
    hash: u64,
}

impl Form {
    /// A hash that differs if the bytes differ.
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// Its content, without the fields of its response.
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

    /// All forms.
    pub fn as_slice(&self) -> &[Form] {
        self.0.as_ref().map_or(&[], |forms| forms.as_slice())
    }

    /// Bytes of memory that they take.
    pub(crate) fn weight(&self) -> u64 {
        /// The list with its counters.
        const LIST: u64 = 48;
        let each = |form: &Form| {
            let stored = form.stored.as_ref().map_or(0, |stored| stored.weight());
            stored + size_of::<Form>() as u64
        };
        let list = self.0.as_ref().map_or(0, |_| LIST);
        list + self.as_slice().iter().map(each).sum::<u64>()
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
    /// Returns the same response with `coded` among its forms, in place of one with the same coding.
    #[must_use]
    pub fn with_form(&self, coded: Coded) -> Self {
        let form = self.form(coded);
        let mut with = self.clone();
        with.forms = self.forms.with(form);
        with
    }

    /// Returns this response with the content of `old`, with all that was made from it, and with the uses of its forms.
    /// There are no forms if the new fields forbid transformation.
    #[must_use]
    pub fn with_made_of(self, old: &Self) -> Self {
        let mut with = self.over_content_of(old);
        with.derived.clone_from(&old.derived);
        if coding::forbids(with.lines()) {
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

    /// Whether something was made from the content of `other`, which is the same content, that this response does not
    /// have.
    pub(crate) fn lacks_what_was_made(&self, other: &Self) -> bool {
        let is_here = |form: &Form| {
            let here = self.forms.get(form.coding);
            here.is_some_and(|here| (here.level, here.hash) == (form.level, form.hash))
        };
        (self.derived.is_none() && other.derived.is_some())
            || !other.forms.as_slice().iter().all(is_here)
    }

    /// Makes a form from `coded`, which was made from this content, with this response's fields.
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
            coding::describe(
                &mut fields,
                Some(coding),
                FormProvenance::Whole { length, hash },
            );
            let stored = Self::new(
                self.checked(),
                self.status,
                Fields::pack(&fields),
                self.facts,
                None,
                None,
                body,
            );
            Arc::new(stored)
        });
        Form {
            coding,
            level,
            stored,
            hash,
        }
    }
}
