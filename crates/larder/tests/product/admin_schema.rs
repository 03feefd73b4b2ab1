//! What the admin API answers, held against the document in which it describes itself.

use crate::{
    common::{counted, start_with},
    purge::post,
};
use serde_json::{Value, json};
use testkit::{Client, Gate, Larder, Origin, Reply, Response, wait_until};

/// The document, as it is served.
struct Document(Value);

impl Document {
    fn of(larder: &Larder) -> Self {
        let answer = larder.admin_get("/openapi.json").send();
        Self(serde_json::from_slice(&answer.body).expect("JSON"))
    }

    /// What it says of an answer: of this operation, with this status.
    fn response(&self, path: &str, method: &str, status: u16) -> &Value {
        let told = &self.0["paths"][path][method]["responses"][status.to_string()];
        assert!(
            told.is_object(),
            "{method} {path} does not tell of {status}"
        );
        told
    }

    /// Whether an answer is as it says.
    #[track_caller]
    fn holds(&self, path: &str, method: &str, status: u16, answer: &Response) {
        let what = format!("{method} {path}");
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        let content = &self.response(path, method, status)["content"];
        let kinds = content.as_object().expect("media types");
        let kind = answer.header("content-type").expect("a media type");
        let kind = kind.split(';').next().unwrap_or_default().trim();
        assert!(kinds.contains_key(kind), "{what} {status}: {kind}");
        let schema = &kinds[kind]["schema"];
        let value = if kind == "application/json" {
            serde_json::from_slice(&answer.body).expect("JSON")
        } else {
            Value::String(answer.text())
        };
        let mut wrong = Vec::new();
        self.judge(schema, &value, &what, &mut wrong);
        assert!(wrong.is_empty(), "{status}: {wrong:#?}\n{value}");
    }

    /// Notes where `value` is not what `schema` says; of its keywords (JSON Schema 2020-12) those that are used.
    fn judge(&self, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
        let Value::Object(keywords) = schema else {
            assert_eq!(schema, &json!(true), "{at}");
            return;
        };
        for (keyword, says) in keywords {
            let fits = match keyword.as_str() {
                "$ref" => {
                    let pointer = says.as_str().expect("text").trim_start_matches('#');
                    let referred = self.0.pointer(pointer).expect("a schema");
                    self.judge(referred, value, at, wrong);
                    true
                }
                "type" => names(says).any(|name| is(name, value)),
                "const" => value == says,
                "enum" => says.as_array().expect("a list").contains(value),
                "minimum" => value.as_f64() >= says.as_f64(),
                "maximum" => value.as_f64() <= says.as_f64(),
                "required" => names(says).all(|name| value.get(name).is_some()),
                "oneOf" | "anyOf" => {
                    let choices = says.as_array().expect("a list").iter();
                    let fitting = choices.filter(|choice| {
                        let mut wrong = Vec::new();
                        self.judge(choice, value, at, &mut wrong);
                        wrong.is_empty()
                    });
                    matches!((keyword.as_str(), fitting.count()), (_, 1) | ("anyOf", 2..))
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.judge(says, item, &format!("{at}[{index}]"), wrong);
                    }
                    true
                }
                "properties" => {
                    self.judge_members(says, value, at, wrong);
                    true
                }
                "additionalProperties" => says == &json!(true),
                "title" | "description" | "default" | "format" => true,
                other => panic!("{at}: {other} is not known here"),
            };
            if !fits {
                wrong.push(format!("{at}: {keyword} {says}"));
            }
        }
    }

    /// Every member is one that is told of, and is what is said of it.
    fn judge_members(&self, told: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
        for (name, inner) in value.as_object().into_iter().flatten() {
            match told.get(name) {
                Some(schema) => self.judge(schema, inner, &format!("{at}.{name}"), wrong),
                None => wrong.push(format!("{at}: nothing is told of {name}")),
            }
        }
    }
}

/// One name, or the names of a list.
fn names(says: &Value) -> impl Iterator<Item = &str> {
    let one = says.as_str().into_iter();
    let several = says.as_array().into_iter().flatten();
    one.chain(several.map(|name| name.as_str().expect("a name")))
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}

/// Pages with tags and groups, some of them stored.
fn site(config: &str) -> (Origin, Larder, Document) {
    let (origin, larder) = start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{config}"));
    origin.otherwise(|request| {
        counted(request)
            .cache("max-age=60")
            .header("xkey", "news")
            .header("Cache-Groups", "\"front\"")
    });
    origin.reply(
        "/varying",
        Reply::ok()
            .cache("max-age=60, stale-while-revalidate=5")
            .header("Vary", "Accept-Language")
            .body("x"),
    );
    for target in ["/", "/varying"] {
        larder.get(target).send();
    }
    let document = Document::of(&larder);
    (origin, larder, document)
}

/// Asks for this with these fields; `Host` is to be among them.
fn ask(larder: &Larder, method: &str, path: &str, fields: &[(&str, &str)], body: &str) -> Response {
    let mut admin = Client::connect(larder.admin());
    let ask = fields
        .iter()
        .fold(admin.ask(method, path), |ask, (name, value)| {
            ask.header(name, value)
        });
    ask.body(body).send()
}

