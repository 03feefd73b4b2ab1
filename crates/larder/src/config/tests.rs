//! Configuration files, and their meaning or their faults.
//!
//! `tests/bad/*.toml` are files with faults. Beside each is the output of `larder check`. After an intended change, run
//! the tests once with `INSTA_UPDATE=always` and read the difference.

use super::value::{
    CookiePattern, FieldLine, FilePattern, HostValue, ListenAddress, OwnField, PathStart, PeerUrl,
    QueryPattern, ServerUrl, SharedUrl, Size, TagField, Token, Word,
};
use super::{
    Faults, Flags, Probe, Vacancy, meant, meant::Beside, parse, parse_with, reference, schema,
};
use http::{HeaderName, HeaderValue};
use ipnet::IpNet;
use meant::{AccessTarget, Admin};
use proptest::{collection::vec, prelude::*, sample::select};
use proxy::policy::{Edit, FieldPattern, HostPattern, LifetimeMode, PathPattern, StatusPattern};
use rules::key::{ParamPattern, QueryChoice};
use serde_json::Value;
use std::{fmt::Write, fs, io, path::Path, time::Duration};

mod back;
mod effects;
mod proposals;
mod schemas;
mod warned;

const ORIGIN: &str = "[[origin]]\nservers = \"http://127.0.0.1:5001\"\n";

fn read(text: &str) -> Result<meant::Config, Faults> {
    parse(text, "larder.toml", &Flags::default())
}

fn good(text: &str) -> meant::Config {
    read(text).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn faults_are_told_all_at_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/tests/bad");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "toml")
    });
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&file).unwrap();
        let faults = read(&text).expect_err(&name);
        insta::with_settings!({ snapshot_path => "tests/bad", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, faults.render(false));
        });
    }
}

#[test]
fn purges_survive_a_power_loss_unless_somebody_says_otherwise() {
    let disk = "[disk]\npath = \"/var/cache/larder\"\n";
    assert!(good(&format!("{disk}{ORIGIN}")).purge.durable);
    let not = format!("{disk}{ORIGIN}[purge]\ndurable = false\n");
    assert!(!good(&not).purge.durable);
}

fn probing(text: &str, probe: Probe) -> String {
    let beside = Beside {
        probe: Some(probe),
        ..Beside::default()
    };
    let faults = parse_with(text, "larder.toml", &Flags::default(), beside);
    faults.unwrap_err().render(false)
}

#[test]
fn an_address_that_is_refused_is_a_fault_like_the_others() {
    let text = format!(
        "listen = [\":80\", \":81\", \"unix:/none/a\", \"unix:/run/b\"]\nworker = 1\nadmin = \"192.0.2.1:9\"\n{ORIGIN}"
    );
    let faults = probing(&text, |address| {
        Err(match address {
            ListenAddress::Tcp(address) => match address.port() {
                80 => io::ErrorKind::PermissionDenied.into(),
                81 => io::ErrorKind::AddrInUse.into(),
                _ => io::ErrorKind::AddrNotAvailable.into(),
            },
            ListenAddress::Unix(path) if path.starts_with("/none") => {
                io::ErrorKind::NotFound.into()
            }
            ListenAddress::Unix(_) => io::ErrorKind::AlreadyExists.into(),
        })
    });
    insta::assert_snapshot!(faults);
}

/// It may be Larder's: that is no fault.
#[test]
fn an_address_that_somebody_may_hold_for_larder_is_warned_of() {
    let text = format!("listen = \":80\"\nadmin = \"off\"\n{ORIGIN}");
    let beside = Beside {
        probe: Some(|_| Ok(Vacancy::Unsure)),
        ..Beside::default()
    };
    let config = parse_with(&text, "larder.toml", &Flags::default(), beside).unwrap();
    let told = config.warnings.render(false);
    assert!(
        told.contains("somebody listens on 0.0.0.0:80 already"),
        "{told}"
    );
}

#[test]
fn addresses_that_cannot_be_had_together_are_told_with_both() {
    let text = format!(
        "listen = [\n  \"127.0.0.1:8080\",\n  \"[::1]:8080\",\n  \":8080\",\n  \":9180\",\n]\nadmin = \"127.0.0.1:9180\"\n{ORIGIN}"
    );
    insta::assert_snapshot!(probing(&text, |_| Ok(Vacancy::Free)));
    // Inherited sockets may be both.
    good(&text);
}

