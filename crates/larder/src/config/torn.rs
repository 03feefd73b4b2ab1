//! The parts of a file that could not be read, and their tables. A key that seems to be missing there may have been
//! written.

use super::{Fault, keys, read::covers, schema::View};
use std::ops::Range;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// What was removed while the file was read.
#[derive(Debug, Default)]
pub(super) struct Torn {
    /// Anything may be missing, in any table.
    all: bool,
    losses: Vec<Loss>,
}

/// One value that could not be read.
#[derive(Debug)]
struct Loss {
    /// The key at the top of the file under which the value was.
    table: String,
    /// Where that table and its whole content are.
    places: Vec<Range<usize>>,
    /// The keys that lead to the value, from within the table. Empty if it may have been any key.
    path: Vec<String>,
}

impl Loss {
    /// Whether the lost value may have belonged to one of these `keys`.
    fn may_say(&self, keys: &[&str]) -> bool {
        self.path.is_empty() || self.path.iter().any(|key| keys.contains(&key.as_str()))
    }
}

impl Torn {
    /// Finds what was lost in reading `text`, which had `faults`. `top` is the schema of a file.
    pub(super) fn of(text: &str, faults: &[Fault], top: View<'_>) -> Self {
        if faults.is_empty() {
            return Self::default();
        }
        let (document, errors) = DeTable::parse_recoverable(text);
        let mut torn = Self {
            all: !errors.is_empty(),
            ..Self::default()
        };
        let sections: Vec<Section<'_>> = document.get_ref().iter().flat_map(sections).collect();
        for fault in faults {
            let around = |section: &&Section<'_>| {
                let mut places = section.places.iter();
                fault
                    .span
                    .as_ref()
                    .is_some_and(|span| places.any(|place| covers(place, span)))
            };
            match (sections.iter().find(around), &fault.span) {
                (Some(section), Some(span)) => torn.lose(section, span, top),
                _ => torn.all = true,
            }
        }
        torn
    }

    /// Records that the value at `span`, in `section`, could not be read.
    fn lose(&mut self, section: &Section<'_>, span: &Range<usize>, top: View<'_>) {
        let Some((known, top)) = top.table() else {
            self.all = true;
            return;
        };
        let key = if known.contains_key(section.key) {
            Some(section.key)
        } else {
            keys::nearest_key(section.key, known)
        };
        let Some(key) = key else {
            self.all |= section.is_table();
            return;
        };
        let mut path = Vec::new();
        if let Some(schema) = known.get(key).map(|schema| top.to(schema)) {
            let members = schema.members().filter(|_| section.is_table());
            follow(section.value, members.unwrap_or(schema), span, &mut path);
        }
        if !section.is_table() {
            path.insert(0, key.to_owned());
        }
        self.losses.push(Loss {
            table: key.to_owned(),
            places: section.places.clone(),
            path,
        });
    }

    /// Describes a file of which nothing could be read.
    pub(super) const fn whole() -> Self {
        Self {
            all: true,
            losses: Vec::new(),
        }
    }

    /// Whether anything was lost.
    pub(super) fn any(&self) -> bool {
        self.all || !self.losses.is_empty()
    }

    /// Whether one of `keys` may have been lost from the table that contains `place`.
    pub(super) fn at(&self, place: &Range<usize>, keys: &[&str]) -> bool {
        self.may_have_lost(keys, |loss| {
            loss.places.iter().any(|torn| covers(torn, place))
        })
    }

    /// Whether one of `keys` may have been lost from the table under `table`, or from one of the tables of a list
    /// there.
    pub(super) fn under(&self, table: &str, keys: &[&str]) -> bool {
        self.may_have_lost(keys, |loss| loss.table == table)
    }

    /// Whether one of `keys` may be in a loss for which `here` holds.
    fn may_have_lost(&self, keys: &[&str], here: impl Fn(&Loss) -> bool) -> bool {
        let mut losses = self.losses.iter();
        self.all || losses.any(|loss| here(loss) && loss.may_say(keys))
    }
}

/// Collects into `path` the keys that lead to `span` within `value`, and returns whether `span` is there. An unknown
/// key that resembles no known one leaves the path empty, because any key may have been meant.
fn follow(
    value: &Spanned<DeValue<'_>>,
    schema: View<'_>,
    span: &Range<usize>,
    path: &mut Vec<String>,
) -> bool {
    match value.get_ref() {
        DeValue::Table(table) => {
            let mut entries = table.iter();
            entries.any(|entry| follow_key(entry, schema, span, path))
        }
        DeValue::Array(list) => {
            let members = schema.members().unwrap_or(schema);
            let mut list = list.iter();
            list.any(|one| follow(one, members, span, path) || covers(&one.span(), span))
        }
        _ => false,
    }
}

fn follow_key<K: AsRef<str>>(
    (key, value): (&Spanned<K>, &Spanned<DeValue<'_>>),
    schema: View<'_>,
    span: &Range<usize>,
    path: &mut Vec<String>,
) -> bool {
    let Some((known, schema)) = schema.table() else {
        return false;
    };
    let own = key.get_ref().as_ref();
    let meant = if known.contains_key(own) {
        Some(own)
    } else {
        keys::nearest_key(own, known)
    };
    let before = path.len();
    path.extend(meant.map(str::to_owned));
    let below = meant.and_then(|meant| known.get(meant));
    if below.is_some_and(|below| follow(value, schema.to(below), span, path)) {
        return true;
    }
    let is_here = covers(&key.span(), span) || covers(&value.span(), span);
    if is_here && meant.is_none() {
        path.clear();
    } else if !is_here {
        path.truncate(before);
    }
    is_here
}

/// A value at the top of the file, or one table of a list there.
struct Section<'a> {
    key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
    places: Vec<Range<usize>>,
}

impl Section<'_> {
    fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }
}

fn sections<'a, K: AsRef<str>>(
    (key, value): (&'a Spanned<K>, &'a Spanned<DeValue<'a>>),
) -> Vec<Section<'a>> {
    let is_table = |member: &Spanned<DeValue<'_>>| matches!(member.get_ref(), DeValue::Table(_));
    let section = |value: &'a Spanned<DeValue<'a>>, mut places: Vec<Range<usize>>| {
        inside(value, &mut places);
        Section {
            key: key.get_ref().as_ref(),
            value,
            places,
        }
    };
    match value.get_ref() {
        DeValue::Array(list) if list.iter().any(is_table) => list
            .iter()
            .map(|member| section(member, Vec::new()))
            .collect(),
        _ => vec![section(value, vec![key.span()])],
    }
}

/// Collects the places of `value` and of everything in it.
fn inside(value: &Spanned<DeValue<'_>>, places: &mut Vec<Range<usize>>) {
    places.push(value.span());
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                places.push(key.span());
                inside(value, places);
            }
        }
        DeValue::Array(list) => list.iter().for_each(|member| inside(member, places)),
        _ => {}
    }
}
