//! Pages of fragments and content codings: what the origin coded is read, and what is composed is coded for who may
//! have it so.

use crate::{
    coding::{BROWSER, coding, decoded, get, text},
    coding_origin::gzipped,
    common::{Said, sample, start_with},
    esi::{ON, html, page},
};
use testkit::Reply;

fn coded(reply: Reply, body: &str) -> Reply {
    reply.header("Content-Encoding", "gzip").body(gzipped(body))
}

#[test]
fn a_page_and_its_fragments_may_come_coded() {
    let (origin, larder) = start_with(ON);
    let long = text("page", 5000);
    origin.reply(
        "/",
        coded(page(""), &format!("{long}<esi:include src=\"/f\"/>.")),
    );
    origin.reply("/f", coded(page(""), "[<esi:include src=\"/g\"/>]"));
    origin.reply("/g", page("g"));
    for round in 0..3 {
        for accepts in ["identity", BROWSER, "gzip", "br"] {
            let answer = get(&larder, "/", accepts);
            assert_eq!(
                decoded(&answer),
                format!("{long}[g]."),
                "{round} {accepts}: {:?}",
                answer.head
            );
        }
        let plain = larder.get("/").send();
        assert_eq!(plain.text(), format!("{long}[g]."), "{round}");
    }
    assert_eq!(origin.requests("/"), 1);
}

/// Its coding is that of what `GET` gets: what its client accepts, and not what the page came in.
#[test]
fn a_head_names_no_coding_that_the_page_came_in() {
    for cache in ["max-age=60", "no-store"] {
        let (origin, larder) = start_with(ON);
        let long = text("page", 5000);
        let whole = format!("{long}<esi:include src=\"/f\"/>.");
        origin.reply("/", coded(html(cache, ""), &whole));
        origin.reply("/f", page("F"));
        for round in 0..3 {
            for accepts in ["identity", "br", "gzip"] {
                let head = larder.ask("HEAD", "/").header("Accept-Encoding", accepts);
                let head = head.send();
                let got = get(&larder, "/", accepts);
                for name in ["content-encoding", "vary", "cache-control"] {
                    assert_eq!(
                        head.joined(name),
                        got.joined(name),
                        "{cache} {round} {accepts}: {name}"
                    );
                }
            }
        }
    }
}

/// However a fragment comes to the page: stored or not, bypassed, and where nothing is coded here.
#[test]
fn a_fragment_that_came_coded_is_decoded_wherever_it_came_from() {
    const ROUTES: &str = "[[origin]]\nservers = \"{origin}\"\n[defaults]\nesi = true\n\
        bypass.paths = \"/passed*\"\n[[route]]\npath = \"/plain*\"\ncompress = false\n";
    let (origin, larder) = start_with(ROUTES);
    origin.otherwise(|request| {
        // On these routes HTML is a page, and read as one.
        let kind = match request.target.rsplit('-').next() {
            Some("html") => "text/html",
            Some("image") => "image/x-unheard-of",
            _ => "text/plain",
        };
        let reply = Reply::ok().header("Content-Type", kind);
        let kept = request.target.contains("kept");
        let reply = reply.cache(if kept { "max-age=60" } else { "no-store" });
        coded(reply, &format!("[{}]", request.nth))
    });
    for path in [
        "/never",
        "/never-html",
        "/kept",
        "/kept-image",
        "/passed",
        "/passed-kept",
        "/plain",
        "/plain-kept",
        "/plain-kept-html",
    ] {
        let whole = format!("a<esi:include src=\"{path}\" alt=\"/none\"/>b");
        origin.reply("/", page(whole).cache("no-store"));
        for round in 1..3 {
            let kept = path.contains("kept") && !path.contains("passed");
            let nth = if kept { 1 } else { round };
            let answer = get(&larder, "/", "gzip");
            assert_eq!(decoded(&answer), format!("a[{nth}]b"), "{path}");
        }
    }
    assert_eq!(sample(&larder, "larder_fragments_failed_total"), 0);
}

