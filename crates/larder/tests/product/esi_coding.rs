//! Pages of fragments and content codings: what the origin coded is read, and what is composed is coded for who may have it so.

use crate::{
    coding::{BROWSER, coding, decoded, get, text},
    coding_origin::gzipped,
    common::{Said, start_with},
    esi::{ON, page},
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
