//! Where a worker's next call of `lease` begins in the index of ready jobs.

use crate::job::{JobKind, Lease};

/// Where the next lease call begins to look for ready jobs, by kind, so that its index scan skips
/// the dead tuples of ended jobs. Without a note it is a full scan, which also finds jobs that came
/// back, and sweeps.
#[derive(Debug, Clone, Default)]
pub struct LeaseCursors([i64; JobKind::ALL.len()]);

impl LeaseCursors {
    /// The lowest job id that the lease call looks at; 0 asks for a full scan after a sweep.
    pub(crate) fn of(&self, kind: JobKind) -> i64 {
        self.0[kind as usize]
    }

    /// Notes what was leased: ready jobs are handed out in the order of their ids.
    pub fn note(&mut self, leases: &[Lease]) {
        for kind in JobKind::ALL {
            let of_kind = leases.iter().filter(|lease| lease.kind == kind);
            let lowest = of_kind.map(|lease| lease.fence.job_id).min();
            let cursor = &mut self.0[kind as usize];
            // 1 is the lowest job id: it looks at all jobs, without the sweep that 0 asks for.
            *cursor = lowest.unwrap_or(*cursor).max(1);
        }
    }
}
