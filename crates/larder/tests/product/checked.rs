//! What `larder check` finds of what `larder serve` could not use.

use crate::common::{command, command_of_anybody, faults, faults_of, reload_as, serve};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use testkit::{Command, Origin, Reply, scratch_dir, wait_until};

const ORIGIN: &str = "[[origin]]\nservers = \":5001\"\n";

#[test]
fn files_and_folders_have_a_place() {
    let folder = scratch_dir();
    fs::write(folder.join("file"), "").expect("a file");
    let at = |path: &str| format!("{:?}", folder.join(path));
    for (key, path, what) in [
        ("log.access", "none/log", "there is no folder"),
        ("log.access", "", "is a folder"),
        ("log.access", "file/log", "Not a directory"),
        ("disk.path", "none/disk", "there is no folder"),
        ("disk.path", "file", "is not a folder"),
        ("purge.log", "none/purge", "there is no folder"),
    ] {
        let said = faults(&format!("{key} = {}\n{ORIGIN}", at(path)));
        assert!(said.contains(what), "{key} {path}: {said}");
    }
    for key in ["log.access", "disk.path", "purge.log"] {
        let said = faults(&format!("{key} = {}\n{ORIGIN}", at("new")));
        assert_eq!(said, "", "{key}");
    }
    assert!(!folder.join("new").exists(), "nothing is made");
}

/// Not beside the configuration, which lies in another folder.
#[test]
fn relative_paths_begin_where_the_program_was_started() {
    let folder = scratch_dir();
    let (before, after) = (folder.join("before"), folder.join("after"));
    for made in ["before/site", "before/var"] {
        fs::create_dir_all(folder.join(made)).expect("a folder");
    }
    fs::write(before.join("site/index.html"), "home").expect("a file");
    let config = "log.access = \"var/access.log\"\ndisk.path = \"var/disk\"\n[[origin]]\nstatic = \"site\"\n";
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .within(&before)
        .config(config)
        .start();
    assert_eq!(larder.get("/").send().text(), "home");
    assert!(before.join("var/disk").is_dir());
    // The folder stays the working directory of the server, whatever its name.
    fs::rename(&before, &after).expect("another name");
    reload_as(&larder, config, "2");
    assert_eq!(larder.get("/index.html").send().text(), "home");
    let log = after.join("var/access.log");
    wait_until("the log has been opened again where it was", || {
        fs::read_to_string(&log).is_ok_and(|text| text.contains("/index.html"))
    });
    assert!(!before.exists(), "nothing is made there");

    let file = folder.join("larder.toml");
    let text = format!("admin = \"off\"\nlisten = \"127.0.0.1:0\"\n{config}");
    fs::write(&file, text).expect("a file");
    let check = |within: &Path| {
        let check = command().args(["check".into(), file.clone().into_os_string()]);
        check.within(within).run()
    };
    assert_eq!(check(&after).code, Some(0));
    let said = check(&folder).stderr;
    let missing = format!("there is no folder {}", folder.join("var").display());
    assert_eq!(said.matches(&missing).count(), 2, "{said}");
}

/// As `larder serve` refuses to start there.
#[test]
fn what_the_user_may_not_write_to_is_told() {
    let folder = scratch_dir();
    let mode = |path: &str, mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.join(path), permissions).expect("its mode");
    };
    for made in ["closed", "open"] {
        fs::create_dir(folder.join(made)).expect("a folder");
    }
    fs::write(folder.join("open/old"), "").expect("a file");
    mode("open/old", 0o400);
    mode("closed", 0o500);
    mkfifoat(CWD, folder.join("open/pipe"), Mode::RWXU).expect("a pipe");
    let said = |key: &str, path: &str| {
        let file = folder.join("larder.toml");
        let path = folder.join(path);
        let text = format!("{key} = {path:?}\nadmin = \"off\"\nlisten = \"127.0.0.1:0\"\n{ORIGIN}");
        fs::write(&file, text).expect("a file");
        let check = command_of_anybody().args(["check".into(), file.into_os_string()]);
        check.run().stderr
    };
    for (key, path) in [
        ("log.access", "closed/log"),
        ("log.access", "open/old"),
        ("disk.path", "closed"),
        ("disk.path", "closed/disk"),
        ("purge.log", "closed"),
    ] {
        let said = said(key, path);
        let told = said.contains("cannot write to") && said.contains("Permission denied");
        assert!(told, "{key} {path}: {said}");
    }
    for (key, path) in [
        ("log.access", "open/log"),
        // Who reads it may come before the start; it is not waited for.
        ("log.access", "open/pipe"),
        ("disk.path", "open"),
        ("purge.log", "open/purge"),
    ] {
        assert_eq!(said(key, path), "", "{key} {path}");
    }
    assert!(!folder.join("open/log").exists(), "nothing is made");
}

/// What a client says there chose a page that the application made for its address.
#[test]
fn a_field_that_is_written_anew_is_not_keyed() {
    for name in ["X-Forwarded-For", "Forwarded", "Connection"] {
        let said = faults(&format!("{ORIGIN}[defaults.key]\nheaders = \"{name}\"\n"));
        assert!(said.contains(&format!("`{name}`")), "{name}: {said}");
    }
}

