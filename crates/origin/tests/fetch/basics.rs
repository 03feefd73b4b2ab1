//! Messages go out and come in as they should.

use crate::support::*;
use http::{HeaderValue, Method, Request, header};
use hyper_util::rt::TokioIo;
use origin::{
    Context, Interim, Origin,
    config::{Address, Server},
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use testkit::{Gate, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn answers_and_keeps_the_connection() {
    let server = testkit::Origin::start();
    server.on("/", |request| Reply::ok().body(format!("{}", request.nth)));
    let origin = plain(&server);
    work(async {
        for nth in ["1", "2", "3"] {
            assert_eq!(get(&origin, "/").await.unwrap().text(), nth);
        }
    });
    assert_eq!(server.connections(), 1);
    let report = origin.report();
    assert_eq!((report.active, report.queued), (0, 0));
    assert_eq!(report.servers[0].active, 0);
    assert!(report.servers[0].healthy);
}

#[test]
fn the_head_comes_through() {
    let server = testkit::Origin::start();
    let reply = Reply::status(418).header("A", "1").header("a", "2");
    server.reply("/", reply.body("teapot"));
    server.reply(
        "/204",
        Reply::raw("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"),
    );
    let origin = plain(&server);
    work(async {
        let answer = get(&origin, "/").await.unwrap();
        assert_eq!(answer.status, 418);
        let values: Vec<_> = answer.headers.get_all("a").iter().collect();
        assert_eq!(values, ["1", "2"]);
        let answer = get(&origin, "/204").await.unwrap();
        assert_eq!(answer.headers.get("content-length"), None);
    });
}

#[test]
fn a_unix_socket_serves_too() {
    let path = testkit::scratch_dir().join("origin.sock");
    let server = testkit::Origin::start_unix(&path);
    server.reply("/", Reply::ok().body("unix"));
    let origin = Origin::new(config([Server::new(Address::Unix(path))])).unwrap();
    work(async {
        assert_eq!(get(&origin, "/").await.unwrap().text(), "unix");
        assert_eq!(get(&origin, "/").await.unwrap().text(), "unix");
    });
    assert_eq!(server.connections(), 1);
}

#[test]
fn the_target_goes_out_byte_for_byte() {
    let server = testkit::Origin::start();
    server.otherwise(|request| Reply::ok().body(&request.target));
    let origin = plain(&server);
    work(async {
        for target in [
            "/",
            "//a//b",
            "/a/../b/./c",
            "/%7Euser/%c3%a9%2F?q=%20a+b&&=;x",
            "/?",
            "/a?b?c",
            "/a;v=1,2/(x)'!*",
        ] {
            assert_eq!(get(&origin, target).await.unwrap().text(), target);
        }
    });
}

#[test]
fn a_request_without_content_says_nothing_of_it() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok());
    let origin = plain(&server);
    work(async {
        let mut request = request(Method::GET, "/", empty());
        request.headers_mut().insert("content-length", 5.into());
        request
            .headers_mut()
            .insert("expect", "100-continue".parse().unwrap());
        origin.fetch(request, repeatable()).await.unwrap();
    });
    let seen = server.last("/");
    for field in ["content-length", "transfer-encoding", "expect"] {
        assert_eq!(seen.header(field), None, "{field}");
    }
    assert_eq!(seen.header("host"), Some("site.example"));
}

#[test]
fn request_bodies_stream() {
    let server = testkit::Origin::start();
    server.on("/", |request| Reply::ok().body(&request.body));
    let origin = plain(&server);
    let (sender, body) = pieces();
    let answer = work(async {
        let upload = async {
            for (count, piece) in ["hello ", "wide ", "world"].into_iter().enumerate() {
                sender.send(piece).await.unwrap();
                // The next piece only goes out when the server has this one: nothing waits for the whole.
                let arrived = "hello wide world".split_inclusive(' ').take(count + 1);
                let want: usize = arrived.map(str::len).sum();
                until(|| server.received("/") >= want).await;
            }
            drop(sender);
        };
        let fetch = origin.fetch(request(Method::POST, "/", body), Context::default());
        let (response, ()) = tokio::join!(fetch, upload);
        read(response.unwrap()).await.unwrap()
    });
    assert_eq!(answer.text(), "hello wide world");
    assert_eq!(
        server.last("/").header("transfer-encoding"),
        Some("chunked")
    );
}