#[test]
fn without_a_file_one_origin_is_enough() {
    let flags = Flags {
        origin: Some("http://127.0.0.1:5001".parse().unwrap()),
        ..Flags::default()
    };
    let config = parse("", "the command line", &flags).unwrap();
    assert_eq!(config.listeners.len(), 1);
    assert_eq!(config.listeners[0].address.to_string(), "127.0.0.1:8080");
    assert_eq!(config.admin, Admin::At("127.0.0.1:9180".parse().unwrap()));
    assert_eq!(config.memory, 512 << 20);
    assert_eq!(config.log.access, AccessTarget::Off);
    assert_eq!(config.origins.len(), 1);
    let [route] = &*config.site.routes else {
        panic!("one route");
    };
    assert!(route.policy.cache && route.policy.lifetime.by_status.is_empty());
    assert!(config.site.report.cache_status && config.site.report.x_cache.is_none());
}

#[test]
fn without_anything_the_origin_is_asked_for() {
    let faults = read("").unwrap_err();
    assert!(faults.list()[0].what.contains("no origin"), "{faults}");
}

#[test]
fn flags_go_before_the_file() {
    let flags = Flags {
        origin: Some("https://127.0.0.1:7".parse().unwrap()),
        listen: vec![ListenAddress::parse("127.0.0.1:0").unwrap()],
        admin: Some(Admin::Off),
        memory: Some("2MiB".parse().unwrap()),
        workers: Some(3),
        access_log: Some(AccessTarget::Stdout),
        config: None,
        handed: 0,
    };
    let text = format!(
        "listen = \":1\"\nadmin = \":2\"\nworkers = 9\nmemory.size = \"1GiB\"\nlog.access = \"off\"\n{ORIGIN}"
    );
    let config = parse(&text, "larder.toml", &flags).unwrap();
    assert_eq!(config.listeners[0].address.to_string(), "127.0.0.1:0");
    assert_eq!(
        (config.admin, config.workers, config.memory),
        (Admin::Off, 3, 2 << 20)
    );
    assert_eq!(config.log.access, AccessTarget::Stdout);
    assert_eq!(config.origins[0].report().servers[0].address, "127.0.0.1:7");
    // The setting does not promise what could never be stored.
    assert_eq!(config.site.routes[0].policy.largest_body, 512 << 10);
}

#[test]
fn microcaching_in_one_line() {
    let config = good(&format!("[defaults]\nttl = \"1s\"\n{ORIGIN}"));
    let lifetime = &config.site.routes[0].policy.lifetime;
    assert_eq!(lifetime.mode, LifetimeMode::Default);
    let second = Duration::from_secs(1);
    let wanted = [200, 301, 302].map(|code| (StatusPattern::Exact(code), second));
    assert_eq!(lifetime.by_status, wanted);
}

#[test]
fn a_route_replaces_keys_of_the_defaults_whole() {
    let config = good(&format!(
        "[defaults]\nttl = \"1s\"\nstale.if_error = \"1h\"\nkey.sort = true\n\
         [[route]]\npath = \"/a/*\"\nttl.any = \"2s\"\nstale.while_revalidate = \"3s\"\n{ORIGIN}"
    ));
    let [a, rest] = &*config.site.routes else {
        panic!("two routes");
    };
    assert_eq!(
        a.policy.lifetime.by_status,
        [(StatusPattern::Any, Duration::from_secs(2))]
    );
    assert_eq!(a.policy.stale.if_error, None);
    assert!(a.policy.key.sort);
    assert_eq!(rest.policy.stale.if_error, Some(Duration::from_hours(1)));
    assert_eq!(
        (a.name.as_str(), rest.name.as_str()),
        ("route-1", "default")
    );
}

/// A table for everything that is not stored, and routes that are.
#[test]
fn what_some_routes_store_may_stand_in_the_defaults() {
    for preset in ["", "preset = \"wordpress\"\n"] {
        let config = good(&format!(
            "[defaults]\n{preset}cache = false\nttl = \"10s\"\n[[route]]\npath = \"/static/*\"\ncache = true\n{ORIGIN}"
        ));
        let [stored, .., rest] = &*config.site.routes else {
            panic!("two routes");
        };
        assert!(stored.policy.cache && !rest.policy.cache);
        assert_eq!(stored.policy.lifetime.by_status.len(), 3);
    }
    // A preset says much about stored responses, which its user did not write.
    let config = good(&format!(
        "[defaults]\npreset = \"wordpress\"\ncache = false\n{ORIGIN}"
    ));
    assert!(config.site.routes.iter().all(|route| !route.policy.cache));
    good(&format!(
        "[[route]]\npath = \"/blog/*\"\npreset = \"wordpress\"\ncache = false\n{ORIGIN}"
    ));
}

