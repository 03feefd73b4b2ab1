//! The expression in a `test`: comparisons, `!`, `&`, `|`, parentheses.
//!
//! Precedence, from the tightest: comparison, `!`, `&`, `|`. An expression that cannot be parsed never holds.

use crate::variable::{Request, Variable};
use std::{borrow::Cow, cmp::Ordering};

/// The greatest depth of nested parentheses and `!`.
const MOST_DEPTH: usize = 16;

/// The condition under which a branch is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// The expression cannot be parsed.
    Never,
    Any(Box<[Node]>),
    All(Box<[Node]>),
    Not(Box<Node>),
    /// Holds if the operand is not empty and not `false`.
    Is(Operand),
    Compare(Operand, Operator, Operand),
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Text(Box<str>),
    Variable(Variable),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Has,
    HasIgnoringCase,
}

/// Longer spellings come first.
const OPERATORS: [(&str, Operator); 8] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("has_i ", Operator::HasIgnoringCase),
    ("has ", Operator::Has),
];

impl Expression {
    /// Parses the value of `test`.
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = Reader { rest: text };
        let node = reader.any(0);
        let at_end = reader.rest.trim_start().is_empty();
        Self(node.filter(|_| at_end).unwrap_or(Node::Never))
    }

    /// Whether the expression holds for this request.
    pub fn holds(&self, request: &dyn Request) -> bool {
        self.0.holds(request)
    }

    /// The bytes of memory that it takes.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Self>() + self.0.weight()
    }
}

impl Node {
    fn holds(&self, request: &dyn Request) -> bool {
        match self {
            Self::Never => false,
            Self::Any(nodes) => nodes.iter().any(|node| node.holds(request)),
            Self::All(nodes) => nodes.iter().all(|node| node.holds(request)),
            Self::Not(node) => !node.holds(request),
            Self::Is(operand) => {
                let value = operand.value(request);
                !value.is_empty() && value != "false"
            }
            Self::Compare(left, operator, right) => {
                let (left, right) = (left.value(request), right.value(request));
                // ESI 1.0 section 5.1: an absent value is neither equal nor unequal to anything.
                !left.is_empty() && !right.is_empty() && operator.compare(&left, &right)
            }
        }
    }

    /// The bytes of memory that it takes beyond its own size.
    fn weight(&self) -> usize {
        match self {
            Self::Never => 0,
            Self::Any(nodes) | Self::All(nodes) => {
                size_of_val(&**nodes) + nodes.iter().map(Self::weight).sum::<usize>()
            }
            Self::Not(node) => size_of::<Self>() + node.weight(),
            Self::Is(operand) => operand.weight(),
            Self::Compare(left, _, right) => left.weight() + right.weight(),
        }
    }
}

impl Operand {
    fn value<'a>(&'a self, request: &'a dyn Request) -> Cow<'a, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Variable(variable) => variable
                .sent(request)
                .unwrap_or(Cow::Borrowed(variable.default())),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Variable(variable) => variable.weight(),
        }
    }
}

impl Operator {
    fn compare(self, left: &str, right: &str) -> bool {
        match self {
            Self::Equal => order(left, right).is_eq(),
            Self::Unequal => order(left, right).is_ne(),
            Self::Less => order(left, right).is_lt(),
            Self::AtMost => order(left, right).is_le(),
            Self::Greater => order(left, right).is_gt(),
            Self::AtLeast => order(left, right).is_ge(),
            Self::Has => left.contains(right),
            Self::HasIgnoringCase => left.to_lowercase().contains(&right.to_lowercase()),
        }
    }
}

/// Compares as numbers if both are, otherwise as text.
fn order(left: &str, right: &str) -> Ordering {
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        _ => left.cmp(right),
    }
}

fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.len() <= 15
        && digits.starts_with(|first: char| first.is_ascii_digit())
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = plain.then(|| text.parse().ok())??;
    // Turns a negative zero into zero.
    Some(value + 0.0)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn any(&mut self, depth: usize) -> Option<Node> {
        let mut nodes = vec![self.all(depth)?];
        while self.takes("||") || self.takes("|") {
            nodes.push(self.all(depth)?);
        }
        Some(single(nodes, Node::Any))
    }

    fn all(&mut self, depth: usize) -> Option<Node> {
        let mut nodes = vec![self.not(depth)?];
        while self.takes("&&") || self.takes("&") {
            nodes.push(self.not(depth)?);
        }
        Some(single(nodes, Node::All))
    }

    fn not(&mut self, depth: usize) -> Option<Node> {
        if depth > MOST_DEPTH {
            return None;
        }
        if self.takes("!") {
            return Some(Node::Not(Box::new(self.not(depth + 1)?)));
        }
        if self.takes("(") {
            let inside = self.any(depth + 1)?;
            return self.takes(")").then_some(inside);
        }
        let left = self.operand()?;
        let operator = OPERATORS.iter().find(|(spelling, _)| self.takes(spelling));
        match operator {
            Some((_, operator)) => Some(Node::Compare(left, *operator, self.operand()?)),
            None => Some(Node::Is(left)),
        }
    }

    fn operand(&mut self) -> Option<Operand> {
        self.rest = self.rest.trim_start();
        if let Some((variable, length)) = Variable::read(self.rest) {
            self.rest = self.rest.get(length..)?;
            return Some(Operand::Variable(variable));
        }
        for quote in ["'''", "'", "\""] {
            if let Some(inside) = self.rest.strip_prefix(quote) {
                let (text, rest) = inside.split_once(quote)?;
                self.rest = rest;
                return Some(Operand::Text(text.into()));
            }
        }
        let bare =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
        let end = self
            .rest
            .find(|letter| !bare(letter))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return None;
        }
        self.rest = rest;
        Some(Operand::Text(word.into()))
    }

    fn takes(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

fn single(mut nodes: Vec<Node>, join: fn(Box<[Node]>) -> Node) -> Node {
    match (nodes.pop(), nodes.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => {
            nodes.push(last);
            join(nodes.into())
        }
        (None, _) => Node::Never,
    }
}

#[cfg(test)]
mod tests;
