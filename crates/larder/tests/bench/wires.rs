//! HTTP/2 and TLS, before larder itself.

use crate::{bench, figures, file, json};
use std::fs;
use testkit::{Command, Larder, Origin, Reply, scratch_dir};

fn larder() -> (Origin, Larder, String) {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().cache("max-age=60").body("hello"));
    let folder = scratch_dir();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (folder.join("site.pem"), folder.join("site.key"));
    fs::write(&certificate, made.cert.pem()).expect("a file");
    fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let config = format!(
        "listen = [\"127.0.0.1:0\", {{ address = \"127.0.0.1:0\", tls = [{{ certificate = \"{}\", key = \"{}\" }}] }}]\n\
         admin = \"127.0.0.1:0\"\n[[origin]]\nservers = \"{}\"\n",
        certificate.display(),
        key.display(),
        origin.url()
    );
    let larder = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["serve"])
        .config(&config)
        .start();
    (origin, larder, certificate.display().to_string())
}

/// The URL of a listener, by a name that its certificate has.
fn url(larder: &Larder, tls: bool) -> String {
    let wanted = larder
        .listeners()
        .iter()
        .find(|one| one.starts_with("https") == tls);
    wanted
        .expect("a listener")
        .replace("127.0.0.1", "localhost")
}

#[test]
fn every_version_with_and_without_tls() {
    let (origin, larder, authority) = larder();
    for (tls, flags, http) in [
        (false, &[][..], "1.1"),
        (true, &[], "1.1"),
        (false, &["--http2"], "2"),
        (true, &["--http2"], "2"),
        (true, &["--http2", "--streams", "5"], "2"),
        (true, &["--no-keep-alive"], "1.1"),
        (false, &["--http2", "--no-keep-alive"], "2"),
        (true, &["--http2", "--rate", "500"], "2"),
    ] {
        let url = url(&larder, tls);
        let arguments = [
            &[url.as_str(), "-n", "40", "-c", "2", "--ca", &authority],
            flags,
        ]
        .concat();
        let result = figures(&arguments);
        let target = &result["targets"][0];
        assert_eq!(target["good"], 40, "{flags:?}: {target}");
        assert_eq!(target["http"], http);
        assert_eq!(target["bytes"]["content"], 200);
        let agreed = target["tls"].as_str().unwrap_or_default();
        assert_eq!(agreed.starts_with("TLSv1_3"), tls, "{agreed}");
        if !flags.contains(&"--no-keep-alive") && !flags.contains(&"--rate") {
            assert_eq!(target["connections"]["opened"], 2, "{flags:?}");
        }
    }
    assert_eq!(
        origin.requests("/"),
        2,
        "one a scheme; all others were hits"
    );
}

#[test]
fn a_handshake_that_fails_is_told_in_words() {
    let (_origin, larder, _) = larder();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("one");
    let other = file("other.pem", &other.cert.pem()).display().to_string();
    let finished = bench(&[&url(&larder, true), "-n", "4", "--ca", &other]).run();
    assert_eq!(finished.code, Some(1));
    let told = "the TLS handshake failed: 4 (invalid peer certificate: ";
    assert!(finished.stdout.contains(told), "{}", finished.stdout);
}

#[test]
fn what_the_cache_says_is_counted() {
    let (_origin, larder, _) = larder();
    let result = figures(&[&url(&larder, false), "-n", "50", "-c", "1"]);
    let cache = &result["targets"][0]["cache"];
    assert_eq!(
        (&cache["hit"], &cache["miss"]),
        (&49.into(), &1.into()),
        "{cache}"
    );
    assert_eq!(cache["hits_percent"], 98.0);
}

#[test]
fn a_certificate_that_nobody_vouches_for() {
    let (_origin, larder, _) = larder();
    let url = url(&larder, true);
    let finished = bench(&[&url, "-n", "4", "--json"]).run();
    assert_eq!(json(&finished)["targets"][0]["faults"]["tls"], 4);
    assert_eq!(
        figures(&[&url, "-n", "4", "--insecure"])["targets"][0]["good"],
        4
    );
}

#[test]
fn cpu_and_memory_of_a_process() {
    let (_origin, larder, _) = larder();
    let id = larder.id().to_string();
    let flags = [
        "-d",
        "4s",
        "-c",
        "4",
        "--process",
        &id,
        "--assert",
        "memory>1MiB",
        "--assert",
        "cpu<60s",
    ];
    let result = figures(&[&[url(&larder, false).as_str()], &flags[..]].concat());
    let target = &result["targets"][0];
    let process = &target["process"];
    assert!(process["cpu_seconds"].as_f64() > Some(0.0), "{process}");
    assert!(process["memory_bytes"].as_u64() > Some(1 << 20));
    assert!(target["points"][0]["process_cores"].is_number());
    assert!(
        result["assertions"]
            .as_array()
            .expect("verdicts")
            .iter()
            .all(|one| one["holds"] == true)
    );
    let finished = bench(&[
        &url(&larder, false),
        "-n",
        "9",
        "--process",
        "no-such-process",
    ])
    .run();
    assert!(
        finished.stdout.contains("no process 'no-such-process'"),
        "{}",
        finished.stdout
    );
}

