//! The elements and their names, and what their tags open and close.

use super::{MOST_OPEN, Mode, Parser};
use crate::{Token, expression::Expression, include::Include, tag::Tag, variable::Variable};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenElement {
    Choose,
    /// `when` or `otherwise`.
    Branch,
    Try,
    /// `attempt` or `except`.
    Side,
}

/// The elements that we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Remove,
    Vars,
    Choose,
    When,
    Otherwise,
    Try,
    Attempt,
    Except,
    Comment,
    Include,
}

const ELEMENTS: [(&[u8], Element); 10] = [
    (b"include", Element::Include),
    (b"remove", Element::Remove),
    (b"vars", Element::Vars),
    (b"choose", Element::Choose),
    (b"when", Element::When),
    (b"otherwise", Element::Otherwise),
    (b"try", Element::Try),
    (b"attempt", Element::Attempt),
    (b"except", Element::Except),
    (b"comment", Element::Comment),
];

impl Element {
    /// Returns the element with this name in tags, without the prefix `esi:`; `None` if it is unknown.
    pub fn named(name: &[u8]) -> Option<Self> {
        let known = ELEMENTS.iter().find(|(known, _)| *known == name);
        known.map(|(_, element)| *element)
    }

    /// The name in tags.
    pub const fn name(self) -> &'static [u8] {
        match self {
            Self::Remove => b"esi:remove",
            Self::Vars => b"esi:vars",
            Self::Choose => b"esi:choose",
            Self::When => b"esi:when",
            Self::Otherwise => b"esi:otherwise",
            Self::Try => b"esi:try",
            Self::Attempt => b"esi:attempt",
            Self::Except => b"esi:except",
            Self::Comment => b"esi:comment",
            Self::Include => b"esi:include",
        }
    }
}

impl Parser {
    /// Handles `<esi:…>`. `is_whole` says that it is the whole value of an attribute without quotes.
    pub(super) fn start(&mut self, tag: &Tag<'_>, is_whole: bool) {
        let Some(element) = Element::named(tag.name) else {
            return;
        };
        match element {
            Element::Include => {
                if let Some(include) = Include::read(tag) {
                    self.found.push_back(Token::Include(Box::new(include)));
                }
            }
            Element::Vars => self.start_vars(tag, is_whole),
            _ if tag.is_empty => {}
            Element::Comment => {}
            Element::Remove => self.mode = Mode::Removed(element, 0),
            Element::Choose => self.enter(element, OpenElement::Choose, Token::Choose),
            Element::Try => self.enter(element, OpenElement::Try, Token::Try),
            Element::When => {
                let test = tag.get("test").unwrap_or_default();
                let when = Token::When(Box::new(Expression::read(&test)));
                self.branch(OpenElement::Choose, element, OpenElement::Branch, when);
            }
            Element::Otherwise => {
                self.branch(
                    OpenElement::Choose,
                    element,
                    OpenElement::Branch,
                    Token::Otherwise,
                );
            }
            Element::Attempt => {
                self.branch(OpenElement::Try, element, OpenElement::Side, Token::Attempt);
            }
            Element::Except => {
                self.branch(OpenElement::Try, element, OpenElement::Side, Token::Except);
            }
        }
    }

    fn start_vars(&mut self, tag: &Tag<'_>, is_whole: bool) {
        let named = tag.get("name");
        let Some(name) = named else {
            self.vars += usize::from(!tag.is_empty);
            return;
        };
        // With a name the tag is the value and nothing else, however it is closed.
        if let Some((variable, _)) = Variable::read(name.trim()) {
            self.place(variable, is_whole);
        }
    }

    /// Opens an element, unless too many are open.
    fn enter(&mut self, element: Element, open: OpenElement, token: Token) {
        if self.open.len() >= MOST_OPEN {
            self.mode = Mode::Removed(element, 0);
            return;
        }
        let is_instead = matches!(element, Element::Otherwise | Element::Except);
        self.html.enter(open, is_instead);
        self.open.push(open);
        self.found.push_back(token);
    }

    /// Opens a part of `whole`, which must be open, and closes the part before it. Ignores a part without a whole.
    fn branch(&mut self, whole: OpenElement, element: Element, open: OpenElement, token: Token) {
        if self.open.last() == Some(&open) {
            self.shut();
        }
        if self.open.last() == Some(&whole) {
            self.enter(element, open, token);
        }
    }

    /// Handles `</esi:…>`: closes the element and all that is open in it. Ignores an end without a beginning.
    pub(super) fn end(&mut self, tag: &Tag<'_>) {
        let open = match Element::named(tag.name) {
            Some(Element::Vars) => {
                self.vars = self.vars.saturating_sub(1);
                return;
            }
            Some(Element::Choose) => OpenElement::Choose,
            Some(Element::When | Element::Otherwise) => OpenElement::Branch,
            Some(Element::Try) => OpenElement::Try,
            Some(Element::Attempt | Element::Except) => OpenElement::Side,
            Some(Element::Include | Element::Remove | Element::Comment) | None => return,
        };
        let Some(at) = self.open.iter().rposition(|found| *found == open) else {
            return;
        };
        while self.open.len() > at {
            self.shut();
        }
    }

    /// Closes the element that was opened last.
    fn shut(&mut self) {
        if let Some(open) = self.open.pop() {
            self.html.leave(open);
            self.found.push_back(Token::End);
        }
    }
}
