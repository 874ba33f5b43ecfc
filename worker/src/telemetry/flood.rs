//! Limits the log lines per call site in a time window, and reports how many it suppressed.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::{Event, Metadata, Subscriber, callsite::Identifier};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

use super::metrics::metrics;

/// Time window in which a call site's lines are counted.
pub(super) const WINDOW: Duration = Duration::from_secs(10);

struct CallSiteLines {
    metadata: &'static Metadata<'static>,
    since: Instant,
    written: u32,
    suppressed: u64,
}

pub(super) struct Flood {
    /// Maximum lines per call site and window. `None` means no limit.
    limit: Option<u32>,
    call_sites: Mutex<HashMap<Identifier, CallSiteLines>>,
}

impl Flood {
    pub(super) fn new(limit: Option<u32>) -> Self {
        Self { limit, call_sites: Mutex::default() }
    }

    fn admits(&self, metadata: &'static Metadata<'static>, now: Instant) -> bool {
        let Some(limit) = self.limit else { return true };
        let mut call_sites = self.call_sites.lock();
        let fresh = CallSiteLines { metadata, since: now, written: 0, suppressed: 0 };
        let lines = call_sites.entry(metadata.callsite()).or_insert(fresh);
        if now.saturating_duration_since(lines.since) >= WINDOW {
            (lines.since, lines.written) = (now, 0);
        }
        if lines.written < limit {
            lines.written += 1;
            return true;
        }
        lines.suppressed += 1;
        false
    }

    /// Returns the lines suppressed since the last call, by `file:line`.
    pub(super) fn take_suppressed(&self) -> Vec<(String, u64)> {
        let mut suppressed = Vec::new();
        for lines in self.call_sites.lock().values_mut().filter(|lines| lines.suppressed > 0) {
            let metadata = lines.metadata;
            let file = metadata.file().unwrap_or(metadata.target());
            let line = metadata.line().unwrap_or(0);
            suppressed.push((format!("{file}:{line}"), std::mem::take(&mut lines.suppressed)));
        }
        suppressed
    }
}

pub(super) fn report(flood: &Flood) {
    for (place, lines) in flood.take_suppressed() {
        metrics().log_suppressed.add(lines, &[]);
        tracing::warn!(place, lines, "too many log lines from one call site; suppressed the rest");
    }
}

/// Formats only the lines within the limit. A layer's filter could not count lines, because tracing
/// caches its result per call site.
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
        if self.flood.admits(event.metadata(), Instant::now()) {
            self.format.format_event(context, writer, event)
        } else {
            Ok(())
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
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_beyond_the_limit_are_counted_and_other_call_sites_are_not_affected() {
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
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        assert_eq!(text.matches("a line of the flood").count(), 3, "{text}");
        assert_eq!(text.matches("another line").count(), 1);
        assert_eq!(text.matches("lines=47").count(), 1, "{text}");
        assert!(text.contains("flood.rs:"), "{text}");
    }

    #[test]
    fn the_next_window_starts_a_new_count_and_without_a_limit_all_lines_pass() {
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
        assert_eq!(flood.take_suppressed().iter().map(|(_, lines)| lines).sum::<u64>(), 2);
        let all = Flood::new(None);
        assert!((0..9_999).all(|_| all.admits(metadata, now)));
    }
}
