use super::{
    Sources, Sums,
    names::{ALL, Kind},
    reference, render, written,
};
use origin::{BOUNDS_MS, Latency, Report};
use proxy::{
    listen,
    outcome::{Counters, HIT_KINDS},
};
use std::{
    collections::{BTreeMap, HashSet},
    env, fs,
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, UNIX_EPOCH},
};

/// Samples by name and labels.
type Samples = BTreeMap<String, f64>;

/// Reads `OpenMetrics` text as strictly as its specification requires:
/// <https://prometheus.io/docs/specs/om/open_metrics_spec/>.
fn parse(text: &str) -> Samples {
    let mut samples = Samples::new();
    let mut families = HashSet::new();
    let mut family = (String::new(), String::new());
    let body = text.strip_suffix("# EOF\n").expect("the end is marked");
    for line in body.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(
                help.split_once(' ')
                    .is_some_and(|(_, help)| !help.is_empty()),
                "{line}"
            );
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect(line);
            assert!(families.insert(name.to_owned()), "{name} is told twice");
            family = (name.to_owned(), kind.to_owned());
        } else {
            let (id, value) = line.rsplit_once(' ').expect(line);
            let (name, labels) = id.split_once('{').unwrap_or((id, "}"));
            let suffix = name
                .strip_prefix(&family.0)
                .expect("a sample follows its family");
            let suffixes: &[&str] = match family.1.as_str() {
                "counter" => &["_total"],
                "gauge" => &[""],
                "histogram" => &["_bucket", "_sum", "_count"],
                other => panic!("{other}"),
            };
            assert!(suffixes.contains(&suffix), "{line}");
            parse_labels(labels.strip_suffix('}').expect(line));
            let earlier = samples.insert(id.to_owned(), value.parse().expect(line));
            assert!(earlier.is_none(), "{id} is there twice");
        }
    }
    samples
}

/// Reads `name="value"` pairs with commas between them. In values, `\`, `"` and line feeds are escaped.
fn parse_labels(mut text: &str) {
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"").expect(text);
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
        let mut escaped = false;
        let end = rest.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let rest = rest.get(end.expect(rest) + 1..).expect(rest);
        text = rest.strip_prefix(',').unwrap_or(rest);
    }
}

fn workers() -> Vec<Arc<Counters>> {
    let workers = [Arc::<Counters>::default(), Arc::default()];
    for (number, counters) in workers.iter().enumerate() {
        counters.hits[0].store(10 + number as u64, Relaxed);
        counters.forwarded[2].store(3, Relaxed);
        counters.statuses[1].store(7, Relaxed);
        counters.log_lost.store(1, Relaxed);
    }
    workers.to_vec()
}

fn origin() -> Arc<origin::Origin> {
    let servers = ["http://127.0.0.1:1", "http://127.0.0.1:2"];
    let text = format!("[[origin]]\nname = \"the \\\"shop\\\"\"\nservers = {servers:?}\n");
    let config = crate::config::parse(&text, "test", &crate::config::Flags::default());
    config.unwrap().origins.remove(0)
}

fn page_store() -> Arc<origin::Origin> {
    let text = "[[origin]]\nname = \"pages\"\nmemcached = \"127.0.0.1:1\"\nkey = \"$uri\"\n";
    let config = crate::config::parse(text, "test", &crate::config::Flags::default());
    config.unwrap().origins.remove(0)
}

fn rendered() -> String {
    let limits = listen::Limits::default();
    render(&Sources {
        store: store::Statistics {
            keys: 5,
            stored: 500,
            in_flight: 50,
            limit: 5000,
            evictions: 2,
        },
        codings: proxy::compress::Figures::default(),
        purges: store::purge::Statistics::default(),
        purge_log_is_failing: false,
        disk: Some(store::disk::Statistics::default()),
        shared: Some(store::shared::Statistics {
            errors: vec![(store::shared::remote::Kind::Timeout, 3)],
            ..store::shared::Statistics::default()
        }),
        counters: &workers(),
        connections: &[listen::ConnectionLimiter::new(limits)],
        origins: &[origin(), page_store()],
        started: UNIX_EPOCH + Duration::from_millis(1_763_692_560_500),
    })
}