/// The proposal for a body that is too large is the size that is stored.
#[test]
fn a_body_that_is_never_stored_is_not_promised_to_be() {
    let text = |largest: &str| {
        format!("memory.size = \"8MiB\"\n[defaults]\nlargest_body = \"{largest}\"\n{ORIGIN}")
    };
    let faults = read(&text("8MiB")).unwrap_err().render(false);
    assert!(faults.contains("write at most `2MiB`"), "{faults}");
    let most = store::model::largest_body(8 << 20);
    assert_eq!(good(&text("2MiB")).site.routes[0].policy.largest_body, most);
    // The disk keeps bodies that are too large for memory.
    good(&format!("disk.path = \"d\"\n{}", text("8MiB")));
    // A larger or smaller store needs a restart.
    for (text, in_force, most) in [
        (text("2MiB"), 1 << 20, 1 << 20),
        (text("2MiB"), 4 << 20, 2 << 20),
        (
            format!("memory.size = \"8MiB\"\n{ORIGIN}"),
            4 << 20,
            4 << 20,
        ),
    ] {
        let beside = Beside {
            largest_body_in_force: Some(in_force),
            ..Beside::default()
        };
        let again = parse_with(&text, "larder.toml", &Flags::default(), beside);
        let policy = &again.expect("a configuration").site.routes[0].policy;
        assert_eq!(policy.largest_body, most, "{text}");
    }
}

#[test]
fn the_last_route_matches_everything() {
    for (routes, count) in [
        ("", 1),
        ("[[route]]\npath = \"/a\"\n", 2),
        ("[[route]]\npath = \"/a\"\n[[route]]\npath = \"/*\"\n", 2),
        ("[[route]]\nhost = \"*\"\n", 1),
        ("[[route]]\nhost = \"*\"\nmethod = \"GET\"\n", 2),
    ] {
        let config = good(&format!("{routes}{ORIGIN}"));
        assert_eq!(config.site.routes.len(), count, "{routes}");
        let matcher = &config.site.routes.last().unwrap().matcher;
        assert!(
            matcher.hosts.is_empty() && matcher.paths.is_empty(),
            "{routes}"
        );
    }
}

/// What a route matches may be part of its keys (`proxy::routing::digest`), so it stays as it is written.
#[test]
fn a_route_for_all_paths_of_a_host_keeps_its_path() {
    let config = good(&format!("[[route]]\nhost = \"a\"\npath = \"/*\"\n{ORIGIN}"));
    let paths = &config.site.routes[0].matcher.paths;
    let is_kept = matches!(&paths[..], [PathPattern::Prefix(prefix)] if prefix == "/");
    assert!(is_kept, "{paths:?}");
}

#[test]
fn a_route_for_all_paths_of_a_host_covers_what_has_none() {
    let route = |path: &str| format!("[[route]]\nhost = \"a\"\n{path}\n");
    for narrow in ["path = \"~ /a.*\"", "path = \"/a/*\"", "method = \"GET\""] {
        let text = format!("{}{}{ORIGIN}", route("path = \"/*\""), route(narrow));
        let faults = read(&text).unwrap_err().render(false);
        assert!(faults.contains("never reached"), "{narrow}: {faults}");
    }
}

#[test]
fn a_route_for_a_host_covers_only_what_it_matches() {
    for (wide, narrow, covers) in [
        ("example.com", "example.com", true),
        ("example.com", "*.example.com", false),
        ("example.com", "www.example.com", false),
        ("*.example.com", "example.com", false),
        ("*.example.com", "*.example.com", true),
        ("*.example.com", "www.example.com", true),
        ("*.example.com", "*.www.example.com", true),
        ("*.www.example.com", "*.example.com", false),
        ("www.example.com", "*.example.com", false),
    ] {
        let route = |host: &str| format!("[[route]]\nhost = {host:?}\n");
        let text = format!("{}{}{ORIGIN}", route(wide), route(narrow));
        let faults = read(&text).err().map(|faults| faults.render(false));
        let is_never_reached = |faults: String| faults.contains("never reached");
        assert_eq!(
            faults.is_some_and(is_never_reached),
            covers,
            "{wide} {narrow}"
        );
    }
}