/// Only the first certificate is sent to whoever asks for a name that none is for.
#[test]
fn a_certificate_without_a_name_is_first_or_a_fault() {
    let named = crate::tls::certificate("site.test");
    let nameless = crate::tls::nameless_certificate();
    let check = |all: [&(PathBuf, PathBuf); 2]| {
        let tls = all.map(|(certificate, key)| {
            format!("{{ certificate = {certificate:?}, key = {key:?} }}")
        });
        let tls = tls.join(", ");
        faults_of(&format!(
            "[[listen]]\naddress = \":0\"\ntls = [{tls}]\n{ORIGIN}"
        ))
    };
    assert_eq!(check([&nameless, &named]), "");
    let told = check([&named, &nameless]);
    assert!(
        told.contains("names no host") && told.contains("subjectAltName"),
        "{told}"
    );
}

/// Every answer would count as one that is said to this cache alone, and be stored with the cookie that it sets.
#[test]
fn what_is_said_to_all_caches_is_no_targeted_field() {
    let said = faults(&format!("targeted_fields = [\"Cache-Control\"]\n{ORIGIN}"));
    assert!(said.contains("`CDN-Cache-Control`"), "{said}");
    let said = faults(&format!(
        "targeted_fields = [\"CDN-Cache-Control\"]\n{ORIGIN}"
    ));
    assert_eq!(said, "");
}

/// What `larder check` warns of in a configuration that is in order.
fn warnings(config: &str) -> String {
    let file = scratch_dir().join("larder.toml");
    let text = format!("admin = \"off\"\nlisten = \"127.0.0.1:0\"\n{config}");
    fs::write(&file, text).expect("a file");
    let checked = command()
        .args(["check".into(), file.into_os_string()])
        .run();
    assert_eq!(checked.code, Some(0), "{config}: {checked:?}");
    assert!(checked.stdout.contains("is in order"), "{checked:?}");
    checked.stderr
}

/// In nginx these are prefixes; here, what lies below them would get settings that nobody meant.
#[test]
fn a_path_that_nginx_takes_for_a_prefix_is_warned_of() {
    let route = |paths: &str| format!("{ORIGIN}[[route]]\npath = {paths}\ncache = false\n");
    let bypass = |paths: &str| format!("{ORIGIN}[defaults.bypass]\npaths = {paths}\n");
    let with = |setting: &str| {
        let trusted = "trusted = \"192.0.2.1\"\n";
        format!("{trusted}{ORIGIN}[[route]]\npath = \"/api\"\n{setting}\n")
    };
    for (config, below, alone) in [
        (route("\"/admin/\""), "`/admin/*`", "`~ /admin/`"),
        (route("[\"/x/*\", \"/a/b/\"]"), "`/a/b/*`", "`~ /a/b/`"),
        (route("[\"/a/*\", \"/a/b/\"]"), "`/a/b/*`", "`~ /a/b/`"),
        (route("[\"/*\", \"/admin/\"]"), "`/admin/*`", "`~ /admin/`"),
        (bypass("\"/admin/\""), "`/admin/*`", "`~ /admin/`"),
        (route("\"/\""), "`/*`", "`~ /`"),
        (route("\"/admin\""), "`/admin/*`", "`~ /admin`"),
        (
            route("[\"/x/*\", \"/a/v1.2\"]"),
            "`/a/v1.2/*`",
            "lies below",
        ),
        (route("[\"/a\", \"/a/\"]"), "`/a/*`", "`~ /a/`"),
        (bypass("[\"/a.html\", \"/b\"]"), "`/b/*`", "`~ /b`"),
        (with("origin = \"origin\""), "`/api/*`", "`~ /api`"),
        (with("redirect_https = true"), "`/api/*`", "`~ /api`"),
        (with("refuse = \"403\""), "`/api/*`", "`~ /api`"),
    ] {
        let said = warnings(&config);
        assert!(said.contains(below) && said.contains(alone), "{said}");
        assert!(said.contains("1 warning in"), "{said}");
    }
    // Each of several is one, and each of several refused folders is meant with all that it holds.
    let folders = "path = [\"/admin/\", \"/internal/\"]\n";
    let names = "path = [\"/admin\", \"/internal\", \"/x.php\"]\n";
    for (route, count) in [
        (format!("{folders}cache = false"), 2),
        (format!("{folders}esi = false"), 2),
        (format!("{names}cache = false"), 2),
        (format!("{names}redirect_https = true"), 2),
        (
            "path = [\"/admin/\", \"/internal/\", \"/a.php\", \"/.git\"]\nrefuse = \"403\""
                .to_owned(),
            3,
        ),
        (
            "path = [\"/admin\", \"/admin/*\", \"/internal\"]\nrefuse = \"403\"".to_owned(),
            1,
        ),
    ] {
        let said = warnings(&format!(
            "trusted = \"192.0.2.1\"\n{ORIGIN}[[route]]\n{route}\n"
        ));
        let told = said.matches("and nothing below it").count();
        assert_eq!(told, count, "{route}: {said}");
        assert!(said.contains("/internal"), "{said}");
    }
    let said = warnings(&route("[\"/x\", \"/admin/\"]"));
    assert!(said.contains(":6:15"), "{said}");
}

