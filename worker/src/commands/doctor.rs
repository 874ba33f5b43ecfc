//! `doctor`: checks a run's requirements.

use std::path::PathBuf;

use clap::Args;
use everytab_icon::test_vectors::encoder_digest_hex;
use everytab_operations::doctor::{self, Check, FleetSize, RoleNeeds, StoreOptions};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{run::check_combination, stdout},
    options::{DatabaseArgs, FetchArgs, Role},
};

/// Options for `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Check only the requirements of a process with these roles, including its database role and
    /// keys [default: the requirements of an operator]
    #[arg(long = "role", env = "EVERYTAB_ROLE", value_enum, value_delimiter = ',')]
    roles: Vec<Role>,
    /// The crawl's bucket [default: that of the newest scan]
    #[arg(long, env = "EVERYTAB_SOURCE")]
    source: Option<String>,
    /// Read an S3 bucket without credentials
    #[arg(long, env = "EVERYTAB_SOURCE_IS_PUBLIC")]
    public: bool,
    /// The crawl that must be in the bucket [default: that of the newest scan, or the latest]
    #[arg(long, env = "EVERYTAB_CRAWL")]
    crawl: Option<String>,
    /// Store of the icon archive [default: that of the newest scan]
    #[arg(long, env = "EVERYTAB_ARCHIVE")]
    archive: Option<String>,
    /// Store of the published site [default: that of the newest scan]
    #[arg(long, env = "EVERYTAB_SITE")]
    site: Option<String>,
    /// Private prefix for takedowns
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// Hostname to resolve
    #[arg(long, env = "EVERYTAB_LOOK_UP", default_value = "example.com", value_name = "HOST")]
    look_up: String,
    /// Directory for temporary files [default: the system's]
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
    /// Also check the requirements of `local` if a database is given
    #[arg(long, env = "EVERYTAB_LOCAL")]
    local: bool,
    /// Print one JSON object per line
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    fetch: FetchArgs,
}

/// The fleet that terraform is going to start.
#[derive(Debug, Args)]
#[command(next_help_heading = "The account of AWS")]
struct AccountArgs {
    /// Show the AWS account of the credentials, and check that its quotas suffice for the workers
    #[arg(long, env = "EVERYTAB_AWS")]
    aws: bool,
    /// Number of workers
    #[arg(long, env = "EVERYTAB_WORKERS", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    workers: u64,
    /// Number of workers on on-demand instead of spot instances
    #[arg(long, env = "EVERYTAB_ON_DEMAND", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(0..=100_000))]
    on_demand: u64,
    /// Instance type of the workers
    #[arg(long, env = "EVERYTAB_INSTANCE", default_value = "c7g.large", value_name = "TYPE")]
    instance: String,
}

struct Report {
    as_json: bool,
    failed: usize,
}

impl Report {
    fn add(&mut self, check: &Check) -> Result<(), CliError> {
        self.failed += usize::from(!check.ok);
        if self.as_json {
            stdout::line(serde_json::to_string(check)?)
        } else {
            stdout::line(check.text())
        }
    }

    fn extend(&mut self, checks: impl IntoIterator<Item = Check>) -> Result<(), CliError> {
        checks.into_iter().try_for_each(|check| self.add(&check))
    }
}

/// Runs and prints all checks that the options select, and returns exit code 1 if one fails.
///
/// # Errors
/// Returns an error if an option is invalid, or if stdout cannot be written.
pub async fn run(args: DoctorArgs) -> CliResult {
    let mut report = Report { as_json: args.json, failed: 0 };
    let temporary = args.temporary.unwrap_or_else(std::env::temp_dir);
    check_combination(&args.roles)?;
    let needs = needs(&args.roles);
    let needs = needs.as_ref();
    report.add(&Check::ok("encoder", encoder_digest_hex()))?;
    if needs.is_none_or(RoleNeeds::fetches) {
        report.extend(doctor::capacities(args.fetch.in_flight))?;
    }
    report.add(&doctor::temporary(&temporary))?;
    if needs.is_none_or(RoleNeeds::decodes) {
        report.add(&doctor::decoders())?;
    }
    args.fetch.warn();
    let fetch = args.fetch.settings()?;
    let user_agent = fetch.user_agent.clone();
    if needs.is_none_or(RoleNeeds::fetches) {
        report.extend(doctor::resolver(fetch, &args.look_up).await)?;
    }
    let url = args.database.database_url.as_deref().filter(|url| !url.is_empty());
    let mut newest = None;
    match url {
        Some(url) => {
            let (checks, scan) = doctor::database(url, needs).await;
            report.extend(checks)?;
            if needs.is_none_or(RoleNeeds::crawls) {
                report.extend(doctor::crawls(url, &user_agent, needs).await)?;
            }
            newest = scan;
        }
        None => report
            .add(&Check::ok("database", "no database URL given; only `local` runs without one"))?,
    }
    if url.is_none() || args.local {
        report.add(&private_server(&temporary).await)?;
    }
    let options = StoreOptions {
        source: args.source,
        is_public: args.public,
        crawl: args.crawl,
        archive: args.archive,
        site: args.site,
        private: args.private,
    };
    report.extend(doctor::stores(&options, newest.as_ref(), needs).await)?;
    if args.account.aws {
        let AccountArgs { workers, on_demand, instance, .. } = args.account;
        report.extend(doctor::account(&FleetSize { workers, on_demand, instance }).await)?;
    }
    eprintln!(
        "{}",
        match report.failed {
            0 => "all checks passed".to_owned(),
            1 => "1 check failed".to_owned(),
            several => format!("{several} checks failed"),
        }
    );
    Ok(if report.failed == 0 { Exit::Done } else { Exit::Failed })
}

fn needs(roles: &[Role]) -> Option<RoleNeeds> {
    (!roles.is_empty()).then(|| RoleNeeds {
        kinds: Role::kinds(roles),
        is_crawler: roles.contains(&Role::Crawl),
        is_api: roles.contains(&Role::Api),
    })
}

#[cfg(feature = "local")]
async fn private_server(temporary: &std::path::Path) -> Check {
    everytab_local::check_private_server(temporary).await
}

#[cfg(not(feature = "local"))]
async fn private_server(_temporary: &std::path::Path) -> Check {
    Check::ok("private server", "not part of this package; everytab-local includes it")
}
