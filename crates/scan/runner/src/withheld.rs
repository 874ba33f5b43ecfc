//! Logs the jobs that a worker does not get because its digests differ from those that a run
//! requires.

use everytab_coordinator::{Coordinator, Digests, WithheldRun};

#[derive(Debug, Default)]
pub(crate) struct WithheldLog {
    logged: Vec<WithheldRun>,
}

impl WithheldLog {
    pub(crate) async fn refresh(&mut self, coordinator: &Coordinator, digests: &Digests) {
        let runs = match coordinator.withheld_runs(digests).await {
            Ok(runs) if runs == self.logged => return,
            Ok(runs) => runs,
            Err(error) => {
                tracing::warn!(%error, "cannot load which jobs are withheld from this worker");
                return;
            }
        };
        for run in &runs {
            tracing::warn!(
                scan = %run.scan_id,
                kinds = run.kinds.join(","),
                digest = run.digest,
                wanted = run.wanted,
                offered = run.offered.as_deref(),
                "this worker takes no jobs of these kinds of the scan: their output depends on a \
                 digest that differs from this worker's"
            );
        }
        self.logged = runs;
    }
}
