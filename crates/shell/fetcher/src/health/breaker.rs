//! The circuit breaker, which opens if most of the recent distinct origins failed.
//!
//! If more than half of the recent origins fail in the resolver or while connecting, the local
//! network is a more likely cause than the peers. Origins that were dialled together also time out
//! together, after all origins that responded. Such a group must not open the breaker, so the
//! window has room for at least as many origins as there may be requests in flight.

use std::{
    collections::{HashSet, VecDeque},
    hash::{BuildHasher, RandomState},
};

use parking_lot::Mutex;

use crate::{
    outcome::{LocalFault, Outcome},
    settings::FetchSettings,
};

pub(crate) struct Breaker {
    window: usize,
    minimum: usize,
    recent: Mutex<RecentOrigins>,
    hasher: RandomState,
}

#[derive(Default)]
struct RecentOrigins {
    origins: VecDeque<(u64, bool)>,
    known: HashSet<u64>,
    failed: usize,
}

impl RecentOrigins {
    fn push(&mut self, origin: u64, failed: bool) {
        self.known.insert(origin);
        self.origins.push_back((origin, failed));
        self.failed += usize::from(failed);
    }

    fn remove(&mut self, index: usize) {
        if let Some((origin, failed)) = self.origins.remove(index) {
            self.known.remove(&origin);
            self.failed -= usize::from(failed);
        }
    }
}

impl Breaker {
    pub(crate) fn new(settings: &FetchSettings) -> Self {
        let window = settings.breaker_window.max(settings.in_flight).max(1);
        let minimum = settings.breaker_minimum.clamp(1, window);
        Self { window, minimum, recent: Mutex::default(), hasher: RandomState::new() }
    }

    pub(crate) fn record(&self, origin: &str, outcome: Outcome) {
        let origin = self.hasher.hash_one(origin);
        let mut recent = self.recent.lock();
        if recent.known.contains(&origin) {
            let index = recent.origins.iter().position(|(seen, _)| *seen == origin);
            index.into_iter().for_each(|index| recent.remove(index));
        }
        recent.push(origin, outcome.local_fault() == LocalFault::Network);
        if recent.origins.len() > self.window {
            recent.remove(0);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        let recent = self.recent.lock();
        recent.origins.len() >= self.minimum && recent.failed > recent.origins.len() / 2
    }

    pub(crate) fn reset(&self) {
        *self.recent.lock() = RecentOrigins::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker(in_flight: usize) -> Breaker {
        let defaults = FetchSettings::default();
        Breaker::new(&FetchSettings {
            breaker_window: 10,
            breaker_minimum: 6,
            in_flight,
            ..defaults
        })
    }

    #[test]
    fn time_outs_of_origins_that_were_dialled_together_do_not_open_it() {
        let breaker = breaker(1_000);
        for number in 0..1_000 {
            let outcome = if number < 880 { Outcome::Ok } else { Outcome::ConnectTimeout };
            breaker.record(&format!("https://{number}.example"), outcome);
            assert!(!breaker.is_open(), "{number}");
        }
        for number in 1_000..1_501 {
            breaker.record(&format!("https://{number}.example"), Outcome::ConnectTimeout);
        }
        assert!(breaker.is_open());
    }

    #[test]
    fn it_opens_when_most_distinct_origins_fail_and_not_for_one_that_fails_often() {
        let breaker = breaker(1);
        for _ in 0..20 {
            breaker.record("https://one.example", Outcome::ConnectTimeout);
        }
        assert!(!breaker.is_open());
        for number in 0..5 {
            breaker.record(&format!("https://{number}.example"), Outcome::Http404410);
        }
        assert!(!breaker.is_open());
        for number in 5..11 {
            breaker.record(&format!("https://{number}.example"), Outcome::DnsTimeout);
        }
        assert!(breaker.is_open());
        breaker.reset();
        assert!(!breaker.is_open());
    }
}
