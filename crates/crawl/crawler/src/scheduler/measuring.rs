//! Records the scheduler's metrics.

use std::time::{Duration, Instant};

use crate::{
    metrics::{self, Gauges},
    scheduler::state::Scheduler,
};

/// Interval between measurements.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5);

impl Scheduler {
    pub(super) fn measure(&mut self) {
        let calls = &mut self.state.calls;
        if calls.measured_at.is_some_and(|at| at.elapsed() < MEASURE_INTERVAL) {
            return;
        }
        let now = Instant::now();
        calls.measured_at = Some(now);
        metrics::record_gauges(self.gauges(now));
    }

    fn gauges(&self, now: Instant) -> Gauges {
        let state = &self.state;
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let lags = self.has_too_many_unwritten();
        let slots = state.slots.values();
        Gauges {
            slots: state.slots.len() as u64,
            stalled: slots.clone().filter(|slot| lags || slot.is_checkpoint_overdue()).count()
                as u64,
            hosts: state.hosts.len() as u64,
            due: state.due.ready_hosts() as u64
                + state.hosts.values().filter(|host| is_due(host.scheduled_at)).count() as u64,
            requests: state.requests.len() as u64,
            pending_uploads: slots.map(|slot| slot.pending_uploads as u64).sum(),
            state_bytes: state.memory.bytes as u64,
        }
    }
}
