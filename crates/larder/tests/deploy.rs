//! What is shown for running Larder elsewhere is in order: the manifests in `examples/kubernetes/` by Kubernetes's own
//! schema, the units in `examples/systemd/` by systemd, and the configuration that goes with them by `larder check`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, in its helpers too"
)]

use larder::config::{Flags, meant::Config, parse};
use serde_json::{Map, Value};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use testkit::scratch_dir;

const BINARY: &str = env!("CARGO_BIN_EXE_larder");

/// What the disk tier may have after `drain_time`.
const DISK: Duration = Duration::from_secs(10);

fn examples(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(folder)
}

fn read(folder: &str, name: &str) -> String {
    let path = examples(folder).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).expect("YAML")
}

/// The document of this kind among those that run Larder.
fn of_kind(kind: &str) -> Value {
    let all = documents(&read("kubernetes", "larder.yaml"));
    let mut of_kind = all.into_iter().filter(|one| one["kind"] == kind);
    of_kind.next().expect("a document of this kind")
}

/// The shapes of what Kubernetes takes, by name. Where they come from stands in the file.
struct Schema(Map<String, Value>);

impl Schema {
    fn read() -> Self {
        let text = include_str!("data/kubernetes-1.34.json");
        Self(serde_json::from_str(text).expect("a schema"))
    }

    /// What is wrong with a document.
    fn faults(&self, document: &Value) -> Vec<String> {
        let version = document["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = version.split_once('/').unwrap_or(("core", version));
        let group = group.split('.').next().unwrap_or_default();
        let kind = document["kind"].as_str().unwrap_or_default();
        let mut faults = Vec::new();
        match self.0.get(&format!("api.{group}.{version}.{kind}")) {
            Some(shape) => self.check(shape, document, kind, &mut faults),
            None => faults.push(format!("{group}/{version} {kind:?} is not known")),
        }
        faults
    }

    fn check(&self, shape: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        for (word, meaning) in shape.as_object().expect("a shape") {
            match word.as_str() {
                "$ref" => {
                    let name = meaning.as_str().unwrap_or_default();
                    self.check(&self.0[name], value, at, faults);
                }
                "type" if !is(value, meaning.as_str().unwrap_or_default()) => {
                    faults.push(format!("{at}: {meaning} is expected"));
                }
                "enum" if !meaning.as_array().is_some_and(|all| all.contains(value)) => {
                    faults.push(format!("{at}: one of {meaning} is expected"));
                }
                "required" => {
                    let needed = meaning.as_array().into_iter().flatten();
                    let missing =
                        needed.filter(|key| value[key.as_str().unwrap_or_default()].is_null());
                    faults.extend(missing.map(|key| format!("{at}: {key} is missing")));
                }
                "oneOf" => {
                    let fits = |shape| {
                        let mut faults = Vec::new();
                        self.check(shape, value, at, &mut faults);
                        faults.is_empty()
                    };
                    if !meaning.as_array().into_iter().flatten().any(fits) {
                        faults.push(format!("{at}: fits none of {meaning}"));
                    }
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(meaning, item, &format!("{at}[{index}]"), faults);
                    }
                }
                "properties" | "additionalProperties" | "type" | "enum" => {}
                other => panic!("the schema says {other:?}, which this test does not understand"),
            }
        }
        self.check_members(shape, value, at, faults);
    }

    /// Each key by what is said of it, or of all others.
    fn check_members(&self, shape: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        for (key, member) in value.as_object().into_iter().flatten() {
            let at = format!("{at}.{key}");
            let named = shape["properties"].get(key);
            match named.unwrap_or(&shape["additionalProperties"]) {
                Value::Bool(false) => faults.push(format!("{at} is not known")),
                Value::Null | Value::Bool(true) => {}
                shape => self.check(shape, member, &at, faults),
            }
        }
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("a type {other:?} is not known"),
    }
}

#[test]
fn manifests_fit_the_schema() {
    let schema = Schema::read();
    let mut seen = 0;
    for file in fs::read_dir(examples("kubernetes")).expect("examples") {
        let path = file.expect("a file").path();
        let text = fs::read_to_string(&path).expect("text");
        for document in documents(&text) {
            seen += 1;
            let faults = schema.faults(&document);
            assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
        }
    }
    assert!(seen >= 8, "{seen} documents");
}