#[test]
fn a_path_that_is_meant_alone_is_not_warned_of() {
    let routes = |paths: &[&str]| {
        let routes = paths.iter().map(|path| format!("[[route]]\n{path}\n"));
        format!("{ORIGIN}{}", routes.collect::<String>())
    };
    for config in [
        routes(&["path = \"/search\"\nheuristic = false"]),
        routes(&["path = \"/feed.xml\"\ncache = false"]),
        routes(&["path = [\"/login\", \"/logout\"]\nheuristic = false"]),
        // Who writes this knows the difference.
        routes(&["path = [\"/login\", \"/logout\", \"/account/*\"]\ncache = false"]),
        routes(&["path = [\"/a/\", \"/b/\", \"/c/*\"]\ncache = false"]),
        routes(&["path = [\"/a/\", \"/b/\", \"~ /c/\"]\nesi = false"]),
        routes(&["path = \"~ /admin\"\nrefuse = \"403\""]),
        routes(&["path = \"/admin\"\ncache = false", "path = \"/admin/*\""]),
        routes(&["path = \"/admin\"\nrefuse = \"403\"", "path = \"/admin*\""]),
        routes(&["path = \"/graphql\"\norigin = \"origin\"\n[route.graphql]"]),
        routes(&["path = \"~ /admin/\""]),
        routes(&["path = [\"/admin/\", \"/admin/*\"]"]),
        routes(&["path = \"/admin/\"", "path = \"/admin/*\"\ncache = false"]),
        routes(&["path = \"/a/b/\"\nesi = false", "path = \"~ /a/b(/.*)?\""]),
        routes(&["path = \"/\"", ""]),
        routes(&["path = \"/\"", "path = \"/*\""]),
        routes(&["path = \"~ /\""]),
        format!("{}[defaults]\nesi = false\n", routes(&["path = \"/\""])),
    ] {
        assert_eq!(warnings(&config), "", "{config}");
    }
    for preset in ["wordpress", "woocommerce", "magento", "drupal", "django"] {
        let config = format!("{ORIGIN}[defaults]\npreset = \"{preset}\"\n");
        assert_eq!(warnings(&config), "", "{preset}");
    }
}

/// The lifetime is forced, and still the pages of each token are fetched each time.
#[test]
fn a_key_of_credentials_is_warned_of_where_lifetimes_are_forced() {
    let forced = "ttl = \"1m\"\nttl_mode = \"override\"\n";
    let key = "key.headers = [\"Accept-Language\", \"authorization\"]\n";
    let signed_in = "[[route]]\ncookie = \"session\"\ncache = false\n";
    let route =
        |settings: &str| format!("{ORIGIN}{signed_in}[[route]]\npath = \"/a/*\"\n{settings}");
    for config in [
        route(&format!("{key}{forced}")),
        format!("{}[defaults]\n{key}{forced}", route("")),
        format!("{}[defaults]\n{forced}", route(key)),
    ] {
        let said = warnings(&config);
        assert!(said.contains("only if it says `public`"), "{said}");
        assert!(said.contains("`bypass.headers ="), "{said}");
        assert!(said.contains("1 warning in"), "{said}");
    }
    for config in [
        route(&format!("{key}ttl = \"1m\"\n")),
        route(&format!("key.headers = \"Accept-Language\"\n{forced}")),
        route(&format!(
            "{key}{forced}bypass.headers = \"Authorization\"\n"
        )),
        format!(
            "{}[defaults]\n{forced}",
            route(&format!("{key}refuse = \"403\"\n"))
        ),
    ] {
        assert_eq!(warnings(&config), "", "{config}");
    }
}

/// Of an upload's content, a connection holds as much again as a head may take.
#[test]
fn a_header_may_be_so_large_that_uploads_still_have_room() {
    let limits = |size: &str| format!("[limits]\nheader_size = \"{size}\"\n");
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().body("x"));
    let larder = serve(&origin).config(&limits("1MiB")).start();
    let mut client = larder.client();
    let large = client.get("/").header("X-Large", "x".repeat(900 << 10));
    assert_eq!(large.send().status, 200);
    let upload = client
        .ask("POST", "/")
        .header("Transfer-Encoding", "chunked");
    upload.begin().send("0\r\n\r\n");
    assert_eq!(client.read().status, 200);
    for config in [
        format!("{ORIGIN}{}", limits("1025KiB")),
        format!("{ORIGIN}{}", limits("7EiB")),
        format!("{ORIGIN}header_size = \"1025KiB\"\n"),
    ] {
        let said = faults(&config);
        assert!(said.contains("a header is at most 1MiB"), "{said}");
        assert!(said.contains("`header_size = \"1MiB\"`"), "{said}");
    }
    let most = format!("{ORIGIN}header_size = \"1MiB\"\n{}", limits("1MiB"));
    assert_eq!(faults(&most), "");
}

/// Who may purge is said elsewhere, and the route leaves it as it is.
#[test]
fn a_route_that_is_to_refuse_purges_is_warned_of() {
    let route = |settings: &str| format!("{ORIGIN}[[route]]\n{settings}\n");
    let origin = Origin::start();
    let purges = "method = \"PURGE\"\nrefuse = \"403\"";
    let larder = serve(&origin)
        .config(&format!("[[route]]\n{purges}\n"))
        .start();
    assert_eq!(larder.ask("PURGE", "/").send().status, 200);
    for (config, place) in [
        (route(purges), ":6:10"),
        (
            route("method = [\"POST\", \"BAN\", \"REFRESH\"]\nrefuse = \"405\""),
            ":6:19",
        ),
        (
            format!(
                "{}[defaults]\nrefuse = \"403\"\n",
                route("method = \"PURGE\"")
            ),
            ":6:10",
        ),
    ] {
        let said = warnings(&config);
        assert!(said.contains("no effect on"), "{said}");
        assert!(said.contains("`allow = []`"), "{said}");
        assert!(said.contains(place), "{said}");
        assert!(said.contains("1 warning in"), "{said}");
    }
    for config in [
        route("method = \"POST\"\nrefuse = \"405\""),
        route("method = \"PURGE\"\nresponse_headers.set = \"X-Purged: yes\""),
        route("path = \"/a/*\"\nrefuse = \"403\""),
    ] {
        assert_eq!(warnings(&config), "", "{config}");
    }
}

