//! The page: metrics in the format of Prometheus.

use crate::telemetry::metrics::names::{Kind, Metric};
use prometheus_client::{
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet},
    metrics::MetricType,
};
use std::fmt;

/// The page that is being written.
pub(super) struct Page<'a>(pub DescriptorEncoder<'a>);

impl Page<'_> {
    /// Begins a metric with its name, kind and meaning.
    pub(super) fn metric(
        &mut self,
        metric: &'static Metric,
    ) -> Result<MetricEncoder<'_>, fmt::Error> {
        let kind = match metric.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        };
        self.0
            .encode_descriptor(metric.name, metric.help, None, kind)
    }

    /// Writes a metric without labels.
    pub(super) fn one(&mut self, metric: &'static Metric, value: u64) -> fmt::Result {
        sample(&mut self.metric(metric)?, metric, &[], value)
    }

    /// Writes metrics without labels.
    pub(super) fn each<const N: usize>(
        &mut self,
        values: [(&'static Metric, u64); N],
    ) -> fmt::Result {
        values
            .into_iter()
            .try_for_each(|(metric, value)| self.one(metric, value))
    }

    /// Writes a metric with one label.
    pub(super) fn by_label<'v>(
        &mut self,
        metric: &'static Metric,
        values: impl Iterator<Item = (&'v str, u64)>,
    ) -> fmt::Result {
        let mut encoder = self.metric(metric)?;
        for (label, value) in values {
            sample(&mut encoder, metric, &[label], value)?;
        }
        Ok(())
    }
}

/// Writes one line: the values of the metric's labels, and its value.
pub(super) fn sample(
    encoder: &mut MetricEncoder<'_>,
    metric: &Metric,
    labels: &[&str],
    value: u64,
) -> fmt::Result {
    if metric.labels.is_empty() {
        return number(encoder, metric.kind, value);
    }
    let pairs = pairs(metric, labels);
    number(&mut encoder.encode_family(&pairs)?, metric.kind, value)
}

fn number(encoder: &mut MetricEncoder<'_>, kind: Kind, value: u64) -> fmt::Result {
    match kind {
        Kind::Counter => encoder.encode_counter::<NoLabelSet, u64, u64>(&value, None),
        Kind::Gauge | Kind::Histogram => encoder.encode_gauge(&value),
    }
}

/// Returns the names of the metric's labels with these values.
pub(super) fn pairs<'v>(metric: &Metric, values: &[&'v str]) -> Vec<(&'static str, &'v str)> {
    metric
        .labels
        .iter()
        .copied()
        .zip(values.iter().copied())
        .collect()
}
