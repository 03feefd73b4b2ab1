use super::*;

fn read(text: &str) -> Result<Option<Head>, Kind> {
    parse(text.as_bytes(), 4000).map_err(|error| error.kind())
}

fn head(text: &str) -> Head {
    read(text).unwrap().unwrap()
}

#[test]
fn a_head_is_read_as_it_came() {
    let text = "HTTP/1.1 418 Teapot\r\nServer: a\r\nX-A:1\r\nx-a:  2 \r\nEmpty:\r\n\r\n";
    let read = head(&format!("{text}content"));
    assert_eq!(read.length, text.len());
    assert_eq!(read.response.status(), 418);
    assert_eq!(read.response.version(), Version::HTTP_11);
    let fields: Vec<_> = read
        .response
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    let want = [("server", "a"), ("x-a", "1"), ("x-a", "2"), ("empty", "")];
    assert_eq!(fields, want);
}

#[test]
fn a_part_of_a_head_is_none() {
    let text = "HTTP/1.1 200 OK\r\nServer: a\r\nX-A: 1\r\n\r\n";
    for length in 0..text.len() {
        assert!(read(text.split_at(length).0).unwrap().is_none(), "{length}");
    }
    for end in ["\n\n", "\n\r\n"] {
        let text = format!("HTTP/1.1 200 OK\nA: b{end}");
        assert_eq!(head(&text).length, text.len());
    }
}

/// RFC 9112 section 5.1: a proxy removes it.
#[test]
fn white_space_before_a_colon_is_taken_away() {
    let read = head("HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length\t : 2\r\n\r\n");
    let fields = read.response.headers();
    assert_eq!(fields["x-a"], "1");
    assert_eq!(fields["content-length"], "2");
}

/// RFC 9112 section 9.3.
#[test]
fn the_connection_stays_as_the_server_wishes() {
    for (version, lines, keeps) in [
        ("1.1", "", true),
        ("1.1", "Connection: keep-alive\r\n", true),
        ("1.1", "Connection: Close\r\n", false),
        ("1.1", "Connection: x, close\r\n", false),
        (
            "1.1",
            "Connection: close\r\nConnection: keep-alive\r\n",
            false,
        ),
        (
            "1.1",
            "Connection: keep-alive\r\nConnection: close\r\n",
            false,
        ),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
    ] {
        let text = format!("HTTP/{version} 200 OK\r\n{lines}\r\n");
        let head = head(&text);
        assert_eq!(head.keeps, keeps, "{text}");
        let goes_on = lines.contains(',');
        let fields = head.response.headers();
        assert_eq!(fields.contains_key("connection"), goes_on, "{text}");
    }
}

#[test]
fn what_is_no_head() {
    for text in [
        "hello there\r\n\r\n",
        "HTTP/3.1 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\n A: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nabc\r\n\r\n",
    ] {
        assert_eq!(read(text).unwrap_err(), Kind::Malformed, "{text}");
    }
    let field = "a: b\r\n";
    for text in [
        format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(4000)),
        format!("HTTP/1.1 200 {}", "x".repeat(4000)),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", field.repeat(MOST + 1)),
    ] {
        assert_eq!(read(&text).unwrap_err(), Kind::HeadTooLarge, "{text}");
    }
    let text = format!("HTTP/1.1 200 OK\r\n{}\r\n", field.repeat(MOST));
    assert_eq!(head(&text).response.headers().len(), MOST);
}

/// Names in any spelling are those that the library reads.
#[test]
fn names_are_found_in_any_spelling() {
    let known = [
        "Date",
        "ETag",
        "Vary",
        "Server",
        "Expires",
        "Location",
        "Connection",
        "Set-Cookie",
        "Content-Type",
        "Accept-Ranges",
        "Cache-Control",
        "Last-Modified",
        "Content-Length",
        "Content-Encoding",
        "Transfer-Encoding",
        "X-Frame-Options",
        "X-Content-Type-Options",
        "Strict-Transport-Security",
    ];
    // These have the same lengths and the same first letters.
    let others = [
        "Data",
        "Edge",
        "Via2",
        "Sender",
        "Expired",
        "Link-Set",
        "X-Frame-Option2",
        "Content-Typo",
        "",
        "é",
        "a b",
    ];
    for name in known.into_iter().chain(others) {
        for written in [name.to_owned(), name.to_lowercase(), name.to_uppercase()] {
            let (found, want) = (
                super::name(&written).ok(),
                HeaderName::from_bytes(written.as_bytes()).ok(),
            );
            assert_eq!(found, want, "{written}");
        }
    }
}