#[test]
fn workers_are_added_up() {
    let samples = parse(&rendered());
    for (sample, value) in [
        ("larder_hits_total{kind=\"fresh\"}", 21.0),
        ("larder_hits_total{kind=\"stale\"}", 0.0),
        ("larder_forwarded_total{reason=\"uri-miss\"}", 6.0),
        ("larder_responses_total{class=\"2xx\"}", 14.0),
        ("larder_log_lost_total", 2.0),
        ("larder_cache_keys", 5.0),
        ("larder_stored_bytes", 500.0),
        ("larder_in_flight_bytes", 50.0),
        ("larder_budget_bytes", 5000.0),
        ("larder_evictions_total", 2.0),
        ("larder_connections_active", 0.0),
        ("larder_origin_active{origin=\"the \\\"shop\\\"\"}", 0.0),
        ("larder_start_time_seconds", 1_763_692_560.5),
    ] {
        assert_eq!(samples.get(sample), Some(&value), "{sample}");
    }
    let servers = samples
        .keys()
        .filter(|id| id.starts_with("larder_server_healthy{"));
    assert_eq!(servers.count(), 2);
}

#[test]
fn the_histogram_is_cumulative_and_in_seconds() {
    let mut buckets = [0; BOUNDS_MS.len() + 1];
    (buckets[2], buckets[9], buckets[12]) = (2, 2, 2);
    let sum = Duration::from_millis(121_406);
    let report = |name: &str, latency| Report {
        name: name.to_owned(),
        latency,
        ..Report::default()
    };
    let samples = parse(&written(Sums {
        origins: vec![
            report("app", Latency { buckets, sum }),
            report("idle", Latency::default()),
        ],
        ..Sums::default()
    }));
    for (bound, count) in [
        ("0.002", 0.0),
        ("0.005", 2.0),
        ("0.5", 2.0),
        ("1.0", 4.0),
        ("10.0", 4.0),
        ("+Inf", 6.0),
    ] {
        let bucket =
            format!("larder_origin_latency_seconds_bucket{{le=\"{bound}\",origin=\"app\"}}");
        assert_eq!(samples.get(&bucket), Some(&count), "{bound}");
    }
    let count = samples.get("larder_origin_latency_seconds_count{origin=\"app\"}");
    assert_eq!(count, Some(&6.0));
    assert!((samples["larder_origin_latency_seconds_sum{origin=\"app\"}"] - 121.406).abs() < 1e-9);
    let buckets = samples.keys().filter(|id| id.contains("_bucket"));
    assert_eq!(buckets.count(), 2 * (BOUNDS_MS.len() + 1));
}

#[test]
fn every_metric_of_the_table_is_written_with_its_labels() {
    let text = rendered();
    for metric in ALL {
        let suffix = match metric.kind {
            Kind::Counter => "_total",
            Kind::Gauge => "",
            Kind::Histogram => "_count",
        };
        let name = format!("{}{suffix}", metric.name);
        let line = text.lines().find(|line| {
            let after = line.strip_prefix(name.as_str());
            after.is_some_and(|after| after.starts_with([' ', '{']))
        });
        let line = line.unwrap_or_else(|| panic!("{name} is not written"));
        for label in metric.labels {
            assert!(line.contains(&format!("{label}=\"")), "{line}");
        }
        assert!(
            !metric.help.ends_with('.') && !metric.help.contains('|'),
            "{}",
            metric.help
        );
    }
    let families = text.lines().filter(|line| line.starts_with("# TYPE "));
    assert_eq!(families.count(), ALL.len(), "all are in the table");
    assert!(HIT_KINDS.iter().all(|kind| text.contains(kind)));
}

/// `UPDATE_DOCS=1 cargo test -p larder metrics` writes the page.
#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, reference()).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == reference(),
        "run: UPDATE_DOCS=1 cargo test -p larder metrics"
    );
}