#[test]
fn purges_are_answered_as_the_document_says() {
    let (_origin, larder, document) = site("");
    for purge in [
        json!({ "url": "http://example.test/" }),
        json!({ "prefix": "/x" }),
        json!({ "prefix": "http://example.test/x", "soft": true }),
        json!({ "tag": "news" }),
        json!({ "tags": ["news", "other"], "wait": true }),
        json!({ "host": "example.test", "wait": "1s" }),
        json!({ "groups": ["front"], "host": "example.test" }),
        json!({ "regex": "/x$" }),
        json!({ "everything": true, "soft": true }),
        json!({ "purges": [{ "tags": ["a"] }, { "everything": true }], "relay": false }),
    ] {
        let answer = post(&larder, purge.to_string());
        document.holds("/purge", "post", 200, &answer);
        let told: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let understood = told["purged"].as_object().expect("an object");
        assert!(!understood.is_empty(), "{purge}: {told}");
    }
}

#[test]
fn purges_are_refused_as_the_document_says() {
    let (_origin, larder, document) = site("");
    let json = ("Content-Type", "application/json");
    let local = ("Host", "localhost");
    let long = json!({ "tag": "x".repeat(2 << 20) }).to_string();
    // More expressions at once than may ever wait.
    let patterns = (0..1025).map(|number| json!({ "patterns": [["url", format!("/{number}$")]] }));
    let many = json!({ "purges": patterns.collect::<Vec<_>>() }).to_string();
    for (status, fields, body) in [
        (400, &[local, json][..], "everything"),
        (400, &[local, json], "{}"),
        (400, &[local, json], r#"{"all":true}"#),
        (400, &[local, json], r#"{"regex":"("}"#),
        (413, &[local, json], long.as_str()),
        (415, &[local], r#"{"everything":true}"#),
        (503, &[local, json], many.as_str()),
    ] {
        let answer = ask(&larder, "POST", "/purge", fields, body);
        document.holds("/purge", "post", status, &answer);
        let again = answer.header("retry-after");
        assert_eq!(again.is_some(), status == 503, "{status}: {again:?}");
    }
    // A body that does not come: the bound is the program's own.
    let mut slow = Client::connect(larder.admin());
    slow.send("POST /purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n{");
    document.holds("/purge", "post", 408, &slow.read());
}

/// It holds here, and nobody could remember it.
#[test]
fn a_purge_that_does_not_last_is_told_as_the_document_says() {
    let (_origin, larder, document) = site("[purge]\nlog = \"/dev/null/log\"\n");
    let answer = post(&larder, r#"{"everything":true}"#);
    document.holds("/purge", "post", 500, &answer);
}

#[test]
fn everything_else_is_answered_as_the_document_says() {
    let (_origin, larder, document) = site("");
    let get = |target: &str| larder.admin_get(target).send();
    let cursor: Value = serde_json::from_slice(&get("/purges").body).expect("JSON");
    let cursor = cursor["cursor"].as_str().expect("a cursor").to_owned();
    assert_eq!(post(&larder, r#"{"tag":"news"}"#).status, 200);
    for (path, query, status) in [
        ("/", "", 200),
        ("/metrics", "", 200),
        ("/healthz", "", 200),
        ("/readyz", "", 200),
        ("/openapi.json", "", 200),
        ("/purges", "", 200),
        ("/purges", &format!("?after={cursor}"), 200),
        ("/purges", "?after=nonsense", 200),
        ("/purges", &format!("?after={cursor}&wait=nonsense"), 400),
        ("/purges", &format!("?after={cursor}&wait=1h"), 400),
        ("/purges", "?other=1", 400),
        ("/explain", "?url=http://example.test/", 200),
        ("/explain", "?url=http://example.test/varying", 200),
        (
            "/explain",
            "?url=http://example.test/varying&header=Accept-Language:%20de",
            200,
        ),
        ("/explain", "?url=http://example.test/nowhere", 200),
        ("/explain", "?url=nonsense", 400),
        ("/explain", "", 400),
        ("/explain", "?url=http://example.test/&header=nonsense", 400),
    ] {
        let answer = get(&format!("{path}{query}"));
        document.holds(path, "get", status, &answer);
    }
}

/// What no operation is asked for, and who may not ask, are told of in the same form.
#[test]
fn refusals_of_every_kind_have_one_form() {
    let (_origin, larder, document) = site("");
    for (method, path, host, status) in [
        ("GET", "/nowhere", "localhost", 404),
        ("PUT", "/purge", "localhost", 405),
        ("POST", "/metrics", "localhost", 405),
        ("POST", "/purge", "evil.test", 403),
        ("GET", "/explain", "evil.test", 403),
        ("POST", "/metrics", "evil.test", 403),
    ] {
        let answer = ask(&larder, method, path, &[("Host", host)], "");
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let told: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let mut wrong = Vec::new();
        let schema = &document.0["components"]["schemas"]["Refusal"];
        document.judge(schema, &told, path, &mut wrong);
        assert!(schema.is_object() && wrong.is_empty(), "{wrong:#?}");
    }
}

/// A node that drains is not ready, and says so in that form.
#[test]
fn a_node_that_drains_is_told_as_the_document_says() {
    let (origin, larder, document) = site("");
    let gate = Gate::new();
    origin.reply("/held", Reply::ok().hold_head(&gate));
    let mut client = larder.get("/held").begin();
    gate.wait_reached();
    larder.terminate();
    wait_until("it drains", || {
        larder.admin_get("/readyz").send().status == 503
    });
    let answer = larder.admin_get("/readyz").send();
    document.holds("/readyz", "get", 503, &answer);
    gate.open();
    assert_eq!(client.read().status, 200);
}