#[test]
fn the_schema_finds_mistakes() {
    let schema = Schema::read();
    let text = read("kubernetes", "larder.yaml");
    for (right, wrong, fault) in [
        ("apps/v1", "apps/v1beta1", "is not known"),
        ("kind: Deployment", "kind: Deploiment", "is not known"),
        (
            "readinessProbe:",
            "readynessProbe:",
            "readynessProbe is not known",
        ),
        (
            "containerPort: 8080",
            "containerPort: http",
            "\"integer\" is expected",
        ),
        ("replicas: 2", "replicas: \"2\"", "\"integer\" is expected"),
        ("port: admin", "port: [9180]", "fits none"),
        (
            "  replicas: 2\n",
            "  replicas: 2\n  nmae: x\n",
            "nmae is not known",
        ),
        (
            "            - name: http\n              containerPort: 8080\n",
            "            - name: http\n",
            "is missing",
        ),
        ("\"true\"", "true", "\"string\" is expected"),
    ] {
        assert!(text.contains(right), "{right}");
        let broken = text.replace(right, wrong);
        let faults: Vec<_> = documents(&broken)
            .iter()
            .flat_map(|document| schema.faults(document))
            .collect();
        assert!(
            faults.iter().any(|found| found.contains(fault)),
            "{wrong}: {faults:?}"
        );
    }
}

/// The configuration in the `ConfigMap`.
fn configuration() -> String {
    let text = of_kind("ConfigMap")["data"]["larder.toml"].clone();
    text.as_str().expect("a configuration").to_owned()
}

fn meant(text: &str) -> Config {
    parse(text, "larder.toml", &Flags::default()).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn the_configuration_passes_the_check() {
    let folder = scratch_dir();
    // Whatever else listens on this machine.
    let text = configuration()
        .replace("\":8080\"", "\"127.0.0.1:0\"")
        .replace("\":9180\"", "\"127.0.0.1:0\"");
    let file = folder.join("larder.toml");
    fs::write(&file, text).expect("a file");
    let checked = Command::new(BINARY)
        .arg("check")
        .arg(&file)
        .output()
        .expect("larder");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}

/// Strings under `key`, wherever in `value`.
fn all_under<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == key => found.push(text),
                    _ => all_under(member, key, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| all_under(item, key, found)),
        _ => {}
    }
}

#[test]
fn what_the_manifests_name_is_there() {
    let deployment = of_kind("Deployment");
    let pod = &deployment["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let labels = &pod["metadata"]["labels"];
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&of_kind("Service")["spec"]["selector"], labels);
    for kind in ["PodDisruptionBudget", "NetworkPolicy"] {
        let spec = &of_kind(kind)["spec"];
        let selector = spec.get("selector").unwrap_or(&spec["podSelector"]);
        assert_eq!(&selector["matchLabels"], labels, "{kind}");
    }

    let mut ports = Vec::new();
    let [service, policy] = [of_kind("Service"), of_kind("NetworkPolicy")];
    all_under(container, "port", &mut ports);
    all_under(&service, "targetPort", &mut ports);
    all_under(&policy, "port", &mut ports);
    let mut known = Vec::new();
    all_under(&container["ports"], "name", &mut known);
    assert!(
        ports.len() >= 5 && ports.iter().all(|port| known.contains(port)),
        "{ports:?}"
    );

    let (mut mounted, mut volumes) = (Vec::new(), Vec::new());
    all_under(&container["volumeMounts"], "name", &mut mounted);
    for volume in pod["spec"]["volumes"].as_array().expect("volumes") {
        volumes.extend(volume["name"].as_str());
    }
    assert_eq!(mounted, volumes);
}

#[test]
fn the_pod_is_as_its_configuration_says() {
    let config = meant(&configuration());
    let deployment = of_kind("Deployment");
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];

    let numbers: Vec<_> = container["ports"]
        .as_array()
        .expect("ports")
        .iter()
        .collect();
    let listens = format!("0.0.0.0:{}", numbers[0]["containerPort"]);
    assert_eq!(config.listeners[0].address.to_string(), listens);
    let admin = format!("0.0.0.0:{}", numbers[1]["containerPort"]);
    assert!(
        format!("{:?}", config.admin).contains(&admin),
        "{:?}",
        config.admin
    );

    let seconds = |value: &Value| Duration::from_secs(value.as_u64().expect("seconds"));
    let before = seconds(&container["lifecycle"]["preStop"]["sleep"]["seconds"]);
    let in_all = seconds(&pod["terminationGracePeriodSeconds"]);
    assert!(in_all >= before + config.limits.drain_time + DISK + Duration::from_secs(2));

    let size = |text: &Value| -> u64 {
        let text = text.as_str().expect("a size");
        let (number, unit) = text.split_at(text.len() - 2);
        let unit = if unit == "Gi" { 1 << 30 } else { 1 << 20 };
        number.parse::<u64>().expect("a number") * unit
    };
    let resources = &container["resources"];
    assert!(size(&resources["limits"]["memory"]) > config.memory * 3 / 2);
    assert!(size(&resources["requests"]["memory"]) > config.memory);
    let disk = config.disk.expect("a disk tier");
    let volume = size(&pod["volumes"][1]["emptyDir"]["sizeLimit"]);
    assert!(volume > disk.size && size(&resources["limits"]["ephemeral-storage"]) > volume);
    assert_eq!(
        Path::new(
            container["volumeMounts"][1]["mountPath"]
                .as_str()
                .expect("a path")
        ),
        disk.path
    );

    let file = container["command"][3].as_str().expect("a file");
    let folder = container["volumeMounts"][0]["mountPath"]
        .as_str()
        .expect("a path");
    assert_eq!(file.strip_prefix(folder), Some("/larder.toml"));
}

