//! The charts of a result.

use super::{
    axis::Axis,
    chart::{Chart, Series},
};
use crate::figures::{Figures, Point, Target, float};
use crate::shape::Shape;

const COLOURS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Dash patterns for the percentiles of one target, if colours distinguish targets.
const DASHES: [&str; 3] = ["", "5 4", "1 4"];

/// The most points of latency against users.
const STEPS: f64 = 48.0;

/// Returns the colour of a target.
pub(super) fn colour(index: usize) -> &'static str {
    COLOURS.get(index % COLOURS.len()).copied().unwrap_or("a")
}

/// A figure of a point with its name.
type Figure = (&'static str, fn(&Point) -> Option<f64>);

/// Draws all charts.
pub(super) fn all(figures: &Figures) -> String {
    let charts = [
        Some(latency(figures)),
        Some(throughput(figures)),
        Some(percentiles(figures)),
        against_users(figures),
        cpu(figures),
    ];
    charts
        .into_iter()
        .flatten()
        .map(|chart| chart.draw())
        .collect()
}

/// Makes one series for each target and figure. Colours distinguish the figures of a single target, or several targets.
fn series(figures: &Figures, wanted: &[Figure]) -> Vec<Series> {
    let several = figures.targets.len() > 1;
    let mut all = Vec::new();
    for (index, target) in figures.targets.iter().enumerate() {
        for (number, (name, figure)) in wanted.iter().enumerate() {
            let points = target.points.iter();
            all.push(Series {
                name: named(several, target, name),
                colour: colour(if several { index } else { number }),
                dash: if several {
                    DASHES.get(number).copied().unwrap_or("")
                } else {
                    ""
                },
                points: points
                    .map(|point| (point.at + point.seconds, figure(point)))
                    .collect(),
            });
        }
    }
    all
}

fn named(several: bool, target: &Target, name: &str) -> String {
    if several {
        format!("{} {name}", target.name).trim().to_owned()
    } else {
        name.to_owned()
    }
}

fn values(series: &[Series]) -> impl Iterator<Item = f64> + Clone {
    series
        .iter()
        .flat_map(|one| one.points.iter().filter_map(|(_, y)| *y))
}

fn time(figures: &Figures) -> Axis {
    let ends = figures
        .targets
        .iter()
        .filter_map(|target| target.points.last());
    Axis::until(
        ends.map(|point| point.at + point.seconds)
            .fold(0.0, f64::max),
    )
}

fn latency(figures: &Figures) -> Chart {
    let all: [Figure; 3] = [
        ("p50", |point| point.p50_ms),
        ("p90", |point| point.p90_ms),
        ("p99", |point| point.p99_ms),
    ];
    let two: [Figure; 2] = [("p50", |point| point.p50_ms), ("p99", |point| point.p99_ms)];
    let series = if figures.targets.len() > 1 {
        series(figures, &two)
    } else {
        series(figures, &all)
    };
    Chart {
        title: "Latency over time",
        x: time(figures),
        y: Axis::for_latencies(values(&series)),
        x_name: "seconds",
        unit: "ms",
        series,
    }
}

fn throughput(figures: &Figures) -> Chart {
    let mut series = series(figures, &[("good answers", |point| Some(point.rate))]);
    if figures.targets.iter().any(|target| target.errors > 0) {
        let several = figures.targets.len() > 1;
        for (index, target) in figures.targets.iter().enumerate() {
            let each = |point: &Point| float(point.errors) / point.seconds.max(f64::MIN_POSITIVE);
            series.push(Series {
                name: named(several, target, "errors"),
                // Red is no target's colour. Of several targets, each keeps its own colour.
                colour: if several { colour(index) } else { "bad" },
                dash: if several { "1 4" } else { "" },
                points: target
                    .points
                    .iter()
                    .map(|point| (point.at + point.seconds, Some(each(point))))
                    .collect(),
            });
        }
    }
    Chart {
        title: "Throughput over time",
        x: time(figures),
        y: Axis::from_zero(values(&series).fold(0.0, f64::max)),
        x_name: "seconds",
        unit: "requests/s",
        series,
    }
}

fn percentiles(figures: &Figures) -> Chart {
    let several = figures.targets.len() > 1;
    let of = |(index, target): (usize, &Target)| Series {
        name: named(several, target, if several { "" } else { "latency" }),
        colour: colour(index),
        dash: "",
        points: target
            .curve
            .iter()
            .map(|(percent, ms)| (*percent, Some(*ms)))
            .collect(),
    };
    let series: Vec<_> = figures.targets.iter().enumerate().map(of).collect();
    let most = series
        .iter()
        .filter_map(|one| one.points.last())
        .map(|(percent, _)| *percent);
    Chart {
        title: "Latency by percentile",
        x: Axis::Nines {
            most: most.fold(90.0, f64::max),
        },
        y: Axis::for_latencies(values(&series)),
        x_name: "percent of the requests",
        unit: "ms",
        series,
    }
}

/// Makes the chart of latency against users. `None`: their number did not change.
fn against_users(figures: &Figures) -> Option<Chart> {
    let users = || {
        figures
            .targets
            .iter()
            .flat_map(|target| target.points.iter().map(|point| point.users))
    };
    let (fewest, most) = (users().min()?, users().max()?);
    if most < 4 || fewest * 5 > most * 4 {
        return None;
    }
    let several = figures.targets.len() > 1;
    let wanted: [Figure; 2] = [("p50", |point| point.p50_ms), ("p99", |point| point.p99_ms)];
    let mut series = Vec::new();
    for (index, target) in figures.targets.iter().enumerate() {
        for (number, (name, figure)) in wanted.iter().enumerate() {
            series.push(Series {
                name: named(several, target, name),
                colour: colour(if several { index } else { number }),
                dash: if several {
                    DASHES.get(number).copied().unwrap_or("")
                } else {
                    ""
                },
                points: by_users(&target.points, most, *figure),
            });
        }
    }
    let x_name = match figures.shape {
        Shape::Open { .. } => "requests under way",
        _ => "users",
    };
    Some(Chart {
        title: "Latency against users",
        x: Axis::until(float(most as u64)),
        y: Axis::for_latencies(values(&series)),
        x_name,
        unit: "ms",
        series,
    })
}

/// Returns the mean of the points that had about the same number of users.
fn by_users(
    points: &[Point],
    most: usize,
    figure: fn(&Point) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    let width = (float(most as u64) / STEPS).max(1.0);
    let mut steps: Vec<(f64, f64, f64)> = Vec::new();
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by_key(|point| point.users);
    for point in sorted {
        let Some(value) = figure(point) else { continue };
        let users = float(point.users as u64);
        match steps.last_mut() {
            Some((first, sum, count)) if users - *first < width => {
                *sum += value;
                *count += 1.0;
            }
            _ => steps.push((users, value, 1.0)),
        }
    }
    steps
        .into_iter()
        .map(|(users, sum, count)| (users, Some(sum / count)))
        .collect()
}

/// Makes the chart of CPU over time: that of the watched processes, if there are any, and the tool's own.
fn cpu(figures: &Figures) -> Option<Chart> {
    let mut all = Vec::new();
    if figures
        .targets
        .iter()
        .any(|target| target.process.is_some())
    {
        for mut one in series(figures, &[("server", |point| point.process_cores)]) {
            one.dash = "";
            all.push(one);
        }
    }
    for mut one in series(figures, &[("this tool", |point| Some(point.tool_cores))]) {
        if figures.targets.len() == 1 {
            one.colour = "grey";
        }
        one.dash = "2 4";
        all.push(one);
    }
    (!all.is_empty()).then(|| Chart {
        title: "CPU over time",
        x: time(figures),
        y: Axis::from_zero(values(&all).fold(0.1, f64::max)),
        x_name: "seconds",
        unit: "cores",
        series: all,
    })
}
