//! The position in the index of ready jobs at which a worker's next `lease` call starts.

use crate::job::{JobKind, Lease};

/// The start positions for the next lease call in the index of ready jobs, by kind. The call then
/// skips dead tuples of finished jobs. A new cursor requests a full scan, which also finds returned
/// jobs and sweeps.
#[derive(Debug, Clone, Default)]
pub struct LeaseCursors([i64; JobKind::ALL.len()]);

impl LeaseCursors {
    /// Returns the lowest job id that the lease call reads. 0 requests a sweep and a full scan.
    pub(crate) fn of(&self, kind: JobKind) -> i64 {
        self.0[kind as usize]
    }

    /// Moves the cursors to the jobs that this call has leased. Ready jobs are leased in the order
    /// of their ids.
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