#[test]
fn a_sized_request_body_has_its_length() {
    let server = testkit::Origin::start();
    server.on("/", |request| Reply::ok().body(&request.body));
    let origin = plain(&server);
    work(async {
        let request = request(Method::POST, "/", full("hello"));
        let response = origin.fetch(request, Context::default()).await.unwrap();
        assert_eq!(read(response).await.unwrap().text(), "hello");
    });
    assert_eq!(server.last("/").header("content-length"), Some("5"));
}

#[test]
fn interim_responses_are_passed_on_but_not_100() {
    let server = testkit::Origin::start();
    server.reply(
        "/",
        Reply::raw(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
             HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n\
             HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        ),
    );
    let origin = plain(&server);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    work(async {
        let context = Context {
            interim: Some(Interim::new(move |status, headers| {
                let link = headers
                    .get("link")
                    .map(|link| link.to_str().unwrap().to_owned());
                sink.lock().unwrap().push((status.as_u16(), link));
            })),
            ..repeatable()
        };
        let response = origin
            .fetch(request(Method::GET, "/", empty()), context)
            .await;
        assert_eq!(read(response.unwrap()).await.unwrap().text(), "hi");
    });
    let link = Some("</a.css>; rel=preload".to_owned());
    assert_eq!(*seen.lock().unwrap(), [(102, None), (103, link)]);
}

#[test]
fn an_interim_response_comes_before_the_head() {
    let server = testkit::Origin::start();
    let gate = Gate::new();
    server.reply(
        "/",
        Reply::ok()
            .interim(103, &[("Link", "</a>")])
            .hold_head(&gate),
    );
    let origin = plain(&server);
    let opener = gate.clone();
    work(async {
        let context = Context {
            // The head is held until the interim response has been passed on.
            interim: Some(Interim::new(move |_, _| opener.open())),
            ..repeatable()
        };
        let response = origin
            .fetch(request(Method::GET, "/", empty()), context)
            .await;
        assert_eq!(response.unwrap().status(), 200);
    });
}

#[test]
fn an_upgrade_hands_over_the_connection() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::upgrade("echo"));
    let origin = plain(&server);
    work(async {
        let request = Request::get("/")
            .header("host", "site.example")
            .header("connection", "upgrade")
            .header("upgrade", "echo")
            .body(empty())
            .unwrap();
        let mut response = origin.fetch(request, Context::default()).await.unwrap();
        assert_eq!(response.status(), 101);
        let upgrade = hyper::upgrade::on(&mut response).await.unwrap();
        assert_eq!(origin.report().active, 0, "a tunnel is no fetch");
        let mut tunnel = TokioIo::new(upgrade);
        let mut seen = [0; 5];
        tunnel.write_all(b"hello").await.unwrap();
        tunnel.read_exact(&mut seen).await.unwrap();
        assert_eq!(&seen, b"hello");
    });
}

/// A server may end the request at the wish, and take what follows for the next.
#[test]
fn a_request_with_content_goes_without_its_wish_for_another_protocol() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok());
    let origin = plain(&server);
    work(async {
        for protocol in ["foo", "websocket"] {
            let mut asked = request(Method::POST, "/", full("GET / HTTP/1.1\r\n\r\n"));
            for (name, value) in [("connection", "upgrade"), ("upgrade", protocol)] {
                asked.headers_mut().insert(name, value.parse().unwrap());
            }
            let answer = origin.fetch(asked, Context::default()).await.unwrap();
            assert_eq!(answer.status(), 200);
            let got = server.last("/");
            assert_eq!(
                (got.header("upgrade"), got.header("connection")),
                (None, None)
            );
        }
    });
}

