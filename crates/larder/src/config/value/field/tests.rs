use super::*;

#[test]
fn lines() {
    let line = FieldLine::parse("X-Served-By: larder: one").unwrap();
    assert_eq!(
        (line.name.as_str(), line.value.as_bytes()),
        ("x-served-by", &b"larder: one"[..])
    );
    for text in [
        "X-A",
        "Content-Length: 3",
        "Content-Range: bytes 0-0/1",
        "Host: a",
        "A B: c",
        "X-A: b\u{7}",
        "X-Real-IP: $remote_addr",
        "X-Host: ${host}:80",
        "X-Status: $status",
        "X-URL: $scheme://a$request_uri",
    ] {
        FieldLine::parse(text).unwrap_err();
    }
    FieldLine::parse("X-Price: 5 $ or $US 6").unwrap();
}

#[test]
fn names_are_proposed_as_they_are_meant() {
    for (text, instead) in [
        ("X-A: 1", "\"X-A\""),
        ("X-A:1", "\"X-A\""),
        (" Accept  Language ", "\"Accept-Language\""),
    ] {
        let wrong = KeyedName::read(text).unwrap_err();
        assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
    }
    for text in [
        "X-Größe_b",
        ": 1",
        "X-A=1",
        "User-Agent ~ bot",
        "X-A = b",
        "X-A b",
    ] {
        assert!(KeyedName::read(text).unwrap_err().is_example, "{text}");
    }
}

#[test]
fn what_the_application_does_not_get_as_it_came_is_not_keyed() {
    for text in [
        "Host",
        "X-Forwarded-For",
        "forwarded",
        "Surrogate-Capability",
        "Connection",
        "TE",
        "Expect",
        "Max-Forwards",
        "A B",
    ] {
        KeyedName::parse(text).unwrap_err();
    }
    for text in ["Accept-Language", "X-Forwarded-Proto", "X-Real-IP"] {
        KeyedName::parse(text).unwrap();
    }
}

#[test]
fn what_is_written_anew_for_the_application_is_not_passed() {
    for text in [
        "Host",
        "X-Forwarded-For",
        "x-forwarded-for",
        "Surrogate-Capability",
        "Connection",
        "Expect",
        "Max-Forwards",
    ] {
        PassedName::parse(text).unwrap_err();
    }
    for text in [
        "Content-Type",
        "X-Forwarded-Host",
        "Forwarded",
        "X-Real-IP",
        "x_host",
    ] {
        PassedName::parse(text).unwrap();
    }
}

#[test]
fn a_secret_is_told_in_no_field_of_the_message() {
    for text in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "Cookie",
    ] {
        SecretField::parse(text).unwrap_err();
    }
    for text in ["X-Purge-Key", "Authorization"] {
        SecretField::parse(text).unwrap();
    }
}

#[test]
fn fields_of_our_own() {
    for text in ["X-Cache", "Cache-ID", "x-cache-status", "X-Served-By"] {
        OwnField::parse(text).unwrap();
    }
    for text in [
        "Content-Length",
        "transfer-encoding",
        "Connection",
        "Host",
        "Cache-Status",
        "Vary",
        "Set-Cookie",
        "X Cache",
        "",
    ] {
        OwnField::parse(text).unwrap_err();
    }
}