#[test]
fn keys_and_edits() {
    let config = good(&format!(
        "[defaults]\nkey = {{ query_except = [\"a\", \"b_*\"], drop = \"c\", headers = \"Accept\", cookies = \"d\" }}\n\
         response_headers = {{ add = \"X-A: 1\", set = \"X-B: 2\", remove = \"Server\" }}\n{ORIGIN}"
    ));
    let policy = &config.site.routes[0].policy;
    let except = vec![
        ParamPattern::Name("a".into()),
        ParamPattern::Prefix("b_".into()),
    ];
    assert_eq!(policy.key.query, QueryChoice::Except(except));
    assert_eq!(
        policy.key.drop,
        QueryChoice::Except(vec![ParamPattern::Name("c".into())])
    );
    assert_eq!(policy.key.cookies, ["d"]);
    let name = HeaderName::from_static;
    let value = HeaderValue::from_static;
    let wanted = [
        Edit::Remove(name("server")),
        Edit::Set(name("x-b"), value("2")),
        Edit::Add(name("x-a"), value("1")),
    ];
    assert_eq!(
        format!("{:?}", policy.to_client.edits),
        format!("{wanted:?}")
    );
}

/// A file that sets each key to the default of the reference page means the same as an empty file.
#[test]
fn the_reference_tells_the_true_defaults() {
    /// Keys that only a FastCGI origin has.
    const OF_SCRIPTS: [&str; 6] = ["index", "front", "script", "no_script", "no_file", "params"];
    let schema = schema();
    let some = |path: &str, wanted: fn(&str) -> bool| {
        let schema = schema.pointer(path).unwrap_or_else(|| panic!("no {path}"));
        let keys = schema["properties"].as_object().unwrap();
        let mut lines = String::new();
        for (key, value) in keys.iter().filter(|(key, _)| wanted(key)) {
            if let Some(default) = value.get("default") {
                let _ = writeln!(lines, "{key} = {default}");
            }
        }
        lines
    };
    let stated = |path: &str| some(path, |key| !OF_SCRIPTS.contains(&key));
    let table = |name: &str| stated(&format!("/$defs/{name}"));
    let said = format!(
        "{}[memory]\n{}[disk]\npath = \"d\"\n{}[shared]\nurl = \"redis://r\"\n{}[purge]\n{}[purge.refresh]\n{}[limits]\n{}[report]\nnode = \"n\"\n{}[log]\n{}\
         [defaults]\n{}[defaults.stale]\n{}[defaults.key]\n{}\
         [[origin]]\n{}[[origin.servers]]\nurl = \"http://127.0.0.1:5001\"\n{}\
         [origin.timeouts]\n{}[origin.queue]\n{}[origin.retry]\n{}[origin.passive]\n{}[origin.health]\n{}",
        stated(""),
        table("Memory"),
        table("Disk"),
        table("Shared"),
        table("Purge"),
        table("Refresh"),
        table("Limits"),
        table("Report"),
        table("Log"),
        table("Defaults"),
        table("Stale"),
        table("Key"),
        table("Origin"),
        table("Server"),
        table("Timeouts"),
        table("Queue"),
        table("Retry"),
        table("Passive"),
        table("Health"),
    );
    let silent = format!(
        "report.node = \"n\"\ndisk.path = \"d\"\nshared.url = \"redis://r\"\npurge.refresh = {{}}\n{ORIGIN}[origin.health]\n"
    );
    let scripts = "[[origin]]\nname = \"b\"\nfastcgi = \"tcp://127.0.0.1:9000\"\nroot = \"/tmp\"\n";
    let stated_scripts = some("/$defs/Origin", |key| OF_SCRIPTS.contains(&key));
    assert_same(&good(&format!("{scripts}{stated_scripts}")), &good(scripts));
    assert_same(&good(&said), &good(&silent));
}

/// Returns what a configuration means, line by line.
fn shown(config: &meant::Config) -> Vec<String> {
    let shown = format!("{config:#?}");
    // These differ for each origin, and the text is how it is written.
    let own = ["number: ", "tv_sec: ", "tv_nsec: ", "text: "];
    let lines = shown.lines().map(str::trim);
    let lines = lines.filter(|line| !own.iter().any(|own| line.starts_with(own)));
    lines.map(str::to_owned).collect()
}

/// Asserts that two configurations mean the same.
fn assert_same(said: &meant::Config, silent: &meant::Config) {
    let [said, silent] = [said, silent].map(shown);
    let differing = said
        .iter()
        .zip(&silent)
        .find(|(said, silent)| said != silent);
    assert_eq!(differing, None);
    assert_eq!(said.len(), silent.len());
}

