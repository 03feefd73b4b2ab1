//! The documents hold what they say: each configuration in them is accepted, each transcript is played, each link leads
//! somewhere.
//!
//! A fence's info string says what is done with it (renderers heed its first word alone):
//!
//! - `toml larder`: a configuration, checked as `larder check` does, except that nothing is bound;
//! - `console tested`: a transcript. Lines after `$ ` are commands, the lines below one are parts of what it prints, in
//!   order, with `…` for anything. `larder serve` stays for the rest of its block; the first one is on the ports 8080 and
//!   9180, the next one on 8081 and 9181. `larder.toml` is the page's configuration before the block. The application on
//!   port 5001 is [`application`]; on port 6379 there is a Redis, where the configuration names it. What is printed must
//!   not depend on how busy this machine is: Redis gets more time than the default.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::string_slice,
    reason = "a panic is how a test fails, in its helpers too"
)]

use larder::config::{Faults, Flags, meant::Config, parse};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
};
use testkit::{Address, Command, Larder, Origin, Redis, Reply, scratch_dir};

const BINARY: &str = env!("CARGO_BIN_EXE_larder");

/// A Markdown file, by its path from the root.
struct Page {
    name: String,
    text: String,
}

/// A fenced block.
struct Block<'a> {
    info: &'a str,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every document, those of other folders that a reader is sent to among them.
fn pages() -> Vec<Page> {
    let mut pages = Vec::new();
    let applications =
        ["flask", "django", "fiber", "php", "java"].map(|name| format!("examples/{name}"));
    let folders = ["", "docs", "bench", "lab", "fuzz", "examples"];
    for folder in folders
        .into_iter()
        .chain(applications.iter().map(String::as_str))
    {
        let Ok(files) = fs::read_dir(root().join(folder)) else {
            continue;
        };
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        for name in names.filter(|name| {
            Path::new(name)
                .extension()
                .is_some_and(|ending| ending == "md")
        }) {
            let name = Path::new(folder).join(name).display().to_string();
            let text = fs::read_to_string(root().join(&name)).expect("a page");
            pages.push(Page { name, text });
        }
    }
    assert!(pages.len() > 5, "the documents are where they were");
    pages
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines
                .by_ref()
                .take_while(|line| !line.starts_with("```"))
                .collect();
            blocks.push(Block {
                info,
                text: inside.join("\n") + "\n",
            });
        }
    }
    blocks
}

/// Text outside fences.
fn prose(text: &str) -> String {
    let pieces = text.split("\n```").step_by(2);
    pieces.collect::<Vec<_>>().join("\n")
}

