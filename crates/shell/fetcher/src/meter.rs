//! Counts the work of fetching one shard, and records most of it in the process's metrics, too.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use everytab_metrics::label;

use crate::{
    counts::{FetchCounts, LOOKUP_BUCKETS, lookup_bucket},
    fetch_result::FetchResult,
    metrics::instruments,
    outcome::Outcome,
    purpose::PurposeKind,
};

#[derive(Default)]
pub(crate) struct FetchMeter {
    lookups: [AtomicU64; LOOKUP_BUCKETS],
    lookups_ms: AtomicU64,
    dials: AtomicU64,
    reuses: AtomicU64,
    robots: AtomicU64,
    rate_limited: AtomicU64,
    on_the_wire_ms: AtomicU64,
    silent_ms: AtomicU64,
    most_per_host: AtomicUsize,
    most_per_address: AtomicUsize,
}

impl FetchMeter {
    pub(crate) fn looked_up(&self, took: Duration) {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        add(&self.lookups[lookup_bucket(took_ms)], 1);
        add(&self.lookups_ms, took_ms);
        instruments().lookup_duration.record(took_ms as f64 / 1e3, &[]);
    }

    pub(crate) fn dialled(&self) {
        add(&self.dials, 1);
        instruments().connections.add(1, &[label("connection", "tried")]);
    }

    pub(crate) fn reused(&self) {
        add(&self.reuses, 1);
        instruments().connections.add(1, &[label("connection", "reused")]);
    }

    pub(crate) fn slowed_down(&self) {
        add(&self.rate_limited, 1);
        instruments().rate_limited.add(1, &[]);
    }

    pub(crate) fn concurrent_per_host(&self, count: usize) {
        self.most_per_host.fetch_max(count, Ordering::Relaxed);
    }

    pub(crate) fn concurrent_per_address(&self, count: usize) {
        self.most_per_address.fetch_max(count, Ordering::Relaxed);
    }

    pub(crate) fn fetched(&self, purpose: PurposeKind, fetched: &FetchResult) {
        record_metrics(purpose, fetched);
        let timings = fetched.timings;
        let on_the_wire = u64::from(timings.total.saturating_sub(timings.dns));
        add(&self.on_the_wire_ms, on_the_wire);
        if fetched.outcome.is_silence() {
            add(&self.silent_ms, on_the_wire);
        }
        if purpose == PurposeKind::Robots && fetched.outcome != Outcome::IpBlocked {
            add(&self.robots, 1);
        }
    }

    pub(crate) fn counts(&self) -> FetchCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FetchCounts {
            lookups_by_duration: std::array::from_fn(|bucket| read(&self.lookups[bucket])),
            lookups_ms: read(&self.lookups_ms),
            connections_tried: read(&self.dials),
            connections_reused: read(&self.reuses),
            slowed_down: read(&self.rate_limited),
            robots_requests: read(&self.robots),
            on_the_wire_ms: read(&self.on_the_wire_ms),
            timed_out_ms: read(&self.silent_ms),
            most_per_host: self.most_per_host.load(Ordering::Relaxed),
            most_per_address: self.most_per_address.load(Ordering::Relaxed),
        }
    }
}

fn record_metrics(purpose: PurposeKind, fetched: &FetchResult) {
    let labels = [label("purpose", purpose.as_str()), label("outcome", fetched.outcome.as_str())];
    instruments().fetches.add(1, &labels);
    instruments().fetched_bytes.add(fetched.body.len() as u64, &[]);
    let timings = fetched.timings;
    for (phase, ms) in [
        ("dns", timings.dns),
        ("connect", timings.connect),
        ("tls", timings.tls),
        ("first_byte", timings.first_byte),
        ("body", timings.body),
        ("total", timings.total),
    ] {
        // Zeros for missing phases would distort the histogram.
        if ms > 0 || phase == "total" {
            instruments().fetch_duration.record(f64::from(ms) / 1e3, &[label("phase", phase)]);
        }
    }
}

fn add(count: &AtomicU64, amount: u64) {
    count.fetch_add(amount, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_are_counted_by_duration() {
        let meter = FetchMeter::default();
        for ms in [0, 1, 2, 11, 5_000] {
            meter.looked_up(Duration::from_millis(ms));
        }
        let counts = meter.counts();
        assert_eq!(counts.lookups_by_duration, [2, 1, 1, 0, 1]);
        assert_eq!((counts.lookups(), counts.lookups_ms), (5, 5_014));
    }

    #[test]
    fn the_largest_number_of_concurrent_requests_is_kept() {
        let meter = FetchMeter::default();
        for count in [1, 2, 1] {
            meter.concurrent_per_host(count);
        }
        assert_eq!(meter.counts().most_per_host, 2);
    }
}
