//! Regular expressions that mean a set of tags.
//!
//! Clients made for Varnish write the tags to purge as an expression, since a ban knows nothing else:
//! `(^|,)(a|b)(,|$)`, `((^|,)a(,|$))|((^|,)b(,|$))`, `a|b`, `\ba\b`, `(a|b)($|\,)`, with PCRE's escapes. Read as sets
//! of tags, they are found by name instead of being matched against everything that is stored.

/// How deep groups may be nested.
const DEEPEST: usize = 8;

/// Returns the tags that `expression` names, each once, if it only names tags; `None` if it must be matched instead.
pub fn tag_set(expression: &str) -> Option<Vec<String>> {
    let mut reader = Reader {
        rest: expression,
        tags: Vec::new(),
    };
    reader.set(0)?;
    if !reader.rest.is_empty() {
        return None;
    }
    let mut known = std::collections::HashSet::new();
    let mut tags = reader.tags;
    tags.retain(|tag| known.insert(tag.clone()));
    Some(tags)
}

struct Reader<'a> {
    rest: &'a str,
    tags: Vec<String>,
}

impl Reader<'_> {
    /// Reads alternatives up to a closing parenthesis or the end.
    fn set(&mut self, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        self.one(depth)?;
        while self.take("|") {
            self.one(depth)?;
        }
        Some(())
    }

    /// Reads a tag or a group of tags, between the edges of a tag.
    fn one(&mut self, depth: usize) -> Option<()> {
        while self.edge("^") {}
        if self.open() {
            self.set(depth + 1)?;
            if !self.take(")") {
                return None;
            }
        } else {
            let tag = self.literal()?;
            self.tags.push(tag);
        }
        while self.edge("$") {}
        Some(())
    }

    /// Reads text without special meaning. It is not empty, and has no comma, since that would mean two tags.
    fn literal(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut letters = self.rest.chars();
        loop {
            let rest = letters.as_str();
            let letter = match letters.next() {
                Some('\\') => match letters.next() {
                    // An escaped letter has a special meaning, and a comma separates tags.
                    Some(escaped) if escaped != ',' && !escaped.is_alphanumeric() => Some(escaped),
                    _ => None,
                },
                Some(
                    '^' | '$' | '.' | '|' | '?' | '*' | '+' | '(' | ')' | '[' | ']' | '{' | '}'
                    | ',',
                )
                | None => None,
                plain => plain,
            };
            let Some(letter) = letter else {
                self.rest = rest;
                break;
            };
            text.push(letter);
        }
        let padded = text.starts_with(' ') || text.ends_with(' ');
        (!text.is_empty() && !padded).then_some(text)
    }

    /// Reads one edge of a tag: `anchor` (`^` or `$`), `\b`, or a group that contains one of them, such as `(^|,)` and
    /// `($|\,)`.
    fn edge(&mut self, anchor: &str) -> bool {
        if self.take(anchor) || self.take("\\b") {
            return true;
        }
        let before = self.rest;
        let (mut open, mut anchored) = (self.open(), false);
        while open {
            if self.take(anchor) || self.take("\\b") {
                anchored = true;
            } else if !["\\,", ",", "\\s", " "].iter().any(|edge| self.take(edge)) {
                break;
            }
            if anchored && self.take(")") {
                return true;
            }
            open = self.take("|");
        }
        self.rest = before;
        false
    }

    fn open(&mut self) -> bool {
        self.take("(?:") || (!self.rest.starts_with("(?") && self.take("("))
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::expression::translated, *};
    use proptest::prelude::*;
    use regex::Regex;

    #[test]
    fn what_clients_write_is_read() {
        for (expression, tags) in [
            // FOSHttpCache.
            ("(^|,)(tag1|tag2)(,|$)", &["tag1", "tag2"][..]),
            ("(^|,)(a\\-b|c\\.d)(,|$)", &["a-b", "c.d"]),
            // Magento.
            (
                "((^|,)cat_p_12(,|$))|((^|,)cat_p(,|$))",
                &["cat_p_12", "cat_p"],
            ),
            ("((^|,)FPC(,|$))", &["FPC"]),
            // Proxy Cache Purge.
            ("p-12|a-3|t-7|home", &["p-12", "a-3", "t-7", "home"]),
            ("\\bp-12\\b", &["p-12"]),
            ("\\b(p-12|home)\\b", &["p-12", "home"]),
            // API Platform.
            ("(/books/1|/books)($|\\,)", &["/books/1", "/books"]),
            ("/books/1($|\\,)", &["/books/1"]),
            // Recipes for Drupal.
            ("(^|\\s)node:1(\\s|$)", &["node:1"]),
            ("^a$", &["a"]),
            ("(?:^|,)(?:a|b)(?:,|$)", &["a", "b"]),
            ("a|a|b", &["a", "b"]),
            ("product\\:12|\\#x\\<y\\>", &["product:12", "#x<y>"]),
        ] {
            let tags = tags.iter().map(|&tag| tag.to_owned()).collect();
            assert_eq!(tag_set(expression), Some(tags), "{expression}");
        }
    }

    #[test]
    fn whatever_else_is_left_to_be_matched() {
        for expression in [
            "",
            ".*",
            "a.*",
            "a,b",
            "a\\,b",
            "[ab]",
            "a+",
            "a?",
            "(a",
            "a)",
            "a|",
            "|a",
            "(?i)a",
            "\\d",
            "a\\",
            "()",
            "(^|,)",
            "(a|b)c",
            "a(b|c)",
            "(?!a)",
            "a{2}",
            "(^|,)(,|$)",
        ] {
            assert_eq!(tag_set(expression), None, "{expression}");
        }
        let deep = format!("{}a{}", "(".repeat(20), ")".repeat(20));
        assert_eq!(tag_set(&deep), None);
    }

    /// Quotes like PHP's `preg_quote`.
    fn quoted(tag: &str) -> String {
        let mut text = String::new();
        for letter in tag.chars() {
            if ".\\+*?[^]$(){}=!<>|:-#/".contains(letter) {
                text.push('\\');
            }
            text.push(letter);
        }
        text
    }

    proptest! {
        #[test]
        fn each_shape_is_read(
            tags in prop::collection::hash_set("[!-+\\--~]{1,8}( [!-+\\--~]{1,4})?", 1..8),
            shape in 0..6,
        ) {
            let tags: Vec<_> = tags.into_iter().collect();
            let quoted: Vec<_> = tags.iter().map(|tag| quoted(tag)).collect();
            let joined = quoted.join("|");
            let each = |before: &str, after: &str| {
                let each = quoted.iter().map(|tag| format!("{before}{tag}{after}"));
                each.collect::<Vec<_>>().join("|")
            };
            let expression = match shape {
                0 => format!("(^|,)({joined})(,|$)"),
                1 => each("((^|,)", "(,|$))"),
                2 => joined,
                3 => each("\\b", "\\b"),
                4 => format!("({joined})($|\\,)"),
                _ => format!("(?:^|,)(?:{joined})(?:,|$)"),
            };
            prop_assert_eq!(tag_set(&expression), Some(tags));
        }

        #[test]
        fn a_set_is_what_the_expression_matches(expression in "([ab,^$|()?:\\\\. ]|\\(\\^\\|,\\)|\\(,\\|\\$\\)){0,16}") {
            let Some(tags) = tag_set(&expression) else {
                return Ok(());
            };
            prop_assert!(!tags.is_empty());
            // Where a word has its edge depends on the tag.
            if !expression.contains("\\b") && let Ok(regex) = Regex::new(&translated(&expression)) {
                for tag in tags {
                    prop_assert!(regex.is_match(&tag), "{} of {}", tag, expression);
                }
            }
        }
    }
}
