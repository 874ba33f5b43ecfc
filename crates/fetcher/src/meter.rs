//! What fetching a shard took: requests, look-ups, time on the wire, and how much at once.
//!
//! Every count adds up over shards and workers, the maxima too: a shard counts one under the
//! maximum that it saw. Must not know: who reads them.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use crate::{
    fetched::Fetched,
    metrics::{instruments, label},
    outcome::Outcome,
    request::message::Purpose,
};

/// Look-ups are counted under the first of these that they did not exceed, in milliseconds.
const LOOKUP_MS: [u64; 5] = [1, 10, 100, 1_000, u64::MAX];

/// The counts of one shard.
#[derive(Default)]
pub(crate) struct Meter {
    lookups: [AtomicU64; LOOKUP_MS.len()],
    lookups_ms: AtomicU64,
    dials: AtomicU64,
    reuses: AtomicU64,
    robots: AtomicU64,
    slowdowns: AtomicU64,
    on_the_wire_ms: AtomicU64,
    without_end_ms: AtomicU64,
    most_per_host: AtomicUsize,
    most_per_address: AtomicUsize,
}

impl Meter {
    /// The resolver was asked for a name.
    pub(crate) fn looked_up(&self, took: Duration) {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let bucket = LOOKUP_MS.iter().zip(&self.lookups).find(|(most, _)| took <= **most);
        if let Some((_, count)) = bucket {
            add(count, 1);
        }
        add(&self.lookups_ms, took);
        instruments().lookup_duration.record(took as f64 / 1e3, &[]);
    }

    /// A connection was tried.
    pub(crate) fn dialled(&self) {
        add(&self.dials, 1);
        instruments().connections.add(1, &[label("how", "tried")]);
    }

    /// A request went over a connection that was open.
    pub(crate) fn reused(&self) {
        add(&self.reuses, 1);
        instruments().connections.add(1, &[label("how", "reused")]);
    }

    /// An address asked for less.
    pub(crate) fn slowed_down(&self) {
        add(&self.slowdowns, 1);
        instruments().slowdowns.add(1, &[]);
    }

    /// So many requests are on the wire to one hostname, this one included.
    pub(crate) fn at_once_per_host(&self, count: usize) {
        self.most_per_host.fetch_max(count, Ordering::Relaxed);
    }

    /// So many requests are on the wire to one address, this one included.
    pub(crate) fn at_once_per_address(&self, count: usize) {
        self.most_per_address.fetch_max(count, Ordering::Relaxed);
    }

    /// A fetch ended.
    pub(crate) fn fetched(&self, purpose: Purpose, fetched: &Fetched) {
        show(purpose, fetched);
        let timings = fetched.timings;
        let on_the_wire = u64::from(timings.total.saturating_sub(timings.dns));
        add(&self.on_the_wire_ms, on_the_wire);
        if fetched.outcome.is_silence() {
            add(&self.without_end_ms, on_the_wire);
        }
        if purpose == Purpose::Robots && fetched.outcome != Outcome::IpBlocked {
            add(&self.robots, 1);
        }
    }

    /// All counts by name.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut counts = BTreeMap::from([
            ("lookups".to_owned(), self.lookups.iter().map(read).sum()),
            ("lookups_ms".to_owned(), read(&self.lookups_ms)),
            ("connections_tried".to_owned(), read(&self.dials)),
            ("connections_reused".to_owned(), read(&self.reuses)),
            ("slowed_down".to_owned(), read(&self.slowdowns)),
            ("robots_requests".to_owned(), read(&self.robots)),
            ("on_the_wire_ms".to_owned(), read(&self.on_the_wire_ms)),
            ("timed_out_ms".to_owned(), read(&self.without_end_ms)),
        ]);
        for (most, count) in LOOKUP_MS.iter().zip(&self.lookups) {
            let name = match *most {
                u64::MAX => "lookups_slower".to_owned(),
                most => format!("lookups_within_{most}_ms"),
            };
            counts.insert(name, read(count));
        }
        for (what, most) in [("host", &self.most_per_host), ("address", &self.most_per_address)] {
            counts.insert(format!("at_once_per_{what}_{}", most.load(Ordering::Relaxed)), 1);
        }
        counts
    }
}

/// Tells whoever watches this process.
fn show(purpose: Purpose, fetched: &Fetched) {
    let purpose = match purpose {
        Purpose::Icon => "icon",
        Purpose::Robots => "robots",
    };
    let labels = [label("purpose", purpose), label("outcome", fetched.outcome.as_str())];
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
        // A phase that there was none of took no time, and would only hide the others.
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
    fn look_ups_are_counted_by_how_long_they_took() {
        let meter = Meter::default();
        for ms in [0, 1, 2, 11, 5_000] {
            meter.looked_up(Duration::from_millis(ms));
        }
        let counts = meter.counts();
        assert_eq!(counts["lookups_within_1_ms"], 2);
        assert_eq!(counts["lookups_within_10_ms"], 1);
        assert_eq!(counts["lookups_within_100_ms"], 1);
        assert_eq!(counts["lookups_slower"], 1);
        assert_eq!(counts["lookups_ms"], 5_014);
    }

    #[test]
    fn a_maximum_is_a_name_that_adds_up() {
        let meter = Meter::default();
        for count in [1, 2, 1] {
            meter.at_once_per_host(count);
        }
        assert_eq!(meter.counts()["at_once_per_host_2"], 1);
    }
}
