//! Durations of calls, by call name.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct Timings(Mutex<BTreeMap<&'static str, Vec<Duration>>>);

impl Timings {
    pub(crate) fn note(&self, verb: &'static str, begun: Instant) {
        let mut all = self.0.lock();
        all.entry(verb).or_default().push(begun.elapsed());
    }

    pub(crate) fn reset(&self) {
        self.0.lock().clear();
    }

    /// Returns for each call name the number of calls, the calls per second, and the median, 99th
    /// percentile and maximum in milliseconds.
    pub(crate) fn report(&self, elapsed: Duration) -> Vec<(&'static str, Value)> {
        let mut all = self.0.lock();
        let of_verb = |(verb, taken): (&&'static str, &mut Vec<Duration>)| {
            taken.sort_unstable();
            let at = |share: f64| {
                let rank = (taken.len() as f64 * share) as usize;
                let taken = taken.get(rank.min(taken.len() - 1)).copied().unwrap_or_default();
                (taken.as_secs_f64() * 10_000.0).round() / 10.0
            };
            let per_second = taken.len() as f64 / elapsed.as_secs_f64();
            let figures = json!({"calls": taken.len(), "per_s": (per_second * 10.0).round() / 10.0,
                                 "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0)});
            (*verb, figures)
        };
        all.iter_mut().map(of_verb).collect()
    }
}
