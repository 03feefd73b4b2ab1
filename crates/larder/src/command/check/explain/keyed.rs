//! Describes which parts of a request are in the key, and what is changed on the way.

use proxy::policy::{Edit, KeySpec, Policy};
use rules::key::{ParamPattern, QueryChoice, tracking};
use std::fmt::Display;

/// Describes the parts of the key, if they differ from the default.
pub(super) fn keyed(key: &KeySpec) -> Vec<String> {
    let mut lines = Vec::new();
    if !key.scheme {
        lines.push("http and https share what is stored".to_owned());
    }
    if !key.host {
        lines.push("all hosts share what is stored".to_owned());
    }
    match &key.query {
        QueryChoice::All => {}
        QueryChoice::None => lines.push("no parameter is in the key".to_owned()),
        QueryChoice::Only(list) => lines.push(format!(
            "only these parameters are in the key: {}",
            joined(list)
        )),
        QueryChoice::Except(list) => {
            lines.push(format!(
                "all parameters are in the key except {}",
                joined(list)
            ));
        }
    }
    lines.extend(dropped(&key.drop));
    if key.sort {
        lines.push("the order of parameters does not matter".to_owned());
    }
    if !key.headers.is_empty() {
        lines.push(format!("headers in the key: {}", joined(&key.headers)));
    }
    if !key.cookies.is_empty() {
        lines.push(format!("cookies in the key: {}", joined(&key.cookies)));
    }
    lines
}

/// Names the parameters that the origin does not see. Those that serve only tracking have one common name.
fn dropped(drop: &QueryChoice) -> Option<String> {
    let QueryChoice::Except(list) = drop else {
        return None;
    };
    let tracking = tracking();
    let all = tracking.iter().all(|one| list.contains(one));
    let own = |one: &&ParamPattern| !all || !tracking.contains(one);
    let mut names: Vec<String> = list.iter().filter(own).map(ToString::to_string).collect();
    if all {
        names.push("all tracking parameters".to_owned());
    }
    Some(format!("dropped parameters: {}", names.join(", ")))
}

/// Names the fields that are passed on although they could make a page for one client that others then get.
pub(super) fn passed(policy: &Policy) -> Option<String> {
    let fields = &policy.to_origin.pass_fields;
    (!fields.is_empty()).then(|| format!("the origin gets {} as clients send it", joined(fields)))
}

/// Describes changes of header fields. Values that requests are given may be secret.
pub(super) fn edited(policy: &Policy) -> Vec<String> {
    let requests = policy.to_origin.edits.iter().map(|edit| match edit {
        Edit::Set(name, _) => format!("requests are sent with {name} as configured"),
        Edit::Add(name, _) => format!("requests are sent with a further {name}"),
        Edit::Remove(name) => format!("requests are sent without {name}"),
    });
    let value = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let answers = policy.to_client.edits.iter().map(|edit| match edit {
        Edit::Set(name, text) => format!("answers are sent with {name}: {}", value(text)),
        Edit::Add(name, text) => format!("answers are sent with a further {name}: {}", value(text)),
        Edit::Remove(name) => format!("answers are sent without {name}"),
    });
    requests.chain(answers).collect()
}

fn joined<T: Display>(list: &[T]) -> String {
    let names: Vec<String> = list.iter().map(ToString::to_string).collect();
    names.join(", ")
}