/// Both work, each in its way, which nobody would guess.
#[test]
fn one_path_for_two_ways_to_purge_is_warned_of() {
    let purge = |prefix: &str, souin: &str| {
        format!("{ORIGIN}[purge]\nget_prefix = \"{prefix}\"\nsouin = \"{souin}\"\n")
    };
    let said = warnings(&purge("/purge", "/purge"));
    assert!(said.contains("the same path as `get_prefix`"), "{said}");
    assert!(said.contains(":6:14"), "{said}");
    for (prefix, souin) in [
        ("/purge", "/purges"),
        ("/api/purge", "/api"),
        ("/purge", "/souin-api/souin"),
    ] {
        assert_eq!(warnings(&purge(prefix, souin)), "", "{prefix} {souin}");
    }
}

/// Conditions are judged by the content's own validators: no client's would ever hold.
#[test]
fn validators_come_with_the_content() {
    for (edit, is_fault) in [
        ("response_headers.set = 'ETag: \"z\"'", true),
        ("response_headers.add = 'etag: \"z\"'", true),
        (
            "response_headers.set = \"Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\"",
            true,
        ),
        (
            "response_headers.remove = [\"ETag\", \"Last-Modified\"]",
            false,
        ),
        ("request_headers.set = 'ETag: \"z\"'", false),
    ] {
        for table in ["[defaults]", "[[route]]\npath = \"/a\""] {
            let said = faults(&format!("{ORIGIN}{table}\n{edit}\n"));
            let told = said.matches("so it comes with the content").count();
            assert_eq!(told, usize::from(is_fault), "{table} {edit}: {said}");
            assert_eq!(said.contains("the application sets it"), is_fault, "{said}");
        }
    }
}

/// Browsers would take plain content for compressed, or compressed content for plain.
#[test]
fn what_is_compressed_here_has_no_coding_of_the_site() {
    let set = "response_headers.set = \"Content-Encoding: br\"\n";
    let route =
        |lines: &str| format!("[defaults]\ncompress = false\n[[route]]\npath = \"/a\"\n{lines}");
    for (config, is_fault) in [
        (format!("[defaults]\n{set}"), true),
        (format!("[[route]]\npath = \"/a\"\n{set}"), true),
        (route(&format!("compress = [\"br\"]\n{set}")), true),
        (
            "[defaults]\nresponse_headers.remove = \"content-encoding\"\n".to_owned(),
            true,
        ),
        (format!("[defaults]\ncompress = false\n{set}"), false),
        (route(set), false),
        (
            "[defaults]\nrequest_headers.set = \"Content-Encoding: br\"\n".to_owned(),
            false,
        ),
    ] {
        let said = faults(&format!("{ORIGIN}{config}"));
        assert_eq!(
            said.contains("`compress = false`"),
            is_fault,
            "{config}: {said}"
        );
        assert_eq!(said.is_empty(), !is_fault, "{config}: {said}");
    }
}

/// nginx searches for these; over the whole path they would match hardly anything.
#[test]
fn expressions_that_are_meant_to_be_searched_for_are_told() {
    for (path, proposal) in [
        ("~ ^/admin", "/admin.*"),
        ("~ (?i)^/admin", "(?i)/admin.*"),
        ("~ (?i)admin", "(?i).*admin.*"),
        ("~ (admin|login)", "~ .*(admin|login).*"),
        ("~ ^admin.*", "~ /admin.*"),
        ("/(en|de)/*", "~ /(en|de)/.*"),
        (r"\.php$", "*.php"),
        ("/admin/*, /login*", "[\"/admin/*\", \"/login*\"]"),
        ("/admin/* /login*", "[\"/admin/*\", \"/login*\"]"),
    ] {
        let said = faults(&format!("{ORIGIN}[[route]]\npath = '{path}'\n"));
        assert!(said.contains(proposal), "{path}: {said}");
    }
    for path in ["~ (/a|/b)c", "~ (?i)/admin.*", "~ (?:/a|/b)c"] {
        let said = faults(&format!("{ORIGIN}[[route]]\npath = '{path}'\n"));
        assert_eq!(said, "", "{path}");
    }
}

/// What is proposed matches what an expression would have found.
#[test]
fn proposals_for_paths_leave_no_path_open() {
    for (path, proposal, target) in [
        ("'~ admin'", "'~ .*admin.*'", "/admin/users"),
        ("'~ ^admin.*'", "'~ /admin.*'", "/admin/users"),
        ("'/(en|de)/*'", "'~ /(en|de)/.*'", "/en/x/y"),
        (r"'\.php$'", "'*.php'", "/a/x.php"),
        (
            "'/admin/* /login*'",
            "['/admin/*', '/login*']",
            "/login/now",
        ),
    ] {
        let route = |path| format!("{ORIGIN}[[route]]\npath = {path}\nrefuse = \"403\"\n");
        let said = faults(&route(path));
        let told = proposal.replace('\'', "\"");
        assert!(said.contains(&format!("write `path = {told}`")), "{said}");
        let config = format!(
            "listen = \"127.0.0.1:0\"\nadmin = \"off\"\n{}",
            route(proposal)
        );
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start();
        assert_eq!(larder.get(target).send().status, 403, "{proposal}");
    }
}

