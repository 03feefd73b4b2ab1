//! Purges as clients write them: a head, an empty line, and content for the dialects that have one.
#![no_main]

use http::{Method, Uri};
use libfuzzer_sys::fuzz_target;
use proxy::{
    policy::PurgePolicy,
    purge_clients::{Head, Spoken, Wish, api, recognise, tag_set},
    target::Target,
};
use std::net::Ipv4Addr;

fuzz_target!(|data: &[u8]| {
    let (head, content) = larder_fuzz::halves(data);
    let (first, fields) = larder_fuzz::head(head);
    let mut words = first.split(|&byte| byte == b' ');
    let method = words.next().map(Method::from_bytes);
    let uri = words.next().map(Uri::try_from);
    let (Some(Ok(method)), Some(Ok(uri))) = (method, uri) else {
        return;
    };
    let target = Target::from(uri);
    let open = PurgePolicy {
        get_prefix: Some("/purge".to_owned()),
        souin: Some("/souin".to_owned()),
        ..PurgePolicy::default()
    };
    let closed = PurgePolicy {
        allow: Vec::new(),
        ..open.clone()
    };
    let head = Head {
        method: &method,
        target: &target,
        fields: &fields,
        refreshes: fields.contains_key("x-refresh"),
        peer: Some(Ipv4Addr::LOCALHOST.into()),
    };
    let command = match recognise(&open, head) {
        Spoken::Command(command) => command.ok(),
        Spoken::Content(expected) => api::content(&expected, content).ok(),
        Spoken::Nothing | Spoken::Denied(_) | Spoken::Refresh | Spoken::List => None,
    };
    for wish in command.iter().flat_map(|command| &command.wishes) {
        assert!(
            !matches!(wish, Wish::Tags(tags) if tags.is_empty()),
            "a wish names something"
        );
    }
    let denied = recognise(&closed, head);
    assert!(
        matches!(denied, Spoken::Nothing | Spoken::Denied(_)),
        "nobody may: {denied:?}"
    );
    for value in fields.values() {
        let text = String::from_utf8_lossy(value.as_bytes());
        if let Some(tags) = tag_set(&text) {
            assert!(!tags.is_empty() && tags.iter().all(|tag| !tag.is_empty()));
        }
    }
});
