//! Text with variables in it: an attribute's value.

use crate::{
    escape,
    variable::{Request, Variable},
};
use std::ops::Range;

/// The longest address, in bytes: servers take no longer ones.
const LONGEST: usize = 64 << 10;

/// Text with variables in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Box<[Part]>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(Box<str>),
    Variable(Variable),
}

impl Template {
    /// Reads an attribute's value.
    pub(crate) fn read(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|rest| rest.find("$(")) {
            let at = from + at;
            let (before, here) = rest.split_at(at);
            match Variable::read(here) {
                Some((variable, length)) => {
                    if !before.is_empty() {
                        parts.push(Part::Text(before.into()));
                    }
                    parts.push(Part::Variable(variable));
                    rest = here.get(length..).unwrap_or_default();
                    from = 0;
                }
                None => from = at + 2,
            }
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.into()));
        }
        Self(parts.into())
    }

    /// Renders the text as an address: values are percent-encoded, except for the host. Returns `None` if a value makes
    /// a path lead upwards, or it is too long with its values.
    pub(crate) fn address(&self, request: &dyn Request) -> Option<String> {
        if let [Part::Text(only)] = &*self.0 {
            return Some(only.as_ref().to_owned());
        }
        let mut whole = String::new();
        let mut values: Vec<Range<usize>> = Vec::new();
        for part in &self.0 {
            let variable = match part {
                Part::Text(text) => {
                    whole.push_str(text);
                    continue;
                }
                Part::Variable(variable) => variable,
            };
            let start = whole.len();
            match variable.sent(request) {
                Some(host) if variable.is_host() => whole.push_str(&host),
                Some(value) => {
                    let in_path = !whole.contains(['?', '#']);
                    if in_path && value.split(['/', '\\']).any(|segment| segment == "..") {
                        return None;
                    }
                    escape::address(&value, &mut whole);
                }
                None => whole.push_str(variable.default()),
            }
            if whole.len() > LONGEST {
                return None;
            }
            values.push(start..whole.len());
        }
        (!leads_upwards(&whole, &values)).then_some(whole)
    }

    /// The bytes of memory that it takes beyond its own size.
    pub(crate) fn weight(&self) -> usize {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Variable(variable) => variable.weight(),
        });
        size_of_val(&*self.0) + parts.sum::<usize>()
    }
}

/// Whether one of `values`, given by their ranges in `address`, makes or completes a path segment that is `.` or `..`.
fn leads_upwards(address: &str, values: &[Range<usize>]) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let mut start = 0;
    path.split('/').any(|segment| {
        let end = start + segment.len();
        let made = values
            .iter()
            .any(|value| value.start <= end && start <= value.end);
        start = end + 1;
        made && matches!(segment, "." | "..")
    })
}
