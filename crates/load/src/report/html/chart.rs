//! Line charts as SVG, without a script, so that they appear wherever the page is opened.

use super::{
    axis::{self, Axis},
    escape,
};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// A line.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: String,
    /// One of the colours of the style sheet.
    pub(super) colour: &'static str,
    /// The dash pattern that distinguishes it from others of its colour.
    pub(super) dash: &'static str,
    /// The line is broken where a value is missing.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

/// A chart.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) x_name: &'static str,
    /// The unit after values of the other axis.
    pub(super) unit: &'static str,
    pub(super) series: Vec<Series>,
}

impl Chart {
    /// Draws the chart with its title and legend.
    pub(super) fn draw(&self) -> String {
        let mut svg = String::new();
        self.grid(&mut svg);
        for series in &self.series {
            self.line(&mut svg, series);
        }
        self.bands(&mut svg);
        format!(
            "<figure class=\"card\"><figcaption>{}</figcaption><div class=\"legend\">{}</div>\
             <svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{svg}</svg></figure>\n",
            escape(self.title),
            self.legend(),
            escape(self.title),
        )
    }

    fn at(&self, x: f64) -> f64 {
        LEFT + self.x.place(x) * (WIDTH - LEFT - RIGHT)
    }

    fn height(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(y) * (HEIGHT - TOP - BOTTOM)
    }

    // Writing to a string does not fail.
    fn grid(&self, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in self.y.ticks(4.0) {
            let y = self.height(tick);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                axis::label(tick)
            );
        }
        for tick in self.x.ticks(8.0) {
            let x = self.at(tick);
            let label = match self.x {
                Axis::Nines { .. } => format!("{tick}"),
                _ => axis::label(tick),
            };
            let _ = write!(
                svg,
                "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{}\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                bottom + 4.0,
                bottom + 17.0
            );
        }
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\
             <text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            HEIGHT - 5.0,
            escape(self.x_name)
        );
    }

    fn line(&self, svg: &mut String, series: &Series) {
        let known = series.points.iter().filter_map(|(x, y)| Some((*x, (*y)?)));
        if known.clone().count() == 1 {
            for (x, y) in known {
                let (x, y) = (self.at(x), self.height(y));
                let colour = series.colour;
                let _ = write!(
                    svg,
                    "<circle class=\"alone {colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"
                );
            }
            return;
        }
        let mut path = String::new();
        let mut pen = 'M';
        for (x, y) in &series.points {
            let Some(y) = y else {
                pen = 'M';
                continue;
            };
            let _ = write!(path, "{pen}{:.1} {:.1}", self.at(*x), self.height(*y));
            pen = 'L';
        }
        let (colour, dash) = (series.colour, series.dash);
        let _ = write!(
            svg,
            "<path class=\"series {colour}\" stroke-dasharray=\"{dash}\" d=\"{path}\"/>"
        );
    }

    /// Draws a band over each value of x, which shows all values there when pointed at.
    fn bands(&self, svg: &mut String) {
        let mut all: Vec<f64> = self
            .series
            .iter()
            .flat_map(|one| one.points.iter().map(|(x, _)| *x))
            .collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let places: Vec<f64> = all.iter().map(|x| self.at(*x)).collect();
        for (index, x) in all.iter().enumerate() {
            let here = places.get(index).copied().unwrap_or(LEFT);
            let before = index.checked_sub(1).and_then(|before| places.get(before));
            let from = before.map_or(here - 4.0, |before| f64::midpoint(*before, here));
            let to = places
                .get(index + 1)
                .map_or(here + 4.0, |next| f64::midpoint(here, *next));
            let mut told = format!("{} {}", axis::label(*x), self.x_name);
            if let Axis::Nines { .. } = self.x {
                told = format!("{x} %");
            }
            for series in &self.series {
                let found = series.points.iter().find(|(one, _)| (one - x).abs() < 1e-9);
                if let Some((_, Some(y))) = found {
                    let _ = write!(told, "\n{}: {} {}", series.name, axis::label(*y), self.unit);
                }
            }
            let _ = write!(
                svg,
                "<rect class=\"band\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                (to - from).max(1.0),
                HEIGHT - TOP - BOTTOM,
                escape(&told)
            );
        }
    }

    fn legend(&self) -> String {
        let mut legend = String::new();
        for series in &self.series {
            let (colour, dash) = (series.colour, series.dash);
            let _ = write!(
                legend,
                "<span><svg class=\"{colour}\" viewBox=\"0 0 22 10\"><path class=\"series\" stroke-dasharray=\"{dash}\" d=\"M1 5H21\"/></svg>{}</span>",
                escape(&series.name)
            );
        }
        let scale = if let Axis::Log { .. } = self.y {
            ", logarithmic"
        } else {
            ""
        };
        let _ = write!(legend, "<span>in {}{scale}</span>", self.unit);
        legend
    }
}