/// What a server may still send, or may read in another way from now on, is no other request's affair.
#[test]
fn a_connection_that_may_be_out_of_step_is_not_used_again() {
    let connections = |method: Method, fields: &[(&str, &str)], status: u16| {
        let server = testkit::Origin::start();
        server.reply("/", Reply::status(status));
        let origin = plain(&server);
        work(async {
            for _ in 0..2 {
                let mut asked = request(method.clone(), "/", empty());
                for (name, value) in fields {
                    let name: http::HeaderName = name.parse().unwrap();
                    asked.headers_mut().insert(name, value.parse().unwrap());
                }
                read(origin.fetch(asked, repeatable()).await.unwrap())
                    .await
                    .unwrap();
            }
        });
        server.connections()
    };
    let condition = &[("if-none-match", "\"a\"")];
    let wish = &[("connection", "upgrade"), ("upgrade", "foo")];
    for (method, fields, status, expected) in [
        (Method::GET, &[][..], 200, 1),
        (Method::GET, &[], 204, 1),
        (Method::GET, condition, 304, 1),
        (Method::GET, &[], 304, 2),
        (Method::HEAD, &[], 200, 2),
        (Method::HEAD, &[], 204, 1),
        (Method::HEAD, condition, 304, 2),
        (Method::GET, wish, 200, 2),
    ] {
        let got = connections(method.clone(), fields, status);
        assert_eq!(got, expected, "{method} {fields:?} {status}");
    }
}

/// The server may close it at that moment.
#[test]
fn what_must_not_be_sent_twice_goes_on_no_connection_that_was_idle() {
    for (method, content, connections) in [
        (Method::POST, "content", 2),
        (Method::POST, "", 2),
        (Method::GET, "", 1),
    ] {
        let server = testkit::Origin::start();
        server.reply("/", Reply::ok());
        let origin = plain(&server);
        work(async {
            for idle in [0, 500, 1500] {
                tokio::time::pause();
                tokio::time::advance(Duration::from_millis(idle)).await;
                tokio::time::resume();
                let asked = request(method.clone(), "/", full(content));
                let context = Context {
                    repeatable: method == Method::GET,
                    ..Context::default()
                };
                read(origin.fetch(asked, context).await.unwrap())
                    .await
                    .unwrap();
            }
        });
        assert_eq!(server.connections(), connections, "{method} {content}");
    }
}

/// Whoever came on it next would be taken for that user.
#[test]
fn a_connection_that_a_user_signed_in_is_nobody_elses() {
    for (credentials, connections) in [
        ("NTLM TlRMTVNTUAAD", 2),
        ("negotiate YIIB", 2),
        (" Negotiate\tYIIB", 2),
        ("Basic bnRsbTp4", 1),
        ("Bearer ntlm", 1),
    ] {
        for content in ["", "content"] {
            let server = testkit::Origin::start();
            server.reply("/", Reply::ok());
            let origin = plain(&server);
            work(async {
                let mut signed = request(Method::POST, "/", full(content));
                let line = HeaderValue::from_static(credentials);
                signed.headers_mut().insert(header::AUTHORIZATION, line);
                for asked in [signed, request(Method::POST, "/", full(content))] {
                    let answer = origin.fetch(asked, Context::default()).await;
                    read(answer.unwrap()).await.unwrap();
                }
            });
            let came = server.connections();
            assert_eq!(came, connections, "{credentials:?} {content:?}");
        }
    }
}

#[test]
fn names_are_resolved() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok().body("named"));
    let port = server.address().port();
    let named = |host: &str| {
        Server::new(Address::Tcp {
            host: host.to_owned(),
            port,
        })
    };
    let origin = Origin::new(config([named("localhost")])).unwrap();
    let nowhere = Origin::new(config([named("nowhere.invalid")])).unwrap();
    work(async {
        assert_eq!(get(&origin, "/").await.unwrap().text(), "named");
        assert_eq!(get(&origin, "/").await.unwrap().text(), "named");
        for _ in 0..2 {
            let error = get(&nowhere, "/").await.unwrap_err();
            assert_eq!(error.kind(), origin::Kind::Unresolvable);
            assert!(error.is_unreachable() && !error.is_timeout());
        }
    });
    assert_eq!(server.connections(), 1);
}

#[test]
fn trailers_and_lengthless_bodies_come_through() {
    let server = testkit::Origin::start();
    server.reply("/chunked", Reply::ok().chunked().body("ab").body("cd"));
    server.reply("/close", Reply::ok().until_close().body("abcd"));
    server.reply("/old", Reply::raw("HTTP/1.0 200 OK\r\n\r\nabcd"));
    let origin = plain(&server);
    work(async {
        for target in ["/chunked", "/close", "/old", "/chunked"] {
            assert_eq!(
                get(&origin, target).await.unwrap().text(),
                "abcd",
                "{target}"
            );
        }
    });
}
