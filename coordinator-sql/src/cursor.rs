//! Where a worker's next call of `lease` begins in the index of ready jobs.

use crate::job::{JobKind, Lease};

/// Where to begin looking for ready jobs, by kind: so that a lease does not walk past the old row
/// versions of all the jobs that are done. Nothing noted means a full look, which finds returned
/// jobs as well, and sweeps.
#[derive(Debug, Clone, Default)]
pub struct Hints([i64; JobKind::ALL.len()]);

impl Hints {
    /// The lowest job id worth looking at; 0 for all, after a sweep.
    pub(crate) fn of(&self, kind: JobKind) -> i64 {
        self.0[kind as usize]
    }

    /// Notes what was leased: ready jobs are handed out in the order of their ids.
    pub fn note(&mut self, leases: &[Lease]) {
        for kind in JobKind::ALL {
            let of_kind = leases.iter().filter(|lease| lease.kind == kind);
            let lowest = of_kind.map(|lease| lease.fence.job_id).min();
            let hint = &mut self.0[kind as usize];
            // From 1 on is all, but for the sweep.
            *hint = lowest.unwrap_or(*hint).max(1);
        }
    }
}
