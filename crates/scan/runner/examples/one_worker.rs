//! Runs one worker on a scan's jobs, with a private Postgres, until the scan has finished: `cargo
//! run -p everytab-runner --example one_worker`. The scan's only index file does not exist, so its
//! job is discarded, and the later jobs publish a site without tabs.

use std::{error::Error, fs, path::Path, sync::Arc};

use everytab_coordinator::{ConnectSettings, Coordinator, Digests, JobKind, NewScan};
use everytab_fetcher::{FetchSettings, Fetcher};
use everytab_jobs::{Context, icon_processes, scan_settings::ScanSettings, store_tokens};
use everytab_postgres::{PostgresSettings, PrivatePostgres};
use everytab_runner::{DRAIN, STALL_LIMIT, WorkerEnd, WorkerSettings, run, worker_id};
use everytab_storage::StoreSettings;
use tokio::sync::watch;
use uuid::Uuid;

async fn start_scan(url: &str, folder: &Path, digests: &Digests) -> Result<(), Box<dyn Error>> {
    let store = |name: &str| -> Result<String, Box<dyn Error>> {
        fs::create_dir(folder.join(name))?;
        Ok(format!("file://{}", folder.join(name).display()))
    };
    let settings = ScanSettings::new(store("crawl")?, store("archive")?, store("site")?);
    let scan_id = Uuid::new_v4();
    for url in [&settings.archive, &settings.site] {
        let store = everytab_storage::open(url, &StoreSettings::default()).await?;
        store_tokens::write(&*store, scan_id).await?;
    }
    let scan = NewScan {
        scan_id,
        crawl: "CC-MAIN-2026-01".to_owned(),
        settings: serde_json::to_value(&settings)?,
        lease_ms: 300_000,
        archive_rate: None,
        digests: digests.clone(),
        files: vec![("cc-index/part-0.parquet".to_owned(), None)],
    };
    let owner = Coordinator::connect(url, &ConnectSettings::default()).await?;
    owner.migrate().await?;
    owner.start_scan(&scan).await?;
    owner.close().await;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // Icons are decoded in child processes that run this same program.
    if icon_processes::serve_if_asked().is_some() {
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(work())
}

async fn work() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let server = PrivatePostgres::start(PostgresSettings::new(folder.path().join("postgres")))?;
    let digests = Digests { encoder: "digest of the icon encoder".to_owned() };
    start_scan(&server.admin_url(), folder.path(), &digests).await?;

    let url = server.url("postgres", "everytab_worker");
    let coordinator = Coordinator::connect(&url, &ConnectSettings::default()).await?;
    let fetcher = Fetcher::new(FetchSettings::default())?;
    let context = Context::new(StoreSettings::default(), fetcher, folder.path().to_owned());
    let settings = WorkerSettings {
        worker_id: worker_id(),
        kinds: JobKind::OF_SCANS.to_vec(),
        digests,
        exit_when_done: true,
        drain: DRAIN,
        stall_limit: STALL_LIMIT,
        is_working_elsewhere: Arc::default(),
        bundle_jobs: 1,
        crawl_jobs: None,
    };
    // `true` here lets the worker finish its leased jobs and stop.
    let (_stop, stopped) = watch::channel(false);
    let end = run(coordinator.clone(), context, settings, stopped).await?;
    println!("{end:?}");
    assert_eq!(end, WorkerEnd::FinishedWithDiscards);
    assert!(folder.path().join("site/manifest.json").exists());
    coordinator.close().await;
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
