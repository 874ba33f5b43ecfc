//! Performs one job of a scan, from its lease to its completion, on a private Postgres.
//!
//! `cargo run -p everytab-coordinator --example one_job` runs this, and so does `make test`.

use std::{error::Error, time::Instant};

use everytab_coordinator::{
    Completion, ConnectSettings, Coordinator, Digests, JobKind, LeaseCursors, NewScan, Output,
};
use everytab_postgres::{PostgresSettings, PrivatePostgres};
use serde_json::json;
use uuid::Uuid;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let server = PrivatePostgres::start(PostgresSettings::new(folder.path().join("postgres")))?;

    // The schema's owner migrates the database and starts a scan with one index file.
    let settings = ConnectSettings::default();
    let owner = Coordinator::connect(&server.admin_url(), &settings).await?;
    owner.migrate().await?;
    let scan = NewScan {
        scan_id: Uuid::new_v4(),
        crawl: "CC-MAIN-2026-01".into(),
        settings: json!({"entries_per_bundle": 120}),
        lease_ms: 300_000,
        archive_rate: None,
        digests: Digests { encoder: "digest of the icon encoder".into() },
        files: vec![("cc-index/part-0.parquet".into(), None)],
    };
    let number = owner.start_scan(&scan).await?;

    // A worker may execute functions in the schema `coordinator`, but cannot access tables.
    let url = server.url("postgres", "everytab_worker");
    let worker = Coordinator::connect(&url, &settings).await?;
    worker.check_schema().await?;
    let kinds = [JobKind::Index];
    let cursors = LeaseCursors::default();
    for lease in worker.lease("worker-1", &kinds, 1, &scan.digests, &cursors).await? {
        println!("leased job {} ({} {})", lease.fence.job_id, lease.kind, lease.part);
        let trust_until = Instant::now() + lease.length;
        let stats = json!({"inputs": {"rows": 1}, "outcomes": {"ok": 1}, "counts": {"hosts": 0}});
        let completion = worker.complete(lease, &Output::Nothing, &stats, trust_until).await?;
        assert_eq!(completion, Completion::Recorded);
    }

    for stage in worker.scan_status(number).await?.stages {
        println!(
            "{:<13} {} of {} done",
            stage.kind.as_str(),
            stage.done,
            stage.done + stage.outstanding
        );
    }
    worker.close().await;
    owner.close().await;
    server.erase()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        super::main().expect("the example succeeds");
    }
}