#[test]
fn what_begins_with_a_dot_may_be_everything_that_is_meant() {
    let route = |path| format!("{ORIGIN}[[route]]\npath = {path}\nrefuse = \"403\"\n");
    let said = warnings(&route("\"/admin/.*\""));
    assert!(said.contains("write `/admin/*`"), "{said}");
    for path in ["\"/.*\"", "\"~ /admin/[.].*\"", "\"/admin/*\""] {
        assert_eq!(warnings(&route(path)), "", "{path}");
    }
}

#[test]
fn several_methods_are_a_list() {
    for method in ["PUT|DELETE", "PUT, DELETE", "~ ^(PUT|DELETE)$"] {
        let said = faults(&format!("{ORIGIN}[[route]]\nmethod = {method:?}\n"));
        let told = said.contains("write `method = [\"PUT\", \"DELETE\"]`");
        assert!(told, "{method}: {said}");
    }
    let said = faults(&format!("{ORIGIN}[[route]]\nmethod = [\"PUT|DELETE\"]\n"));
    assert!(said.contains("write `\"PUT\", \"DELETE\"`"), "{said}");
}

/// Pages of users would go to others, for want of a cookie that is called so.
#[test]
fn names_that_are_written_as_searches_are_told() {
    for (pattern, proposal) in [
        ("~ logged_in", "\"~ .*logged_in.*\""),
        ("session=", "\"session\""),
        ("session=.*", "\"session\""),
        ("wp_.*", "\"wp_*\""),
        ("^wordpress", "\"~ wordpress.*\""),
        ("SESS|logged_in", "\"~ .*SESS.*|.*logged_in.*\""),
        ("wp_[^=]*=", "\"~ .*wp_.*\""),
        ("session, other", "\"session\", \"other\""),
        ("Cookie: session", "\"session\""),
    ] {
        let rules = |pattern: &str| {
            format!(
                "{ORIGIN}[defaults.bypass]\ncookies = [{pattern}]\nmisses_with = [{pattern}]\n\
                 sets = [{pattern}]\n[[route]]\ncookie = [{pattern}]\n"
            )
        };
        let said = faults(&rules(&format!("{pattern:?}")));
        let told = said.matches(&format!("write `{proposal}`")).count();
        assert_eq!(told, 4, "{pattern}: {said}");
        assert_eq!(faults(&rules(proposal)), "");
    }
    for (pattern, proposal) in [
        ("~ preview", "\"~ .*preview.*\""),
        ("utm_.*", "\"utm_*\""),
        ("view=.*", "\"view\""),
        ("page|q", "\"~ .*page.*|.*q.*\""),
        ("page, q", "\"page\", \"q\""),
    ] {
        let rules = |pattern: &str| {
            format!(
                "{ORIGIN}[defaults.bypass]\nquery = [{pattern}]\n[[route]]\nquery = [{pattern}]\n"
            )
        };
        let said = faults(&rules(&format!("{pattern:?}")));
        let told = said.matches(&format!("write `{proposal}`")).count();
        assert_eq!(told, 2, "{pattern}: {said}");
        assert_eq!(faults(&rules(proposal)), "");
    }
}

/// These may be meant as they are written.
#[test]
fn names_that_are_hardly_meant_are_warned_of() {
    let rules = |key: &str, pattern: &str| {
        format!("{ORIGIN}[defaults.bypass]\n{key} = {pattern:?}\n[[route]]\npath = \"/a\"\n")
    };
    for (key, pattern, told) in [
        (
            "cookies",
            "~ wp_logged|author",
            "`~ .*wp_logged.*|.*author.*`",
        ),
        ("misses_with", "~ (?i)session", "`~ (?i).*session.*`"),
        ("sets", "session.*", "`session*`"),
        ("query", "q=", "`q=~ ^$`"),
        ("query", "~ a|b", "`~ ^(a|b)$`"),
        (
            "cookies",
            "~ wordpress.logged.in",
            "`~ .*wordpress.logged.in.*`",
        ),
        ("cookies", "~ a.b|c", "`~ ^(a.b|c)$`"),
        ("misses_with", "a.*b", "`a*b`"),
        ("sets", "a.*b=c", "`~ a[.].*b`"),
        ("query", "a.*b", "`a*b`"),
    ] {
        let said = warnings(&rules(key, pattern));
        let lines = said.replace("\n  │ ", " ").replace("\n        ", " ");
        let is_one = said.contains("1 warning in");
        assert!(lines.contains(told) && is_one, "{key} {pattern}: {said}");
    }
    for (key, pattern) in [
        ("cookies", "~ ^(a|b)$"),
        ("cookies", "~ a[.]b"),
        ("cookies", r"~ a\..*b"),
        ("cookies", "~ a.*b"),
        ("cookies", "user.*.name"),
        ("cookies", "~ (a|b)_.*"),
        ("cookies", "Drupal.visitor.*"),
        ("cookies", "user[name]"),
        ("cookies", "session=~ ^$"),
        ("query", "filter[price][]"),
        ("query", "page[*]=a b"),
        ("query", "q=~ ^$"),
        ("query", "q=a, b"),
    ] {
        assert_eq!(warnings(&rules(key, pattern)), "", "{key} {pattern}");
    }
}

