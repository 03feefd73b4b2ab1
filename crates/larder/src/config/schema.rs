//! The JSON schema of the configuration, generated from [`written`].

use super::written;
use schemars::{
    Schema,
    generate::SchemaSettings,
    transform::{RecursiveTransform, transform_subschemas},
};
use serde_json::{Map, Value};

/// Returns the schema of a configuration file, for editors and for the reference page.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(without_null))
        .into_generator();
    let mut schema = generator.into_root_schema_for::<written::Config>();
    transform_subschemas(&mut RecursiveTransform(without_empty), &mut schema);
    schema.to_value()
}

/// Removes `null`, which TOML does not have: an optional key is one that may be absent.
fn without_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(Value::Array(mut choices)) = object.remove("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        match (choices.len(), choices.pop()) {
            // The description of the key takes precedence over that of its type.
            (1, Some(Value::Object(only))) => {
                for (key, value) in only {
                    if key != "description" {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            (_, last) => {
                choices.extend(last);
                object.insert("anyOf".to_owned(), Value::Array(choices));
            }
        }
    }
}

/// Drops empty lists of examples.
fn without_empty(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        object.retain(|key, value| key != "examples" || value != &Value::Array(Vec::new()));
    }
}

/// A view into a schema that follows references within `root`.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    root: &'a Value,
    here: &'a Value,
}

impl<'a> View<'a> {
    /// The whole schema.
    pub(super) const fn root(root: &'a Value) -> Self {
        Self { root, here: root }
    }

    /// The schema of the table that is allowed here, also behind a choice or a reference.
    pub(super) fn table(self) -> Option<(&'a Map<String, Value>, Self)> {
        let here = self.resolved();
        if let Some(properties) = here.here.get("properties").and_then(Value::as_object) {
            return Some((properties, here));
        }
        here.choices().find_map(Self::table)
    }

    /// The schema of the members of the list that is allowed here.
    pub(super) fn members(self) -> Option<Self> {
        let here = self.resolved();
        if let Some(items) = here.here.get("items") {
            return Some(here.to(items));
        }
        here.choices().find_map(Self::members)
    }

    /// Whether text is allowed here.
    pub(super) fn is_text(self) -> bool {
        let here = self.resolved();
        here.here.get("type").is_some_and(|kind| kind == "string")
            || here.choices().any(Self::is_text)
    }

    /// Whether one of several words is allowed here.
    pub(super) fn is_word(self) -> bool {
        let mut choices = self.resolved().choices();
        choices.any(|choice| choice.get("const").is_some())
    }

    /// Whether `key` takes `true` or `false` in any table.
    pub(super) fn is_switch(self, key: &str) -> bool {
        self.in_any_table(key).any(Self::is_boolean)
    }

    /// Whether `key` takes a list in any table.
    pub(super) fn is_list(self, key: &str) -> bool {
        self.in_any_table(key).any(|key| key.members().is_some())
    }

    /// The schemas of `key` in all tables.
    fn in_any_table(self, key: &str) -> impl Iterator<Item = Self> {
        let tables = self.root.get("$defs").and_then(Value::as_object);
        let tables = tables.into_iter().flat_map(Map::values);
        let tables = std::iter::once(self.root).chain(tables);
        let keys = tables.filter_map(move |table| table.get("properties")?.get(key));
        keys.map(move |key| self.to(key))
    }

    pub(super) fn is_boolean(self) -> bool {
        let here = self.resolved();
        here.here.get("type").is_some_and(|kind| kind == "boolean")
            || here.choices().any(Self::is_boolean)
    }

    /// Whether `key` takes a list of tables at the top of the file.
    pub(super) fn is_list_at_top(self, key: &str) -> bool {
        let top = Self::root(self.root).table();
        let schema = top.and_then(|(known, top)| known.get(key).map(|inner| top.to(inner)));
        schema.is_some_and(|schema| schema.members().and_then(Self::table).is_some())
    }

    /// The schema of `value`, found inside this one.
    pub(super) const fn to(self, here: &'a Value) -> Self {
        Self { here, ..self }
    }

    /// The name of the definition used here, if it has one.
    pub(super) fn reference(self) -> Option<&'a str> {
        let own = self.here.get("$ref").and_then(Value::as_str);
        own.or_else(|| self.get("items")?.get("$ref")?.as_str())
    }

    /// Returns a keyword of the schema here.
    pub(super) fn get(self, keyword: &str) -> Option<&'a Value> {
        self.here
            .get(keyword)
            .or_else(|| self.resolved().here.get(keyword))
    }

    /// The target of `$ref`, or this schema itself.
    pub(super) fn resolved(self) -> Self {
        let target = self
            .here
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| self.root.pointer(reference.trim_start_matches('#')));
        target.map_or(self, |target| self.to(target))
    }

    /// The alternatives, one of which must hold.
    pub(super) fn choices(self) -> impl Iterator<Item = Self> {
        let list = ["anyOf", "oneOf"]
            .into_iter()
            .filter_map(move |keyword| self.here.get(keyword)?.as_array());
        list.flatten().map(move |choice| self.to(choice))
    }
}