#[test]
fn what_tls_agreed_on_is_each_target_s_own() {
    let (_origin, larder, authority) = larder();
    let targets = [url(&larder, false), url(&larder, true)];
    let flags = ["--compare", "--rounds", "2", "-n", "10", "--ca", &authority];
    let finished = bench(&flags).args(targets).args(["--json"]).run();
    let result = json(&finished);
    assert!(result["targets"][0]["tls"].is_null(), "{result}");
    let agreed = result["targets"][1]["tls"].as_str();
    assert!(agreed.is_some_and(|agreed| agreed.starts_with("TLSv1_3")));
}

#[test]
fn bytes_are_those_on_the_wire() {
    let origin = Origin::start();
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    origin.otherwise(move |_| Reply::raw(answer));
    let url = origin.url();
    let result = figures(&[&url, "-n", "30", "-c", "2", "--no-keep-alive"]);
    let bytes = &result["targets"][0]["bytes"];
    assert_eq!(bytes["received"], 30 * answer.len());
    assert_eq!(bytes["content"], 150);
    let request = format!(
        "GET / HTTP/1.1\r\nhost: {}\r\nuser-agent: larder-bench/{}\r\naccept: */*\r\nconnection: close\r\n\r\n",
        url.trim_start_matches("http://"),
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(bytes["sent"], 30 * request.len());
}

#[test]
fn stale_answers_are_counted_among_the_hits() {
    let origin = Origin::start();
    origin.otherwise(|request| {
        let said = match request.nth % 4 {
            0 => "Larder; fwd=uri-miss",
            1 => "Larder; hit; ttl=-3",
            _ => "Larder; hit; ttl=30",
        };
        Reply::ok().header("Cache-Status", said)
    });
    let flags = [
        "-n",
        "40",
        "-c",
        "1",
        "--assert",
        "stale>=25%",
        "--assert",
        "hits<=75%",
    ];
    let result = figures(&[&[origin.url().as_str()], &flags[..]].concat());
    let cache = &result["targets"][0]["cache"];
    assert_eq!(
        (&cache["hit"], &cache["stale"], &cache["miss"]),
        (&20.into(), &10.into(), &10.into())
    );
    assert_eq!(cache["hits_percent"], 75.0);
    assert_eq!(cache["stale_percent"], 25.0);
    for verdict in result["assertions"].as_array().expect("verdicts") {
        assert_eq!(verdict["holds"], true, "{verdict}");
    }
}

#[test]
fn answers_that_say_nothing_are_no_hits() {
    let origin = Origin::start();
    origin.otherwise(|request| match request.nth % 4 {
        0 => Reply::ok().header("Cache-Status", "Larder; hit; ttl=30"),
        _ => Reply::ok(),
    });
    let url = origin.url();
    let asserted = ["--assert", "hits>=95%", "--assert", "stale<1%"];
    let flags = [&[url.as_str(), "-n", "40", "-c", "1"], &asserted[..]].concat();
    let table = file("hits.csv", "");
    let page = file("hits.html", "");
    let outputs = [
        table.to_str().expect("a path"),
        page.to_str().expect("a path"),
    ];
    let finished = bench(&[&flags[..], &["-o", outputs[0], "-o", outputs[1]]].concat()).run();
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    for said in [
        "100.0 %, stale 0.0 % of 10 answers; 30 others said nothing of it",
        "hits>=95% does not hold for",
        "25.000 % of 40 answers, 30 of which said nothing",
        "stale<1% holds for",
    ] {
        assert!(
            finished.stdout.contains(said),
            "{said}: {}",
            finished.stdout
        );
    }
    let table = std::fs::read_to_string(table).expect("a table");
    assert!(table.contains("hits_percent,stale_percent,cache_said,cache_unsaid"));
    assert!(table.contains(",100,0,10,30,"), "{table}");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("30 others said nothing of it"));
    assert!(page.contains("from a cache, of 10 of 40 answers"));
}

#[test]
fn a_process_is_found_by_its_name() {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok());
    // Longer than the kernel keeps of a name, and nobody else's.
    let name = format!("watched-by-bench-{}", std::process::id());
    let program = scratch_dir().join(&name);
    fs::copy("/bin/cat", &program).expect("a program");
    let mut child = std::process::Command::new(&program)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("a process");
    let result = figures(&[&origin.url(), "-n", "20", "--process", &name]);
    let process = &result["targets"][0]["process"];
    assert_eq!(process["processes"], 1, "{process}");
    assert_eq!(process["name"], name.as_str());
    assert!(process["memory_bytes"].as_u64() > Some(0));
    drop(child.stdin.take());
    child.wait().expect("its end");
}