/// A folder with a certificate and its key, which stands for `/etc/larder/` in configurations.
fn certificates() -> PathBuf {
    let folder = scratch_dir();
    let names = vec!["www.example.com".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    fs::write(folder.join("site.pem"), made.cert.pem()).expect("a file");
    fs::write(folder.join("site.key"), made.signing_key.serialize_pem()).expect("a file");
    folder
}

/// Reads a configuration. `/srv/site` is a folder that is there.
fn read(text: &str) -> Result<Config, Faults> {
    let folder = env::temp_dir().display().to_string();
    let text = text.replace("\"/srv/site\"", &format!("{folder:?}"));
    parse(&text, "larder.toml", &Flags::default())
}

/// Checks a configuration, of which nothing is to be warned.
fn check(text: &str) -> Result<(), String> {
    match read(text) {
        Ok(config) if config.warnings.list().is_empty() => Ok(()),
        Ok(config) => Err(config.warnings.to_string()),
        Err(faults) => Err(faults.to_string()),
    }
}

#[test]
fn each_configuration_is_accepted() {
    let folder = certificates().display().to_string() + "/";
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for block in blocks(&page.text)
            .iter()
            .filter(|block| block.info == "toml larder")
        {
            seen += 1;
            if let Err(faults) = check(&block.text.replace("/etc/larder/", &folder)) {
                wrong.push(format!("{}:\n{}\n{faults}", page.name, block.text));
            }
        }
    }
    assert!(seen > 5, "the documents show configurations");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where a setting may stand; `{}` is the setting.
const PLACES: [&str; 18] = [
    "{}\n[[origin]]\nservers = \"http://app.example\"",
    "[[origin]]\n{}",
    "[[origin]]\nservers = \"http://app.example\"\n{}",
    "[[origin]]\nfastcgi = \"unix:/run/php-fpm.sock\"\nroot = \"/srv/site\"\n{}",
    "[defaults]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[defaults]\nttl = \"1s\"\norigin_host = \"app.example\"\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[[route]]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[report]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[limits]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[disk]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[shared]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[defaults.graphql]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[purge]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[memory]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[log]\n{}\n[[origin]]\nservers = \"http://app.example\"",
    "[[origin]]\nmemcached = \"127.0.0.1:11211\"\nkey = \"$uri\"\n{}",
    "[[origin]]\nname = \"static\"\nstatic = \"/srv\"\n[[origin]]\nname = \"app\"\nservers = \"http://app.example\"\n[defaults]\n{}",
    // Last, since it reads the system's authorities.
    "[[origin]]\nservers = \"https://app.example\"\n{}",
];

/// Code in running text that sets a key (`ttl = "1s"`), as the tables for those who come from elsewhere have it.
#[test]
fn each_setting_in_running_text_is_one() {
    let folder = certificates().display().to_string() + "/";
    let is_key = |key: &str| {
        key.chars()
            .all(|letter| letter.is_ascii_lowercase() || matches!(letter, '_' | '.'))
    };
    let mut wrong = Vec::new();
    for page in pages() {
        let prose = prose(&page.text);
        let codes = prose.split('`').skip(1).step_by(2);
        let settings =
            codes.filter(|code| code.split_once(" = ").is_some_and(|(key, _)| is_key(key)));
        for setting in settings {
            let written = setting.replace("/etc/larder/", &folder);
            if PLACES
                .iter()
                .all(|place| read(&place.replace("{}", &written)).is_err())
            {
                wrong.push(format!("{}: {setting}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "no setting:\n{}", wrong.join("\n"));
}

/// The application that the documents have on port 5001.
fn application() -> Origin {
    let origin = Origin::start();
    let page = |cache: &'static str| {
        move |request: &testkit::Request| {
            let reply = Reply::ok().header("Content-Type", "text/html");
            let reply = reply.body(format!("page {}\n", request.nth));
            if cache.is_empty() {
                reply
            } else {
                reply.cache(cache)
            }
        }
    };
    origin.on("/", page("max-age=60"));
    origin.on("/articles", page("max-age=60, stale-if-error=3600"));
    origin.on("/text", |_| {
        let reply = Reply::ok().cache("max-age=60");
        let reply = reply.header("Content-Type", "text/html");
        reply.body("<p>the same words in other places</p>\n".repeat(200))
    });
    origin.on("/account", page("private"));
    origin.on("/basket", |request| {
        Reply::ok()
            .header("Set-Cookie", "basket=1")
            .cache("max-age=60")
            .body(format!("page {}\n", request.nth))
    });
    origin.on("/shop", |_| {
        let includes = "<esi:include src=\"/cart\"/><esi:include src=\"/menu\"/>";
        Reply::ok()
            .cache("max-age=86400")
            .header("Surrogate-Control", "content=\"ESI/1.0\"")
            .body(format!("<h1>Shop</h1>\n{includes}"))
    });
    origin.on("/cart", |request| {
        let whose = request.header("cookie").unwrap_or("nobody");
        let text = format!("cart of {whose}, asked for {} times\n", request.nth);
        Reply::ok().cache("no-store").body(text)
    });
    origin.on("/menu", |request| {
        let text = format!("menu, asked for {} times\n", request.nth);
        Reply::ok().cache("max-age=60").body(text)
    });
    origin.otherwise(page(""));
    origin
}

/// A transcript while it is played.
struct Stage<'a> {
    folder: PathBuf,
    origin: Origin,
    redis: Option<Redis>,
    larders: Vec<Larder>,
    page: &'a str,
}

impl Stage<'_> {
    /// Addresses as written → addresses in use.
    fn in_use(&self, text: &str) -> String {
        let mut text = text.replace("127.0.0.1:5001", &self.origin.address().to_string());
        if let Some(redis) = &self.redis {
            text = text.replace("127.0.0.1:6379", &redis.address());
        }
        for (number, larder) in self.larders.iter().enumerate() {
            for (port, used) in [(8080, larder.address()), (9180, larder.admin())] {
                if let Address::Tcp(used) = used {
                    let written = format!("127.0.0.1:{}", port + number);
                    text = text.replace(&written, &used.to_string());
                }
            }
        }
        text
    }

    /// Runs one command and returns what it prints.
    fn run(&mut self, command: &str) -> String {
        let command = self.in_use(command);
        if let Some(args) = command.strip_prefix("larder serve ") {
            let args = args.split_whitespace().map(|arg| {
                if Path::new(arg)
                    .extension()
                    .is_some_and(|ending| ending == "toml")
                {
                    self.folder.join(arg).display().to_string()
                } else {
                    arg.to_owned()
                }
            });
            let larder = Command::serve(BINARY).args(args).start();
            let output = larder.output();
            self.larders.push(larder);
            return output;
        }
        let binaries = Path::new(BINARY).parent().expect("a folder");
        let path = format!(
            "{}:{}",
            binaries.display(),
            env::var("PATH").unwrap_or_default()
        );
        let output = process::Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .env("PATH", path)
            .current_dir(&self.folder)
            .output()
            .expect("a shell");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn play(&mut self, block: &str) {
        for step in block.split("$ ").filter(|step| !step.trim().is_empty()) {
            let step = step.replace("\\\n", " ");
            let (command, expected) = step.split_once('\n').unwrap_or((&step, ""));
            let printed = self.run(command);
            let mut lines = printed.lines();
            for wanted in expected.lines().filter(|line| !line.trim().is_empty()) {
                let wanted = self.in_use(wanted);
                assert!(
                    lines.any(|line| fits(line, &wanted)),
                    "{}: `{command}` does not print, in this order, {wanted:?}:\n{printed}",
                    self.page
                );
            }
        }
    }
}

/// Whether a line is as wanted, `…` being anything.
fn fits(line: &str, wanted: &str) -> bool {
    let mut rest = line.trim();
    let pieces: Vec<&str> = wanted.trim().split('…').collect();
    let last = pieces.len() - 1;
    pieces.iter().enumerate().all(|(index, piece)| {
        let at = match index {
            0 => rest.starts_with(piece).then_some(0),
            _ if index == last && piece.is_empty() => Some(rest.len()),
            _ => rest.find(piece),
        };
        let found = at.is_some();
        rest = at.map_or(rest, |at| &rest[at + piece.len()..]);
        found
    }) && (rest.is_empty() || wanted.ends_with('…'))
}

#[test]
fn each_transcript_comes_out_as_written() {
    let mut played = 0;
    for page in pages() {
        let mut configuration = String::new();
        for block in blocks(&page.text) {
            match block.info {
                "toml larder" => configuration = block.text,
                "console tested" => {
                    played += 1;
                    let mut stage = Stage {
                        folder: scratch_dir(),
                        origin: application(),
                        redis: configuration.contains("127.0.0.1:6379").then(Redis::start),
                        larders: Vec::new(),
                        page: &page.name,
                    };
                    // Whatever else listens on this machine, `larder check` finds a free port.
                    let mut text = stage
                        .in_use(&configuration)
                        .replace("127.0.0.1:8080", "127.0.0.1:0")
                        .replace("127.0.0.1:9180", "127.0.0.1:0")
                        .replace("[shared]\n", "[shared]\ntimeout = \"20s\"\n");
                    if !text.contains("\nadmin = ") {
                        text.insert_str(0, "admin = \"127.0.0.1:0\"\n");
                    }
                    if !text.contains("listen") {
                        text.insert_str(0, "listen = \"127.0.0.1:0\"\n");
                    }
                    fs::write(stage.folder.join("larder.toml"), text).expect("a configuration");
                    stage.play(&block.text);
                }
                _ => {}
            }
        }
    }
    assert!(played > 2, "the documents show transcripts");
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_matches(['#', ' ']).to_lowercase();
    kept.chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[test]
fn each_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let folder = root().join(&page.name);
        let folder = folder.parent().expect("a folder");
        let prose = prose(&page.text);
        let targets = prose
            .split("](")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(')')?.0));
        for target in targets.filter(|target| !target.contains(':')) {
            let (path, wanted) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() {
                root().join(&page.name)
            } else {
                folder.join(path)
            };
            let text = fs::read_to_string(&file).unwrap_or_default();
            let is_there = file.exists()
                && (wanted.is_empty()
                    || text
                        .lines()
                        .any(|line| line.starts_with('#') && anchor(line) == wanted));
            if !is_there {
                wrong.push(format!("{}: {target}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "lead nowhere:\n{}", wrong.join("\n"));
}

/// Paths from the root that running text names as code.
#[test]
fn each_file_named_is_there() {
    let mut wrong = Vec::new();
    for page in pages() {
        let folders = ["crates/", "docs/", "bench/", "examples/", "fuzz/", ".ci/"];
        let prose = prose(&page.text);
        for code in prose.split('`').skip(1).step_by(2) {
            let is_path = folders.iter().any(|folder| code.starts_with(folder))
                && !code.contains([' ', '<', '*', '{', '…']);
            if is_path && !root().join(code).exists() {
                wrong.push(format!("{}: {code}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "not there:\n{}", wrong.join("\n"));
}

/// Where reasons are spelt for `detail` in `Cache-Status` and for the access log, from the folder of the crates.
const SPELLINGS: [&str; 9] = [
    "origin/src/error/kind.rs",
    "proxy/src/body/broken.rs",
    "proxy/src/content_key.rs",
    "proxy/src/error.rs",
    "proxy/src/listen/fault.rs",
    "proxy/src/outcome/detail.rs",
    "proxy/src/purge_clients/answer.rs",
    "rules/src/reuse.rs",
    "rules/src/storable/refusal.rs",
];

/// The words in quotes of those functions of a source that spell reasons.
fn spelt(source: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut end = None;
    for line in source.lines() {
        let indent = line.len() - line.trim_start().len();
        if line.contains("fn token(") {
            end = Some(format!("{}}}", " ".repeat(indent)));
        } else if end.as_deref() == Some(line) {
            end = None;
        } else if end.is_some() {
            words.extend(quoted(line));
        }
    }
    words
}

fn quoted(line: &str) -> impl Iterator<Item = String> {
    line.split('"').skip(1).step_by(2).map(str::to_owned)
}

#[test]
fn each_detail_is_in_the_list() {
    let page = fs::read_to_string(root().join("docs/answers.md")).expect("the page");
    let crates = root().join("crates");
    let mut words = Vec::new();
    for file in SPELLINGS {
        let source = fs::read_to_string(crates.join(file)).expect("a source");
        let own = spelt(&source);
        assert!(!own.is_empty(), "{file} spells none");
        words.extend(own);
    }
    words.retain(|word| !page.contains(&format!("`{word}`")));
    assert_eq!(words, [""; 0], "docs/answers.md lacks them");
}