/// What nobody here can read, and what breaks off within its coding.
#[test]
fn what_cannot_be_decoded_fails() {
    let (origin, larder) = start_with(ON);
    origin.reply("/alt", page("alt"));
    for coding in ["deflate", "gzip, br", "x-unheard-of"] {
        for cache in ["max-age=60", "no-store"] {
            let reply =
                html(cache, "<esi:include src=\"/alt\"/>").header("Content-Encoding", coding);
            origin.reply("/", reply.clone());
            origin.reply("/f", reply);
            larder.ask("PURGE", "/f").send();
            let whole = larder.get("/").send();
            assert_eq!(
                (whole.text().as_str(), whole.header("content-encoding")),
                ("<esi:include src=\"/alt\"/>", Some(coding)),
                "a page nobody can read passes as it is"
            );
            larder.ask("PURGE", "/").send();
            for (more, expected) in [("alt=\"/alt\"", "alt"), ("", "")] {
                origin.reply(
                    "/",
                    html(
                        "no-store",
                        format!("({more}<esi:include src=\"/f\" {more}/>)"),
                    ),
                );
                assert_eq!(
                    larder.get("/").send().text(),
                    format!("({more}{expected})"),
                    "{coding}"
                );
            }
        }
    }
    let mut cut = gzipped(&text("cut", 5000));
    cut.truncate(cut.len() / 2);
    for (onerror, whole) in [("", false), ("onerror=\"continue\"", true)] {
        origin.reply(
            "/",
            html("no-store", format!("(<esi:include src=\"/f\" {onerror}/>)")),
        );
        let reply = html("no-store", "")
            .header("Content-Encoding", "gzip")
            .body(&cut);
        origin.reply("/f", reply);
        let mut client = larder.get("/").begin();
        let answer = client.read();
        assert_eq!(answer.complete, whole, "{onerror}");
    }
}

#[test]
fn what_is_composed_is_coded_on_its_way_and_not_for_who_may_be_told_from_others() {
    let (origin, larder) = start_with(ON);
    let long = text("page", 20_000);
    origin.reply("/", page(format!("{long}<esi:include src=\"/cart\"/>")));
    origin.on("/cart", |request| {
        let who = request.header("cookie").unwrap_or("nobody").to_owned();
        page("").cache("no-store").body(format!("({who})"))
    });
    for _ in 0..3 {
        for accepts in ["gzip", "br", "zstd"] {
            let answer = get(&larder, "/", accepts);
            assert_eq!(coding(&answer), accepts);
            assert_eq!(decoded(&answer), format!("{long}(nobody)"));
            assert!(answer.body.len() < 10_000);
            assert_eq!(answer.header("etag"), None);
            let vary = answer.joined("vary").to_ascii_lowercase();
            assert!(vary.contains("accept-encoding"), "{vary}");
        }
        for user in ["id=1", "id=2"] {
            let ask = larder.get("/").header("Accept-Encoding", "gzip");
            let answer = ask.header("Cookie", user).send();
            assert_eq!(answer.header("content-encoding"), None, "BREACH");
            assert_eq!(answer.text(), format!("{long}({user})"));
        }
        let head = larder.ask("HEAD", "/").header("Accept-Encoding", "gzip");
        assert_eq!(head.send().header("content-length"), None);
    }
    assert!(larder.get("/").send().hit());
}

#[test]
fn the_page_as_it_was_written_never_goes_out_in_any_coding() {
    let (origin, larder) = start_with(ON);
    let secret = text("secret", 3000);
    origin.reply("/", page(format!("<esi:remove>{secret}</esi:remove>shown")));
    for accepts in ["gzip", "identity", "br", "gzip", BROWSER] {
        let ask = larder.get("/").header("Accept-Encoding", accepts);
        let answer = ask.header("Range", "bytes=0-99").send();
        assert_eq!(
            (answer.status, decoded(&answer).as_str()),
            (200, "shown"),
            "{accepts}"
        );
        assert_eq!(decoded(&get(&larder, "/", accepts)), "shown", "{accepts}");
    }
}
