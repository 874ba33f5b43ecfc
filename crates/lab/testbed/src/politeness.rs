//! Checks with an access log that a client was polite: one request per host at a time, with the
//! host's delay between one request's end and the next one's start.

use std::{collections::BTreeMap, time::Duration};

use crate::access_log::AccessLine;

/// Two requests to one host that a polite client would not have sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolitenessFault {
    /// The earlier request.
    pub earlier: AccessLine,
    /// The later request.
    pub later: AccessLine,
    /// The minimum time between the earlier request's end and the later one's start.
    pub delay: Duration,
    /// The actual time between them. `None` if they overlapped.
    pub gap: Option<Duration>,
}

/// Returns the requests that were sent too early, by host and time, each with the earlier request
/// that ended last. A zero delay allows requests without a pause, but not overlapping ones.
#[must_use]
pub fn check_politeness(
    log: &[AccessLine],
    delays: impl Fn(&str) -> Duration,
) -> Vec<PolitenessFault> {
    let mut by_host: BTreeMap<&str, Vec<&AccessLine>> = BTreeMap::new();
    for line in log {
        by_host.entry(&line.host).or_default().push(line);
    }
    let mut faults = Vec::new();
    for (host, mut lines) in by_host {
        lines.sort_by_key(|line| (line.start_us, line.end_us));
        let delay = delays(host);
        let mut last: Option<&AccessLine> = None;
        for later in lines {
            if let Some(earlier) = last {
                let gap = later.start_us.checked_sub(earlier.end_us).map(Duration::from_micros);
                if gap.is_none_or(|gap| gap < delay) {
                    let (earlier, later) = (earlier.clone(), later.clone());
                    faults.push(PolitenessFault { earlier, later, delay, gap });
                }
            }
            if last.is_none_or(|last| last.end_us <= later.end_us) {
                last = Some(later);
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(host: &str, start_us: u64, end_us: u64) -> AccessLine {
        AccessLine {
            start_us,
            end_us,
            status: 200,
            address: [127, 1, 1, 1].into(),
            host: host.to_owned(),
            path: "/".to_owned(),
        }
    }

    fn faults(log: &[AccessLine], delay_us: u64) -> Vec<(u64, u64, Option<u128>)> {
        let faults = check_politeness(log, |_| Duration::from_micros(delay_us));
        let short = |fault: PolitenessFault| {
            let gap = fault.gap.map(|gap| gap.as_micros());
            (fault.earlier.start_us, fault.later.start_us, gap)
        };
        faults.into_iter().map(short).collect()
    }

    #[test]
    fn planted_faults_are_found_and_hosts_are_apart() {
        let log = [line("b", 500, 600), line("a", 0, 100), line("b", 0, 9), line("a", 150, 160)];
        assert_eq!(faults(&log, 50), []);
        assert_eq!(faults(&log, 51), [(0, 150, Some(50))]);
        let log =
            [line("a", 0, 1_000), line("a", 10, 20), line("a", 500, 600), line("a", 1_000, 1)];
        assert_eq!(faults(&log, 0), [(0, 10, None), (0, 500, None)]);
    }

    proptest! {
        #[test]
        fn a_polite_log_has_no_fault_and_one_request_moved_forward_is_found(
            gaps in prop::collection::vec((0_u64..50, 1_u64..50), 2..30),
            delay in 1_u64..40,
            moved: prop::sample::Index,
        ) {
            let mut now = 0;
            let mut log: Vec<AccessLine> = gaps
                .iter()
                .map(|(more, length)| {
                    let start = now + delay + more;
                    now = start + length;
                    line("a", start, now)
                })
                .collect();
            prop_assert_eq!(faults(&log, delay), []);
            let at = 1 + moved.index(log.len() - 1);
            log[at].start_us = log[at - 1].end_us + delay - 1;
            prop_assert_eq!(faults(&log, delay).len(), 1);
            log.reverse();
            prop_assert_eq!(faults(&log, delay).len(), 1);
        }
    }
}
