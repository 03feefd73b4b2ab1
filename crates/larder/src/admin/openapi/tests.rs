use super::*;
use crate::admin::{purge::Request, routes};
use proxy::policy::Site;

fn site() -> Site {
    let text = "[[origin]]\nservers = \"http://127.0.0.1:1\"\n";
    let flags = crate::config::Flags::default();
    crate::config::parse(text, "test", &flags).unwrap().site
}

#[test]
fn every_route_is_told_of() {
    let document = document();
    let told = document["paths"].as_object().unwrap().keys();
    let there: Vec<_> = routes().into_iter().map(|(path, _)| path).collect();
    assert_eq!(told.collect::<Vec<_>>(), there);
    assert_eq!(document["openapi"], "3.1.0");
}

#[test]
fn every_reference_leads_somewhere() {
    fn look(value: &Value, document: &Value, seen: &mut usize) {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
            *seen += 1;
        }
        let members = value.as_object().into_iter().flat_map(|map| map.values());
        let items = value.as_array().into_iter().flatten();
        for inner in members.chain(items) {
            look(inner, document, seen);
        }
    }
    let document = document();
    let mut seen = 0;
    look(&document, &document, &mut seen);
    assert!(seen > 8, "{seen}");
}

/// Whether `value` is valid by `schema`. Knows the keywords that the request's schema uses (JSON Schema 2020-12), and
/// no others.
fn holds(schema: &Value, value: &Value, document: &Value) -> bool {
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        other => panic!("{other}"),
    };
    let known = schema.as_object().unwrap().iter();
    known.fold(true, |so_far, (keyword, says)| {
        so_far
            & match keyword.as_str() {
                "type" => match says {
                    Value::String(name) => is(name),
                    names => names
                        .as_array()
                        .unwrap()
                        .iter()
                        .any(|name| is(name.as_str().unwrap())),
                },
                "required" => {
                    let mut names = says.as_array().unwrap().iter();
                    names.all(|name| value.get(name.as_str().unwrap()).is_some())
                }
                "not" => !holds(says, value, document),
                "oneOf" => {
                    let choices = says.as_array().unwrap().iter();
                    choices
                        .filter(|choice| holds(choice, value, document))
                        .count()
                        == 1
                }
                "properties" => value.as_object().is_none_or(|map| {
                    map.iter().all(|(name, inner)| {
                        says.get(name)
                            .is_none_or(|says| holds(says, inner, document))
                    })
                }),
                "additionalProperties" => {
                    let properties = schema.get("properties");
                    let is_known =
                        |name: &String| properties.is_some_and(|all| all.get(name).is_some());
                    says != &json!(false)
                        || value.as_object().is_none_or(|map| map.keys().all(is_known))
                }
                "items" => value
                    .as_array()
                    .is_none_or(|list| list.iter().all(|item| holds(says, item, document))),
                "minItems" | "minLength" => {
                    length(value).is_none_or(|length| length as u64 >= says.as_u64().unwrap())
                }
                "const" => value == says,
                "title" | "description" | "default" | "examples" => true,
                other => panic!("{other} in {schema}"),
            }
    })
}

fn length(value: &Value) -> Option<usize> {
    let items = value.as_array().map(Vec::len);
    items.or_else(|| Some(value.as_str()?.chars().count()))
}

#[test]
fn what_the_schema_takes_is_taken_and_what_it_refuses_is_refused() {
    let document = document();
    let body = document.pointer("/paths/~1purge/post/requestBody/content/application~1json");
    let schema = &body.unwrap()["schema"];
    let mut requests = vec![
        (json!({ "url": "http://a.example/x" }), true),
        (json!({ "prefix": "/x", "soft": true }), true),
        (json!({ "tag": "a", "wait": true }), true),
        (json!({ "tags": ["a", "b"], "wait": "10s" }), true),
        (json!({ "host": "a.example", "soft": false }), true),
        (json!({ "regex": "x" }), true),
        (json!({ "everything": true, "wait": false }), true),
        (
            json!({ "purges": [{ "everything": true }], "relay": false }),
            true,
        ),
        (json!({ "groups": ["a"], "host": "a.example" }), true),
        (json!({ "groups": ["a"] }), false),
        (json!({ "groups": [], "host": "a.example" }), false),
        (
            json!({ "groups": ["a"], "host": "a.example", "tag": "a" }),
            false,
        ),
        (json!({}), false),
        (json!([]), false),
        (json!({ "soft": true }), false),
        (json!({ "url": "http://a.example/", "tag": "a" }), false),
        (json!({ "url": 1 }), false),
        (json!({ "tags": [] }), false),
        (json!({ "tags": [1] }), false),
        (json!({ "regex": "" }), false),
        (json!({ "everything": false }), false),
        (json!({ "everything": true, "wait": 10 }), false),
        (json!({ "everything": true, "other": 1 }), false),
        (json!({ "purges": [1] }), false),
    ];
    let examples = body.unwrap()["examples"].as_object().unwrap();
    requests.extend(
        examples
            .values()
            .map(|example| (example["value"].clone(), true)),
    );
    for (request, good) in requests {
        assert_eq!(
            holds(schema, &request, &document),
            good,
            "the schema: {request}"
        );
        let read = Request::read(request.to_string().as_bytes());
        let purges = read.and_then(|read| read.purges(&site()));
        assert_eq!(purges.is_ok(), good, "the program: {request}");
    }
}
