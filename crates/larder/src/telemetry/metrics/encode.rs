//! Writes the sums under the names of the metrics.

mod page;

use super::{
    names::{self, Metric},
    sums::Sums,
};
use crate::telemetry::panics;
use origin::{BOUNDS_MS, Latency, Report, ServerReport};
use page::{Page, pairs, sample};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet},
};
use proxy::{
    compress::LEVELS,
    outcome::{FORWARDS, HIT_KINDS},
};
use rules::coding::Coding;
use std::{fmt, time::Duration};
use store::purge::KINDS;

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Takes one figure from a report.
type Figure<T> = fn(&T) -> u64;

impl Collector for Sums {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        self.requests(&mut page)?;
        self.store(&mut page)?;
        self.codings(&mut page)?;
        self.purges(&mut page)?;
        self.disk(&mut page)?;
        self.shared(&mut page)?;
        self.connections(&mut page)?;
        self.origins(&mut page)?;
        page.one(&names::LOG_LOST, self.log_lost)?;
        page.by_label(&names::BUILD, [(env!("CARGO_PKG_VERSION"), 1)].into_iter())?;
        page.metric(&names::STARTED)?.encode_gauge(&self.started)
    }
}

impl Sums {
    fn requests(&self, page: &mut Page<'_>) -> fmt::Result {
        page.by_label(&names::HITS, HIT_KINDS.into_iter().zip(self.hits))?;
        let reasons = FORWARDS.iter().map(|forward| forward.token());
        page.by_label(&names::FORWARDED, reasons.zip(self.forwarded))?;
        page.one(&names::OWN, self.own)?;
        page.one(&names::CLIENTS_LEFT, self.clients_left)?;
        page.by_label(&names::RESPONSES, CLASSES.into_iter().zip(self.statuses))?;
        page.each([
            (&names::STORED, self.stored),
            (&names::COLLAPSED, self.collapsed),
            (&names::VALIDATED, self.validated),
            (&names::REFRESHES, self.refreshes),
            (&names::PAGES_READ, self.pages_read),
            (&names::FRAGMENTS, self.fragments),
            (&names::FRAGMENTS_FAILED, self.fragments_failed),
            (&names::FILLS, self.fills),
            (&names::FILLS_FAILED, self.fills_failed),
            (&names::INVALIDATIONS, self.invalidations),
            (&names::PURGES, self.purges),
            (&names::PURGES_DENIED, self.purges_denied),
            (&names::ORIGIN_ERRORS, self.origin_errors),
        ])
    }

    fn origin_latency(&self, page: &mut Page<'_>) -> fmt::Result {
        let mut encoder = page.metric(&names::ORIGIN_LATENCY)?;
        for origin in &self.origins {
            // The encoder itself adds up the buckets, and writes infinity as `+Inf`.
            let bounds = BOUNDS_MS
                .iter()
                .map(|bound| Duration::from_millis(*bound).as_secs_f64());
            let bounds = bounds.chain([f64::INFINITY]);
            let Latency { buckets, sum } = origin.latency;
            let count = buckets.iter().sum();
            let buckets: Vec<(f64, u64)> = bounds.zip(buckets).collect();
            encoder
                .encode_family(&pairs(&names::ORIGIN_LATENCY, &[&origin.name]))?
                .encode_histogram::<NoLabelSet>(sum.as_secs_f64(), count, &buckets, None)?;
        }
        Ok(())
    }

    fn store(&self, page: &mut Page<'_>) -> fmt::Result {
        page.one(&names::EVICTIONS, self.store.evictions)?;
        page.one(&names::CACHE_KEYS, self.store.keys)?;
        page.one(&names::STORED_BYTES, self.store.stored)?;
        page.one(&names::IN_FLIGHT_BYTES, self.store.in_flight)?;
        page.one(&names::BUDGET_BYTES, self.store.limit)
    }

    fn codings(&self, page: &mut Page<'_>) -> fmt::Result {
        let seen = &self.codings;
        let mut encoder = page.metric(&names::CODINGS_MADE)?;
        for (coding, made) in Coding::ALL.into_iter().zip(seen.made) {
            for (level, count) in LEVELS.into_iter().zip(made) {
                let labels = [coding.token(), level];
                sample(&mut encoder, &names::CODINGS_MADE, &labels, count)?;
            }
        }
        let by_coding = |figures: [u64; 3]| Coding::ALL.map(Coding::token).into_iter().zip(figures);
        page.by_label(&names::CODINGS_PASSED, by_coding(seen.passed))?;
        page.by_label(&names::CODINGS_IN_BYTES, by_coding(seen.taken))?;
        page.by_label(&names::CODINGS_OUT_BYTES, by_coding(seen.given))?;
        let mut encoder = page.metric(&names::CODINGS_SECONDS)?;
        for (coding, micros) in by_coding(seen.time_us) {
            let seconds = Duration::from_micros(micros).as_secs_f64();
            encoder
                .encode_family(&pairs(&names::CODINGS_SECONDS, &[coding]))?
                .encode_counter::<NoLabelSet, f64, u64>(&seconds, None)?;
        }
        page.one(&names::CODINGS_DECODED, seen.decoded)?;
        page.one(&names::CODINGS_REFUSED, seen.refused)
    }

