//! The position in the index of ready jobs where a worker's next `lease` call starts.

use crate::job::{JobKind, Lease};

/// The start positions of the next lease call in the index of ready jobs, by kind, so that its scan
/// skips the dead tuples of finished jobs. Initially the call does a full scan, which also finds
/// returned jobs, and sweeps.
#[derive(Debug, Clone, Default)]
pub struct LeaseCursors([i64; JobKind::ALL.len()]);

impl LeaseCursors {
    /// Returns the lowest job id that the lease call checks. 0 requests a full scan after a sweep.
    pub(crate) fn of(&self, kind: JobKind) -> i64 {
        self.0[kind as usize]
    }

    /// Notes the leased jobs. Ready jobs are leased in the order of their ids.
    pub fn note(&mut self, leases: &[Lease]) {
        for kind in JobKind::ALL {
            let of_kind = leases.iter().filter(|lease| lease.kind == kind);
            let lowest = of_kind.map(|lease| lease.fence.job_id).min();
            let cursor = &mut self.0[kind as usize];
            // 1 is the lowest job id: it includes all jobs without the sweep that 0 requests.
            *cursor = lowest.unwrap_or(*cursor).max(1);
        }
    }
}