/// What the kubelet asks, a running node answers, and nothing beside it.
#[test]
fn the_probes_are_answered() {
    let text = configuration()
        .replace("\":8080\"", "\"127.0.0.1:0\"")
        .replace("\":9180\"", "\"127.0.0.1:0\"")
        .replace(
            "/var/cache/larder",
            &scratch_dir().join("disk").display().to_string(),
        )
        // Nobody is there, which is no reason to restart a pod or to keep requests from it.
        .replace(
            "valkey:6379",
            &format!("127.0.0.1:{}", testkit::free_port()),
        );
    let larder = testkit::Command::new(BINARY)
        .args(["serve"])
        .config(&text)
        .start();
    let deployment = of_kind("Deployment");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    for probe in ["readinessProbe", "livenessProbe"] {
        let asks = &container[probe]["httpGet"];
        assert_eq!(asks["port"], "admin", "{probe}");
        let path = asks["path"].as_str().expect("a path");
        // By the pod's address, as the kubelet does.
        let host = "10.1.2.3:9180";
        let mut client = testkit::Client::connect(larder.admin());
        let answer = client.get(path).header("Host", host).send();
        assert_eq!(answer.status, 200, "{probe}: {path}: {}", answer.text());
        let answer = client.get("/other").header("Host", host).send();
        assert_eq!(answer.status, 404, "not whatever is asked");
    }
}

/// The first number of a version.
fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}

#[test]
fn the_server_in_the_manifest_is_one_that_tests_run() {
    let mut images = Vec::new();
    let all = documents(&read("kubernetes", "valkey.yaml"));
    for document in &all {
        all_under(document, "image", &mut images);
    }
    let [image] = images[..] else {
        panic!("one image: {images:?}");
    };
    let (name, version) = image.split_once(':').expect("a version");
    assert_eq!(name, "valkey/valkey");
    let tested = testkit::Redis::valkey().ask(&["INFO", "server"]);
    let mut lines = tested.lines();
    let tested = lines.find_map(|line| line.strip_prefix("valkey_version:"));
    let tested = tested.expect("its version").trim();
    assert_eq!(
        major(version),
        major(tested),
        "{image}, and tests run {tested}"
    );
    let told = include_str!("../../../docs/nodes.md");
    let (release, _) = tested.rsplit_once('.').expect("three numbers");
    assert!(told.contains(&format!("Valkey {release}")), "{release}");
}

/// The value of a key of a unit.
fn setting<'a>(unit: &'a str, key: &str) -> &'a str {
    let mut lines = unit.lines();
    let found = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("the unit has no {key}"))
}

#[test]
fn systemd_takes_the_units() {
    let folder = scratch_dir();
    // It looks whether the program is there.
    let service = read("systemd", "larder.service").replace("/usr/local/bin/larder", BINARY);
    let verify = |service: &str| {
        fs::write(folder.join("larder.service"), service).expect("a file");
        fs::write(
            folder.join("larder.socket"),
            read("systemd", "larder.socket"),
        )
        .expect("a file");
        let verified = Command::new("systemd-analyze")
            .args(["verify", "--man=no", "larder.service", "larder.socket"])
            .current_dir(&folder)
            .output()
            .expect("systemd-analyze: is the package systemd installed?");
        // What it does not know it ignores, as systemd would, and says so.
        String::from_utf8_lossy(&verified.stderr).into_owned()
    };
    assert_eq!(verify(&service), "");
    let broken = service.replace("ProtectHome=", "ProtectHouse=");
    assert!(verify(&broken).contains("ProtectHouse"));
}

#[test]
fn the_unit_gives_what_is_needed() {
    let unit = read("systemd", "larder.service");
    let config = meant(&configuration());
    let stop: humantime::Duration = setting(&unit, "TimeoutStopSec")
        .parse()
        .expect("a duration");
    assert!(*stop > config.limits.drain_time + DISK);
    let cache = Path::new("/var/cache").join(setting(&unit, "CacheDirectory"));
    assert_eq!(config.disk.expect("a disk tier").path, cache);
    let start = setting(&unit, "ExecStart");
    assert_eq!(
        start,
        "/usr/local/bin/larder serve --config /etc/larder/larder.toml"
    );
}
