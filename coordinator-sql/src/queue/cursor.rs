//! The position at which a worker's next `lease` call starts.

use crate::queue::job::{JobKind, Lease};

/// The position in the index of ready jobs at which the next lease call starts, by kind, so that it
/// skips dead tuples of finished jobs. A new cursor requests a full scan, which also finds returned
/// jobs and sweeps.
#[derive(Debug, Clone, Default)]
pub struct LeaseCursors([i64; JobKind::ALL.len()]);

impl LeaseCursors {
    pub(super) fn of(&self, kind: JobKind) -> i64 {
        self.0[kind as usize]
    }

    /// Moves the cursors to the jobs that this call has leased, because ready jobs are leased in
    /// the order of their ids.
    pub fn note(&mut self, leases: &[Lease]) {
        for kind in JobKind::ALL {
            let of_kind = leases.iter().filter(|lease| lease.kind == kind);
            let lowest = of_kind.map(|lease| lease.fence.job_id).min();
            let cursor = &mut self.0[kind as usize];
            // 1 is the lowest job id. It includes all jobs, but without the sweep that 0 requests.
            *cursor = lowest.unwrap_or(*cursor).max(1);
        }
    }
}
