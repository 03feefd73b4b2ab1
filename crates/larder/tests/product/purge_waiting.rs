//! More purges by expression than may wait: what is one too many is refused and purges nothing, what is known is still
//! taken.

use crate::{
    common::sample,
    purge::{post, purge},
    purge_clients::{SITE, gone, leaked, say, tagged, warm},
    purge_clients_rows::{ALL, NONE},
};
use serde_json::{Value, json};
use testkit::{Larder, Response};

/// So many different expressions may wait, as the guide says.
const MOST: usize = 1024;

/// An expression on targets that covers nothing.
fn idle(number: usize) -> String {
    format!("nowhere-{number}$")
}

/// `FOSHttpCache`'s ban of what has a match of this in its target.
fn ban(expression: &str) -> String {
    format!("BAN / HTTP/1.1\nHost: c\nX-Url: {expression}\n")
}

/// Bans by `count` different expressions, one after the other on one connection.
fn fill(larder: &Larder, count: usize) {
    let mut client = larder.client();
    let messages = (0..count).map(|number| ban(&idle(number)).replace('\n', "\r\n") + "\r\n");
    client.send(messages.collect::<String>());
    for number in 0..count {
        let answer = client.read();
        assert_eq!(answer.status, 200, "{number}: {}", answer.text());
    }
}

/// It is worth another try, and says so.
fn is_refused(answer: &Response, what: &str) {
    let text = answer.text();
    assert_eq!(answer.status, 503, "{what}: {text}");
    let again = answer.header("retry-after").map(str::parse::<u32>);
    assert!(
        matches!(again, Some(Ok(1..))),
        "{what}: {:?}",
        answer.head.fields
    );
    assert!(answer.header("cache-purge-result").is_none(), "{what}");
    assert!(text.contains("too many"), "{what}: {text}");
}

#[test]
fn one_expression_too_many_is_refused_in_whatever_words_and_purges_nothing() {
    let (origin, larder) = tagged("purge.souin = \"/souin\"");
    fill(&larder, MOST);
    assert_eq!(sample(&larder, "larder_purge_patterns"), MOST as u64);
    warm(&larder);
    let (head, asked) = (sample(&larder, "larder_purge_sequence"), origin.all().len());
    for message in [
        &ban("/a"),
        "BAN / HTTP/1.1\nHost: c\nX-Host: .*\nX-Url: .*\nX-Content-Type: ^text/\n",
        "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: p-.*\n",
        "BAN / HTTP/1.1\nHost: c\nApiPlatform-Ban-Regex: p-[0-9]+\n",
        "PURGE /souin/GET-http-site.test-/(a%7Cimg).* HTTP/1.1\nHost: c\n",
    ] {
        is_refused(&say(&larder, message), message);
    }
    for regex in ["/a", "nowhere-7$"] {
        let answer = post(&larder, json!({ "regex": regex }).to_string());
        is_refused(&answer, regex);
        let error: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert!(error["error"].is_string(), "{error}");
    }
    assert_eq!(gone(&larder, SITE), NONE, "nothing was purged");
    assert_eq!(sample(&larder, "larder_purge_sequence"), head);
    assert_eq!(origin.all().len(), asked);
    assert_eq!(leaked(&origin), NONE);
}

/// Those of nodes and commands count together with those of clients.
#[test]
fn what_is_known_and_what_is_no_expression_is_still_taken() {
    let (origin, larder) = tagged("");
    fill(&larder, MOST - 2);
    for message in [ban("^/img/.+g"), ban(&idle(3))] {
        assert_eq!(say(&larder, &message).status, 200, "{message}");
    }
    purge(&larder, &json!({ "regex": "/a$" }));
    assert_eq!(sample(&larder, "larder_purge_patterns"), MOST as u64);
    is_refused(&say(&larder, &ban("/a")), "one too many");

    warm(&larder);
    assert_eq!(say(&larder, &ban("^/img/.+g")).status, 200);
    assert_eq!(gone(&larder, SITE), ["/img/x.png"], "known to a client");
    purge(&larder, &json!({ "regex": "/a$" }));
    assert_eq!(gone(&larder, SITE), ["/a", "/img/x.png"], "known otherwise");

    for (message, covered) in [
        ("PURGE /a HTTP/1.1\nHost: site.test\n", &["/a"][..]),
        ("BAN / HTTP/1.1\nHost: c\nX-Cache-Tags: home\n", &["/"]),
        ("BAN /img HTTP/1.1\nHost: site.test\n", &["/img/x.png"]),
        ("BAN / HTTP/1.1\nHost: c\nX-Host: ^site\\.test$\n", ALL),
        ("BAN / HTTP/1.1\nHost: c\n", ALL),
    ] {
        warm(&larder);
        assert_eq!(say(&larder, message).status, 200, "{message}");
        assert_eq!(gone(&larder, SITE), covered, "{message}");
    }
    assert_eq!(leaked(&origin), NONE);
}

/// Several of one request are taken together or not at all: what is no expression among them waits for the others.
#[test]
fn of_a_request_with_one_too_many_nothing_is_done() {
    let (_origin, larder) = tagged("");
    fill(&larder, MOST - 1);
    warm(&larder);
    let pattern = |text: &str| json!({ "patterns": [["url", text]] });
    let both = |last| json!({ "purges": [pattern("/a$"), { "everything": true }, pattern(last)] });
    let answer = post(&larder, both("/img").to_string());
    is_refused(&answer, "two, and there is room for one");
    assert_eq!(gone(&larder, SITE), NONE);
    assert_eq!(
        sample(&larder, "larder_purge_patterns"),
        MOST as u64 - 1,
        "none of them waits"
    );
    purge(&larder, &both("/a$"));
    assert_eq!(gone(&larder, SITE), ALL, "the same one counts once");
}

/// It has taken effect where it was asked for, and would be sent again without end, and nothing after it.
#[test]
fn what_another_node_sends_is_taken_and_costs_what_is_kept_where_there_is_no_room() {
    let (origin, larder) = tagged("");
    let pattern = |number: usize| json!({ "patterns": [["url", idle(number)]] });
    let send = |numbers: std::ops::Range<usize>| {
        let purges: Vec<_> = numbers.map(pattern).collect();
        post(
            &larder,
            json!({ "relay": false, "purges": purges }).to_string(),
        )
    };
    warm(&larder);
    assert_eq!(send(0..MOST).status, 200);
    assert_eq!(gone(&larder, SITE), NONE, "there was room");
    let answer = post(
        &larder,
        json!({ "relay": false, "regex": "/a$" }).to_string(),
    );
    is_refused(&answer, "who is no node can try again");
    assert_eq!(gone(&larder, SITE), NONE);
    // One more, and more at once than there is ever room for.
    for numbers in [MOST..MOST + 1, 0..2 * MOST] {
        warm(&larder);
        assert_eq!(send(numbers).status, 200);
        assert_eq!(gone(&larder, SITE), ALL);
        assert!(sample(&larder, "larder_purge_patterns") <= MOST as u64);
    }
    assert_eq!(leaked(&origin), NONE);
}