/// A key has the values of certain cookies: each is named.
#[test]
fn several_names_in_one_are_no_cookie_of_the_key() {
    let key = |names: &str| format!("{ORIGIN}[defaults]\nkey.cookies = [{names}]\n");
    let said = faults(&key("\"session|x\""));
    let is_told = said.contains("`session|x` is not the name of one cookie");
    let proposal = "\"session\", \"x\"";
    assert!(is_told && said.contains(proposal), "{said}");
    assert_eq!(faults(&key(proposal)), "");
    let said = faults(&key("\"~session\""));
    assert!(said.contains("not the name of one cookie"), "{said}");
}

/// As shells have it.
#[test]
fn a_choice_in_a_path_is_told_as_several_paths() {
    let route = |paths: &str| format!("{ORIGIN}[[route]]\npath = {paths}\n");
    let said = faults(&route("\"*.{jpg,png}\""));
    let proposal = "[\"*.jpg\", \"*.png\"]";
    assert!(
        said.contains(&format!("write `path = {proposal}`")),
        "{said}"
    );
    assert_eq!(faults(&route(proposal)), "");
}

/// Also where it is the only text of a list, and in the names of files, of which a choice would guard none.
#[test]
fn a_choice_in_a_name_is_told_as_several_names() {
    let folder = scratch_dir();
    let root = folder.display();
    let scripts = format!("[[origin]]\nfastcgi = \"unix:/run/x\"\nroot = \"{root}\"\n");
    for (before, key, written, proposal) in [
        (ORIGIN, "bypass.cookies", "{a,b}", "[\"a\", \"b\"]"),
        (ORIGIN, "bypass.query", "x{a,b}=1", "[\"xa=1\", \"xb=1\"]"),
        (ORIGIN, "key.cookies", "{a,b}", "[\"a\", \"b\"]"),
        (ORIGIN, "key.query", "utm_{a,b}", "[\"utm_a\", \"utm_b\"]"),
        (&scripts, "no_file", "*.{sql,bak}", "[\"*.sql\", \"*.bak\"]"),
    ] {
        let table = if key == "no_file" { "" } else { "[defaults]\n" };
        let rules = |value: &str| format!("{before}{table}{key} = {value}\n");
        let said = faults(&rules(&format!("{written:?}")));
        let last = key.rsplit('.').next().unwrap();
        let told = said.contains("does not stand for either");
        assert!(
            told && said.contains(&format!("write `{last} = {proposal}`")),
            "{said}"
        );
        assert_eq!(faults(&rules(proposal)), "", "{key}");
    }
}

/// A number in quotes is answered with one that the setting takes.
#[test]
fn a_number_in_quotes_is_answered_within_its_bounds() {
    for (written, instead) in [
        ("connections = \"0\"", "connections = 1"),
        ("connections = \"7\"", "connections = 7"),
        ("header_count = \"5\"", "header_count = 16"),
        ("header_count = \"99999\"", "header_count = 10000"),
        ("http2_resets = \"0\"", "http2_resets = 0"),
    ] {
        let said = faults(&format!("{ORIGIN}[limits]\n{written}\n"));
        assert!(
            said.contains(&format!("write `{instead}`")),
            "{written}: {said}"
        );
        assert_eq!(faults(&format!("{ORIGIN}[limits]\n{instead}\n")), "");
    }
}

/// Case does not count in a scheme (RFC 3986 section 3.1).
#[test]
fn a_scheme_may_be_in_capitals() {
    let loud = "[[origin]]\nservers = \"HTTPS://App.example\"\n\
                [purge]\npeers = \"Http://10.0.0.2:9180\"\n";
    assert_eq!(faults(loud), "");
}

/// A rule that never holds protects nothing.
#[test]
fn expressions_cover_whole_values() {
    for (key, pattern, proposal) in [
        (
            "headers",
            "X-Requested-With: ~ ^XML",
            "X-Requested-With: ~ XML.*",
        ),
        (
            "headers",
            "User-Agent: ~ (?i)^curl|^wget",
            "User-Agent: ~ (?i)curl.*|wget.*",
        ),
        ("cookies", "group=~ ^admin", "group=~ admin.*"),
        ("misses_with", "group=~^admin", "group=~ admin.*"),
        ("query", "view=~ ^draft", "view=~ draft.*"),
    ] {
        let rules = |pattern: &str| format!("{ORIGIN}[defaults.bypass]\n{key} = [{pattern:?}]\n");
        let said = faults(&rules(pattern));
        let told = said.contains("the whole value, not only its beginning");
        assert!(told && said.contains(&format!("{proposal:?}")), "{said}");
        assert_eq!(faults(&rules(proposal)), "");
    }
    let route = "[[route]]\nheader = \"User-Agent: ~ ^Mozilla\"\n";
    let said = faults(&format!("{ORIGIN}{route}"));
    assert!(said.contains("\"User-Agent: ~ Mozilla.*\""), "{said}");
}

