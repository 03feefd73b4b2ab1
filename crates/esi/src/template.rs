//! Text with variables in it: an attribute's value.

use crate::{
    escape,
    variable::{Request, Variable},
};

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

    /// As an address: values are percent-encoded. `None` where a value makes a path lead upwards.
    pub(crate) fn address(&self, request: &dyn Request) -> Option<String> {
        if let [Part::Text(only)] = &*self.0 {
            return Some(only.as_ref().to_owned());
        }
        let mut whole = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => whole.push_str(text),
                Part::Variable(variable) => match variable.sent(request) {
                    Some(value) => escape::address(&value, &mut whole),
                    None => whole.push_str(variable.default()),
                },
            }
        }
        let path = whole.split(['?', '#']).next().unwrap_or_default();
        let upwards = path.split('/').any(|segment| matches!(segment, "." | ".."));
        (!upwards).then_some(whole)
    }

    /// Bytes of memory it takes beyond its own size.
    pub(crate) fn weight(&self) -> usize {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Variable(variable) => variable.weight(),
        });
        size_of_val(&*self.0) + parts.sum::<usize>()
    }
}
