//! `doctor`: whether this machine has what a run needs, a line a check, and what to do if not.
//!
//! Invariant: a check tries the real thing (a look-up, a write, a server) and leaves nothing
//! behind; every failure says what to change. Must not know: how any of it is used later.

mod database;
mod machine;
mod stores;

use std::path::PathBuf;

use clap::Args;
use everytab_icon::test_vectors::encoder_digest_hex;
use serde::Serialize;

use crate::{
    commands::stdout,
    config::{DatabaseArgs, FetchArgs},
    failure::{Exit, Failure, Outcome},
    scan_settings::ScanSettings,
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

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    check: &'static str,
    ok: bool,
    /// What was found, in one line.
    found: String,
    /// What to do, where something is wrong.
    remedy: Option<String>,
}

impl Check {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, ok: true, found: found.into(), remedy: None }
    }

    fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, ok: false, found: found.into(), remedy: Some(remedy.into()) }
    }

    fn text(&self) -> String {
        let verdict = if self.ok { "ok  " } else { "FAIL" };
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{verdict}  {:<16} {}{remedy}", self.check, self.found)
    }
}

/// Prints checks as they end, and remembers whether one failed.
struct Report {
    as_json: bool,
    failed: usize,
}

impl Report {
    fn add(&mut self, check: &Check) -> Result<(), Failure> {
        self.failed += usize::from(!check.ok);
        if self.as_json {
            stdout::line(serde_json::to_string(check)?)
        } else {
            stdout::line(check.text())
        }
    }

    fn extend(&mut self, checks: impl IntoIterator<Item = Check>) -> Result<(), Failure> {
        checks.into_iter().try_for_each(|check| self.add(&check))
    }
}

/// What the newest scan says of where things lie.
struct NewestScan {
    crawl: String,
    settings: ScanSettings,
}

/// Checks everything that the options name, and goes on after a failure.
///
/// # Errors
/// When stdout cannot be written. What is wrong is a line, and exit code 1.
pub async fn run(args: DoctorArgs) -> Outcome {
    let mut report = Report { as_json: args.json, failed: 0 };
    report.add(&Check::ok("encoder", encoder_digest_hex()))?;
    report.extend(machine::rooms(args.fetch.in_flight))?;
    report.add(&machine::temporary(args.temporary.clone()))?;
    report.extend(machine::resolver(&args.fetch, &args.look_up).await)?;
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
        report.add(&machine::private_postgres(args.temporary.clone()).await)?;
    }
    report.extend(stores::check(&args, newest.as_ref()).await)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_says_what_to_do_on_its_line() {
        let failed = Check::fail("open files", "the limit is 64", "raise it with ulimit -n");
        assert_eq!(
            failed.text(),
            "FAIL  open files       the limit is 64; raise it with ulimit -n"
        );
        assert_eq!(Check::ok("encoder", "ab").text(), "ok    encoder          ab");
        let json = serde_json::to_string(&failed).unwrap();
        assert!(json.starts_with(r#"{"check":"open files","ok":false,"found":"#), "{json}");
    }
}