/// What is proposed can be written as it stands, and is what was meant.
#[test]
fn words_of_nginx_are_translated() {
    for (lines, proposal) in [
        ("[[route]]\npath = \"= /exact\"", "\"/exact\""),
        ("[[route]]\npath = \"^~ /images/\"", "\"/images/*\""),
        (
            "[defaults]\nttl = { \"200 302\" = \"5\" }",
            "`\"200 302\" = \"5s\"`",
        ),
        ("[defaults]\nttl = { 200 = \"5\" }", "`200 = \"5s\"`"),
        (
            "[defaults]\nttl = \"200 302 10m\"",
            "`ttl = { \"200 302\" = \"10m\" }`",
        ),
        (
            "[defaults]\nttl = \"any 1m\"",
            "`ttl = { \"any\" = \"1m\" }`",
        ),
        ("[defaults.stale]\nstatuses = [\"http_500\"]", "`\"500\"`"),
        ("[defaults.bypass]\ncookies = [\"~* x\"]", "\"~ (?i).*x.*\""),
        (
            "[defaults.bypass]\nheaders = [\"User-Agent: ~* bot$\"]",
            "\"User-Agent: ~ (?i).*bot\"",
        ),
        (
            "[defaults.bypass]\nheaders = [\"User-Agent: ~* bot|crawl\"]",
            "\"User-Agent: ~ (?i).*bot.*|.*crawl.*\"",
        ),
        ("[defaults.bypass]\nquery = [\"~* ^x\"]", "\"~ (?i)x.*\""),
    ] {
        let said = faults(&format!("{ORIGIN}{lines}\n"));
        assert!(said.contains(proposal), "{lines}: {said}");
    }
}

#[test]
fn numbers_of_durations_have_a_unit() {
    for line in [
        "browser_ttl = \"200 5m\"",
        "ttl = { 200 = \"302 10m\" }",
        "stale.if_error = \"1 000s\"",
    ] {
        let said = faults(&format!("{ORIGIN}[defaults]\n{line}\n"));
        assert!(said.contains("has no unit"), "{line}: {said}");
    }
    let good = "browser_ttl = \"1h 30m\"\nstale.if_error = \"1 d\"\n";
    assert_eq!(faults(&format!("{ORIGIN}[defaults]\n{good}")), "");
}

/// They would be sent and compared as they stand there.
#[test]
fn variables_of_nginx_are_told() {
    for (lines, proposal) in [
        ("[defaults]\norigin_host = \"$host\"", ""),
        (
            "[defaults]\nresponse_headers.set = \"X-Status: $upstream_status\"",
            "",
        ),
        (
            "[defaults]\nresponse_headers.add = \"X-Status: ${status}\"",
            "",
        ),
        (
            "[defaults.key]\nheaders = \"$http_accept_language\"",
            "\"accept-language\"",
        ),
        (
            "[defaults.key]\ncookies = \"$cookie_currency\"",
            "\"currency\"",
        ),
        ("[defaults.key]\nquery = [\"$arg_page\"]", "\"page\""),
        (
            "[defaults.bypass]\ncookies = \"$cookie_session\"",
            "\"session\"",
        ),
        ("[defaults.bypass]\nheaders = \"$http_x_preview: 1\"", ""),
        ("[defaults.bypass]\nquery = \"$arg_nocache\"", "\"nocache\""),
        ("[report]\nnode = \"$hostname\"", ""),
        ("[log]\naccess = \"/var/log/$host.log\"", ""),
    ] {
        let said = faults(&format!("{ORIGIN}{lines}\n"));
        let told = said.contains("there are no variables");
        assert!(told && said.contains(proposal), "{lines}: {said}");
    }
    let own = "[purge]\nallow = \"127.0.0.1\"\nsecret = { header = \"X-Key\", value = \"pa$hostile\" }\n\
               [defaults]\nkey.cookies = \"$price\"\nrequest_headers.remove = \"$WSRA\"\n";
    assert_eq!(faults(&format!("{ORIGIN}{own}")), "");
}

/// How lifetimes stand to the origin's may be said once for routes that each have their own.
#[test]
fn the_mode_of_lifetimes_in_defaults_is_for_the_routes_that_have_any() {
    for (rest, is_of_use) in [
        ("ttl = \"1m\"\n", true),
        ("[[route]]\npath = \"/a\"\nttl = \"1m\"\n", true),
        (
            "[[route]]\npath = \"/a\"\nttl = \"1m\"\n[[route]]\npath = \"/b\"\n",
            true,
        ),
        ("", false),
        ("[[route]]\npath = \"/a\"\n", false),
    ] {
        let said = faults(&format!(
            "{ORIGIN}[defaults]\nttl_mode = \"override\"\n{rest}"
        ));
        assert_eq!(said.is_empty(), is_of_use, "{rest}: {said}");
        assert_eq!(said.contains("`ttl_mode` has no effect"), !is_of_use);
    }
    let own = "[[route]]\npath = \"/a\"\nttl = \"1m\"\n[[route]]\npath = \"/b\"\nttl_mode = \"override\"\n";
    let said = faults(&format!("{ORIGIN}{own}"));
    assert!(said.contains("`ttl_mode` has no effect"), "{said}");
}

/// What is nearest to what is written is proposed, as with keys.
#[test]
fn words_are_corrected_to_the_nearest() {
    for (line, instead) in [
        ("set_cookie = \"stripp\"", "set_cookie = \"strip\""),
        ("set_cookie = \"Store\"", "set_cookie = \"store\""),
        ("ttl_mode = \"overide\"", "ttl_mode = \"override\""),
        ("ttl = { anny = \"1m\" }", "any"),
        ("preset = \"word-press\"", "preset = \"wordpress\""),
    ] {
        let said = faults(&format!("{ORIGIN}[defaults]\n{line}\n"));
        assert!(said.contains(instead), "{line}: {said}");
    }
    for (line, instead) in [
        ("balance = \"leastconn\"", "balance = \"least-connections\""),
        ("balance = \"hash\"", "balance = "),
    ] {
        let said = faults(&format!("{ORIGIN}{line}\n"));
        assert!(said.contains(instead), "{line}: {said}");
    }
    let said = faults(&format!(
        "[log]\nlevel = \"warning\"\nformat = \"jsn\"\n{ORIGIN}"
    ));
    assert!(
        said.contains("level = \"warn\"") && said.contains("format = \"json\""),
        "{said}"
    );
}