    fn purges(&self, page: &mut Page<'_>) -> fmt::Result {
        let seen = &self.purges_applied;
        page.by_label(&names::PURGES_APPLIED, KINDS.into_iter().zip(seen.applied))?;
        page.each([
            (&names::PURGES_SOFT, seen.soft),
            (&names::PURGE_TOUCHED, seen.touched),
            (&names::PURGE_SWEPT, seen.swept),
            (&names::PURGE_SEQUENCE, seen.sequence),
            (&names::PURGE_NAMES, seen.names),
            (&names::PURGE_PATTERNS, seen.patterns),
            (&names::PURGES_UNSURE, u64::from(seen.is_unsure)),
            (
                &names::PURGE_LOG_FAILING,
                u64::from(self.purge_log_is_failing),
            ),
        ])
    }

    /// Writes nothing if there is no disk tier.
    fn disk(&self, page: &mut Page<'_>) -> fmt::Result {
        let Some(seen) = &self.disk else {
            return Ok(());
        };
        page.each([
            (&names::DISK_RECORDS, seen.records),
            (&names::DISK_BYTES, seen.bytes),
            (&names::DISK_LIMIT_BYTES, seen.limit),
            (&names::DISK_INDEX_BYTES, seen.index_bytes),
            (&names::DISK_SEGMENTS, seen.segments),
            (&names::DISK_LARGE_FILES, seen.large_files),
            (&names::DISK_WHOLE, u64::from(seen.is_whole)),
            (&names::DISK_HITS, seen.hits),
            (&names::DISK_MISSES, seen.misses),
            (&names::DISK_WRITES, seen.writes),
            (&names::DISK_WRITTEN_BYTES, seen.bytes_written),
            (&names::DISK_REFUSED, seen.refused_writes),
            (&names::DISK_EVICTED, seen.evicted),
            (&names::DISK_FORWARDED, seen.forwarded),
            (&names::DISK_ERRORS, seen.errors),
            (&names::DISK_DAMAGED, seen.damaged),
            (&names::DISK_FAILING, u64::from(seen.is_failing)),
        ])
    }

    /// Writes nothing if there is no shared tier.
    fn shared(&self, page: &mut Page<'_>) -> fmt::Result {
        let Some(seen) = &self.shared else {
            return Ok(());
        };
        page.each([
            (&names::SHARED_HITS, seen.hits),
            (&names::SHARED_MISSES, seen.misses),
            (&names::SHARED_STORED, seen.stored),
            (&names::SHARED_PASSED_OVER, seen.passed_over),
            (&names::SHARED_LEASES, seen.leases),
            (&names::SHARED_WAITS, seen.waits),
            (&names::SHARED_WAITS_IN_VAIN, seen.waits_in_vain),
            (&names::SHARED_NOT_ASKED, seen.not_asked),
            (&names::SHARED_MALFORMED, seen.malformed),
            (&names::SHARED_NO_ROOM, seen.no_room),
            (&names::SHARED_OPENINGS, seen.openings),
            (&names::SHARED_OPEN, u64::from(seen.open)),
        ])?;
        let errors = seen.errors.iter();
        page.by_label(
            &names::SHARED_ERRORS,
            errors.map(|(kind, count)| (kind.name(), *count)),
        )
    }

    fn connections(&self, page: &mut Page<'_>) -> fmt::Result {
        let seen = &self.connections;
        page.each([
            (&names::CONNECTIONS_ACCEPTED, seen.accepted),
            (&names::CONNECTIONS_ACTIVE, seen.active),
            (&names::CONNECTIONS_REFUSED, seen.refused),
            (&names::CONNECTION_TIMEOUTS, seen.timeouts),
            (&names::HANDSHAKES, seen.handshakes),
            (&names::HANDSHAKES_FAILED, seen.handshakes_failed),
            (&names::PROTOCOL_ERRORS, seen.protocol_errors),
            (&names::RECEIVED_BYTES, seen.bytes_in),
            (&names::SENT_BYTES, seen.bytes_out),
            (&names::PANICS, panics::seen()),
        ])
    }

    fn origins(&self, page: &mut Page<'_>) -> fmt::Result {
        self.origin_latency(page)?;
        let figures: [(&Metric, Figure<Report>); 2] = [
            (&names::ORIGIN_ACTIVE, |origin| origin.active as u64),
            (&names::ORIGIN_QUEUED, |origin| origin.queued as u64),
        ];
        for (metric, figure) in figures {
            let origins = self.origins.iter();
            page.by_label(
                metric,
                origins.map(|origin| (origin.name.as_str(), figure(origin))),
            )?;
        }
        let mut encoder = page.metric(&names::PAGES)?;
        for origin in &self.origins {
            let Some(pages) = origin.pages else { continue };
            for (outcome, count) in [
                ("found", pages.found),
                ("absent", pages.absent),
                ("bad", pages.bad),
                ("failed", pages.failed),
            ] {
                sample(&mut encoder, &names::PAGES, &[&origin.name, outcome], count)?;
            }
        }
        let figures: [(&Metric, Figure<ServerReport>); 3] = [
            (&names::SERVER_HEALTHY, |server| u64::from(server.healthy)),
            (&names::SERVER_ACTIVE, |server| server.active as u64),
            (&names::SERVER_FAILURES, |server| server.failures),
        ];
        for (metric, figure) in figures {
            let mut encoder = page.metric(metric)?;
            for origin in &self.origins {
                for server in &origin.servers {
                    let labels = [origin.name.as_str(), server.address.as_str()];
                    sample(&mut encoder, metric, &labels, figure(server))?;
                }
            }
        }
        Ok(())
    }
}
