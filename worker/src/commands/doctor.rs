//! `doctor`: whether this machine has what a run needs, a line a check, and what to do if not.
//!
//! Invariant: a check tries the real thing (a look-up, a write, a server) and leaves nothing
//! behind; every failure says what to change. Must not know: how any of it is used later.

mod check;
mod database;
mod host;
mod stores;

use std::path::PathBuf;

use clap::Args;
use everytab_icon::test_vectors::encoder_digest_hex;

use self::{
    check::{Check, Report},
    stores::StoreOptions,
};
use crate::{
    cli_error::{CliResult, Exit},
    options::{DatabaseArgs, FetchArgs},
};

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The crawl's bucket; without it, that of the newest scan
    #[arg(long, env = "EVERYTAB_SOURCE")]
    source: Option<String>,
    /// Read an S3 bucket without credentials
    #[arg(long, env = "EVERYTAB_SOURCE_IS_PUBLIC")]
    public: bool,
    /// The crawl that must be in the bucket; without it, that of the newest scan, else the latest
    #[arg(long, env = "EVERYTAB_CRAWL")]
    crawl: Option<String>,
    /// Where icons are archived; without it, as the newest scan says
    #[arg(long, env = "EVERYTAB_ARCHIVE")]
    archive: Option<String>,
    /// Where the site is published; without it, as the newest scan says
    #[arg(long, env = "EVERYTAB_SITE")]
    site: Option<String>,
    /// Private prefix of takedowns
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// Hostname to look up
    #[arg(long, env = "EVERYTAB_LOOK_UP", default_value = "example.com", value_name = "HOST")]
    look_up: String,
    /// Folder for temporary files
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
    /// Check what `local` needs, even with a database of its own
    #[arg(long, env = "EVERYTAB_LOCAL")]
    local: bool,
    /// One JSON object a line
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

/// Checks everything that the options name, and goes on after a failure.
///
/// # Errors
/// When stdout cannot be written. What is wrong is a line, and exit code 1.
pub async fn run(args: DoctorArgs) -> CliResult {
    let mut report = Report { as_json: args.json, failed: 0 };
    report.add(&Check::ok("encoder", encoder_digest_hex()))?;
    report.extend(host::capacities(args.fetch.in_flight))?;
    report.add(&host::temporary(args.temporary.clone()))?;
    report.extend(host::resolver(&args.fetch, &args.look_up).await)?;
    let url = args.database.database_url.as_deref().filter(|url| !url.is_empty());
    let mut newest = None;
    match url {
        Some(url) => {
            let (checks, scan) = database::check(url).await;
            report.extend(checks)?;
            newest = scan;
        }
        None => report.add(&Check::ok("database", "none given: only `local` runs without"))?,
    }
    if url.is_none() || args.local {
        report.add(&host::private_postgres(args.temporary.clone()).await)?;
    }
    let options = StoreOptions {
        source: args.source,
        is_public: args.public,
        crawl: args.crawl,
        archive: args.archive,
        site: args.site,
        private: args.private,
    };
    report.extend(stores::check(&options, newest.as_ref()).await)?;
    eprintln!(
        "{}",
        match report.failed {
            0 => "all is well".to_owned(),
            1 => "1 check failed".to_owned(),
            several => format!("{several} checks failed"),
        }
    );
    Ok(if report.failed == 0 { Exit::Done } else { Exit::Failed })
}