/// In a route it would put nothing in the place of what `[defaults]` says.
#[test]
fn a_table_of_lifetimes_has_one() {
    for lines in [
        "[defaults]\nttl = {}",
        "[defaults.ttl]",
        "[defaults]\nttl = \"1m\"\n[[route]]\npath = \"/a\"\nttl = {}",
    ] {
        let said = faults(&format!("{ORIGIN}{lines}\n"));
        let told = said.contains("`ttl` is empty") && said.contains("1 fault in");
        assert!(told && said.contains("write `ttl = \"60s\"`"), "{said}");
        assert!(said.contains("larder.toml:"), "its line: {said}");
    }
    // What was in it is what is wrong.
    let said = faults(&format!("{ORIGIN}[defaults]\nttl = {{ 200 = \"5\" }}\n"));
    assert!(
        said.contains("`200 = \"5s\"`") && said.contains("1 fault in"),
        "{said}"
    );
}

/// The origin of the command line stands in place of the file's servers, and of nothing else.
#[test]
fn what_the_file_says_of_tls_holds_for_the_origin_of_the_command_line() {
    let file = scratch_dir().join("larder.toml");
    let text = "admin = \"off\"\nlisten = \"127.0.0.1:0\"\n[[origin]]\nservers = \"https://127.0.0.1:1\"\n\
                tls = { authorities = \"/none/ca.pem\" }\n";
    fs::write(&file, text).expect("a file");
    let serve = |url: &str| {
        let serve = crate::common::command().args(["serve", "--config"]);
        serve.args([file.as_os_str()]).args([url])
    };
    let finished = serve("https://127.0.0.1:2").run();
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("/none/ca.pem"),
        "{}",
        finished.stderr
    );
    let plain = Origin::start();
    plain.reply("/", Reply::ok());
    assert_eq!(serve(&plain.url()).start().get("/").send().status, 200);
}

/// An IPv4 network that is written in IPv6, and an address in a long form: clients are known by the short one.
#[test]
fn networks_and_hosts_match_however_they_are_written() {
    let (_origin, larder) = crate::common::start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\nhost = \"[0:0:0:0:0:0:0:1]\"\nrefuse = \"410\"\n\
         [[route]]\nclient = \"::ffff:127.0.0.0/104\"\nrefuse = \"403\"\n",
    );
    assert_eq!(larder.get("/").send().status, 403);
    let mut client = larder.client();
    for host in ["[::1]", "[0:0:0:0:0:0:0:1]"] {
        client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(client.read().status, 410, "{host}");
    }
}

/// What is said of a `ttl` is what happens to the page that one user's cookie made.
#[test]
fn a_lifetime_without_a_word_on_cookies_is_warned_of() {
    let graphql = "[[route]]\npath = \"/*\"\nttl = \"1m\"\n[route.graphql]\n";
    for (config, told, is_for_all) in [
        (
            "[defaults]\nttl = \"1m\"\n",
            "is stored for everybody",
            true,
        ),
        (
            "[defaults]\nttl = \"1m\"\nttl_mode = \"override\"\n",
            "even if it says `private`",
            true,
        ),
        (graphql, "no effect on requests with cookies", false),
        (
            "[defaults]\nttl = \"1m\"\nkey.drop_cookies = true\n",
            "",
            false,
        ),
        (
            "[defaults]\nttl = \"1m\"\nbypass.cookies = \"user\"\n",
            "",
            false,
        ),
        (
            "[defaults]\nttl = \"1m\"\nkey.cookies = \"user\"\n",
            "",
            false,
        ),
    ] {
        let said = warnings(&format!("{ORIGIN}{config}"));
        assert_eq!(said.is_empty(), told.is_empty(), "{config}: {said}");
        // As it is written where it is not broken into lines.
        let said = said.replace("\n  │ ", " ");
        assert!(said.contains(told), "{config}: {said}");
        let origin = Origin::start();
        let is_said = told.contains("`private`");
        origin.otherwise(move |request| {
            let page = Reply::ok().body(request.header("cookie").unwrap_or("nobody"));
            if is_said { page.cache("private") } else { page }
        });
        let larder = serve(&origin).config(config).start();
        let page = "/?query=%7Ba%7D";
        larder.get(page).header("Cookie", "user=1").send();
        let other = larder.get(page).send();
        assert_eq!(other.text() == "user=1", is_for_all, "{config}: {other:?}");
    }
}

#[test]
fn a_store_that_the_machine_has_no_memory_for_is_warned_of() {
    let said = warnings(&format!("memory.size = \"100TiB\"\n{ORIGIN}"));
    assert!(
        said.contains("100.0 TiB") && said.contains("1 warning in"),
        "{said}"
    );
    assert!(said.contains("write `size = \""), "{said}");
    assert_eq!(warnings(&format!("memory.size = \"2MiB\"\n{ORIGIN}")), "");
}
