//! Keeps a flood of log lines from one place small: so many in a while, the rest is counted.
//!
//! Invariant: each line that is left out is counted once, and said with its place when the while is
//! over. Must not know: what lines say.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tracing::{Event, Metadata, Subscriber, callsite::Identifier};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

use super::metrics::metrics;

/// How long a while is.
pub(super) const WINDOW: Duration = Duration::from_secs(10);

/// Lines from one place in the code.
struct Place {
    metadata: &'static Metadata<'static>,
    since: Instant,
    passed: u32,
    left_out: u64,
}

/// The counts; one a process.
pub(super) struct Flood {
    /// Lines of one place that pass in a while; none lets all pass.
    limit: Option<u32>,
    places: Mutex<HashMap<Identifier, Place>>,
}

impl Flood {
    pub(super) fn new(limit: Option<u32>) -> Self {
        Self { limit, places: Mutex::default() }
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Identifier, Place>> {
        // Nothing panics between changes, so a poisoned map is whole.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admits(&self, metadata: &'static Metadata<'static>, now: Instant) -> bool {
        let Some(limit) = self.limit else { return true };
        let mut places = self.places();
        let fresh = Place { metadata, since: now, passed: 0, left_out: 0 };
        let place = places.entry(metadata.callsite()).or_insert(fresh);
        if now.saturating_duration_since(place.since) >= WINDOW {
            (place.since, place.passed) = (now, 0);
        }
        if place.passed < limit {
            place.passed += 1;
            return true;
        }
        place.left_out += 1;
        false
    }

    /// What was left out since the last call, by place.
    pub(super) fn take_left_out(&self) -> Vec<(String, u64)> {
        let mut left_out = Vec::new();
        for place in self.places().values_mut().filter(|place| place.left_out > 0) {
            let metadata = place.metadata;
            let file = metadata.file().unwrap_or(metadata.target());
            let line = metadata.line().unwrap_or(0);
            left_out.push((format!("{file}:{line}"), std::mem::take(&mut place.left_out)));
        }
        left_out
    }
}

/// Says what was left out.
pub(super) fn report(flood: &Flood) {
    for (place, lines) in flood.take_left_out() {
        metrics().log_suppressed.add(lines, &[]);
        tracing::warn!(place, lines, "too many log lines from one place; these were left out");
    }
}

/// Writes what passes, by another format. Not a filter: those of a layer remember what they refuse,
/// and must refuse by the place alone.
pub(super) struct Limited<F> {
    pub(super) format: F,
    pub(super) flood: &'static Flood,
}

impl<S, N, F> FormatEvent<S, N> for Limited<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        match self.flood.admits(event.metadata(), Instant::now()) {
            true => self.format.format_event(context, writer, event),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::prelude::*;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(std::sync::Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_flood_is_cut_short_and_counted_and_other_lines_pass() {
        let flood: &'static Flood = Box::leak(Box::new(Flood::new(Some(3))));
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false);
        let layer = layer.with_writer(move || writer.clone());
        let layer = layer.map_event_format(|format| Limited { format, flood });
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..50 {
                tracing::info!(number, "a line of the flood");
            }
            tracing::info!("another line");
            report(flood);
            report(flood);
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.matches("a line of the flood").count(), 3, "{text}");
        assert_eq!(text.matches("another line").count(), 1);
        assert_eq!(text.matches("lines=47").count(), 1, "{text}");
        assert!(text.contains("flood.rs:"), "{text}");
    }

    #[test]
    fn the_next_while_lets_lines_pass_again_and_no_limit_lets_all() {
        let flood = Flood::new(Some(1));
        let callsite = tracing::callsite! {
            name: "any", kind: tracing::metadata::Kind::EVENT, fields: message
        };
        let metadata = tracing::callsite::Callsite::metadata(callsite);
        let now = Instant::now();
        assert!(flood.admits(metadata, now));
        assert!(!flood.admits(metadata, now));
        assert!(!flood.admits(metadata, now + WINDOW / 2));
        assert!(flood.admits(metadata, now + WINDOW));
        assert_eq!(flood.take_left_out().iter().map(|(_, lines)| lines).sum::<u64>(), 2);
        let all = Flood::new(None);
        assert!((0..9_999).all(|_| all.admits(metadata, now)));
    }
}
