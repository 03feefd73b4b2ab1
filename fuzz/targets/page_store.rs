//! What lies in a page store, and the templates of its keys. The first line is a template, the rest a value.
#![no_main]

use bytes::Bytes;
use http::{Method, Uri};
use libfuzzer_sys::fuzz_target;
use origin::pages::{
    block, pickle,
    template::{TemplateInput, Template},
};

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |&byte| byte == b'\n');
    let (text, value) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    if let Ok(template) = std::str::from_utf8(text)
        .map_err(drop)
        .and_then(|text| Template::parse(text).map_err(drop))
    {
        let uri = Uri::from_static("/a%20b?c=d");
        let asked = TemplateInput {
            scheme: "https",
            host: "shop.example:8443",
            method: &Method::GET,
            uri: &uri,
        };
        let key = template.key(&asked);
        assert!(
            key.is_some_and(|key| key.contains("/a")),
            "a key names the page"
        );
    }
    let value = Bytes::copy_from_slice(value);
    if let Ok((status, fields, body)) = block::read(&value) {
        assert!(value.ends_with(&body), "a body is the end of its value");
        assert!(status.as_u16() >= 200 && !fields.contains_key("set-cookie"));
    }
    if let Some(found) = pickle::read(&value) {
        assert!(value.windows(found.len().max(1)).any(|part| part == found) || found.is_empty());
    }
});