#[test]
fn every_example_in_the_schema_can_be_read() {
    fn examples<'a>(schema: &'a Value, key: &'a str, found: &mut Vec<(&'a str, &'a Value)>) {
        let list = schema.get("examples").and_then(Value::as_array);
        found.extend(list.into_iter().flatten().map(|example| (key, example)));
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, inner) in properties.into_iter().flatten() {
            examples(inner, key, found);
        }
    }
    let schema = schema();
    // Required keys of the table are beside every other key.
    for (name, prefix, needed) in [
        ("Limits", "[limits]\n", ""),
        ("Route", "[[route]]\n", ""),
        ("Key", "[defaults.key]\n", ""),
        ("Shared", "[shared]\n", "url = \"redis://r\""),
        ("Purge", "[purge]\n", ""),
    ] {
        let mut found = Vec::new();
        examples(&schema["$defs"][name], "", &mut found);
        for (key, example) in found
            .into_iter()
            .filter(|(_, example)| !example.is_object())
        {
            let origin = match key {
                _ if example == "shop" => "name = \"shop\"",
                "try" => "name = \"app\"\n[[origin]]\nname = \"static\"\nstatic = \"/usr\"",
                _ => "",
            };
            let needed = if needed.starts_with(&format!("{key} =")) {
                ""
            } else {
                needed
            };
            good(&format!(
                "disk.path = \"d\"\n{ORIGIN}{origin}\n{prefix}{needed}\n{key} = {example}\n"
            ));
        }
    }
}

#[test]
fn the_reference_page_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page == reference(),
        "run: cargo run -p larder -- schema --markdown > docs/configuration.md"
    );
}

/// Pieces from which faulty files are put together.
fn piece() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "[", "]", "{", "}", "=", "\"", ".", ",", "\n", "~", "*", "é", "\\u", "route", "origin",
        "servers", "ttl", "listen", "defaults", "200", "1s", "path", "/a", ":5001", "key", "any",
        "-", " ", "true",
    ];
    prop_oneof![
        select(WORDS).prop_map(str::to_owned),
        any::<char>().prop_map(String::from)
    ]
}

/// Whatever the file says, the report is short.
#[test]
fn what_is_long_is_cut() {
    let long = "x".repeat(100_000);
    for text in [
        format!("{long} = 1\n"),
        format!("name = \"{long} \"\n"),
        format!("listen = \"{long}\"\n"),
        format!("log.access = {{ {long} = 1 }}\n"),
        format!("log = {{ access = \"{long}\", formats = 1 }}\n"),
        format!("[[route]]\nname = \"{long}\"\n[[route]]\nname = \"{long}\"\n"),
    ] {
        let faults = read(&format!("{text}{ORIGIN}")).unwrap_err().render(false);
        let letters = faults.chars();
        let begun: String = letters.take(2000).collect();
        assert!(faults.len() < 10_000, "{begun}");
    }
    let far = read(&format!("log = {{ access = \"{long}\", formats = 1 }}\n")).unwrap_err();
    let told = far.render(false);
    assert!(
        told.contains("unknown key `formats` (line 1, column 100022)"),
        "{told}"
    );
}

proptest! {
    #[test]
    fn no_text_is_too_much(pieces in vec(piece(), 0..40)) {
        if let Err(faults) = read(&pieces.concat()) {
            prop_assert!(!faults.list().is_empty());
            prop_assert!(faults.render(false).ends_with("larder.toml\n"));
        }
    }

    #[test]
    fn no_word_is_too_much(text in "\\PC{0,24}|[-a-z0-9:/.*~=\\[\\] ]{0,24}|[a-b/.*~=,;|^$+(?) ]{0,12}") {
        fn told<T: Word>(text: &str) {
            if let Err(wrong) = T::read(text) {
                assert!(!wrong.what.is_empty() && !wrong.to_string().ends_with('\n'));
                let Some(instead) = wrong.instead else {
                    return;
                };
                let table: toml::Table = toml::from_str(&format!("value = [{instead}]")).unwrap();
                for proposed in table["value"].as_array().unwrap() {
                    let proposed = proposed.as_str().unwrap();
                    assert!(T::parse(proposed).is_ok(), "{text:?}: {proposed:?}");
                }
            }
        }
        told::<Duration>(&text);
        told::<Size>(&text);
        told::<ListenAddress>(&text);
        told::<ServerUrl>(&text);
        told::<IpNet>(&text);
        told::<HostPattern>(&text);
        told::<PathPattern>(&text);
        told::<FieldPattern>(&text);
        told::<CookiePattern>(&text);
        told::<QueryPattern>(&text);
        told::<FilePattern>(&text);
        told::<HostValue>(&text);
        told::<OwnField>(&text);
        told::<ParamPattern>(&text);
        told::<StatusPattern>(&text);
        told::<FieldLine>(&text);
        told::<Token>(&text);
        told::<Admin>(&text);
        told::<AccessTarget>(&text);
        told::<SharedUrl>(&text);
        told::<PeerUrl>(&text);
        told::<TagField>(&text);
        told::<PathStart>(&text);
    }
}
