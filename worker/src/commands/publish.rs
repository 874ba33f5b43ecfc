//! `publish`: publishes a scan's site again, for example an older scan's.

use std::path::PathBuf;

use clap::Args;
use everytab_bundler::request_files::MAX_BYTES;
use everytab_fetcher::{FetchSettings, Fetcher, Heartbeat};
use everytab_jobs::{
    Context,
    publish::{PublishRequest, publish_site},
};
use everytab_operations::{
    database::scan_number,
    request_log::{RequestLogOptions, RequestLogSize, publish_request_log},
};
use everytab_storage::StoreSettings;
use uuid::Uuid;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        database,
        stdout::{self, StandardStreams},
    },
    options::DatabaseArgs,
};

/// Options for `publish`.
#[derive(Debug, Args)]
pub struct PublishArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The scan's id [default: the newest scan]
    #[arg(long, env = "EVERYTAB_SCAN")]
    scan: Option<Uuid>,
    /// User-Agent of the fleet's robot, shown on the page about the robot
    #[arg(long, env = "EVERYTAB_USER_AGENT")]
    user_agent: Option<String>,
    /// Private prefix with the blocklist.txt of takedowns [default: the scan's --private]
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// Publish even if this replaces the site of a later scan or a site with an unreadable
    /// manifest, if the site would lose more than the scan's --max-loss, or if the scan has not
    /// finished
    #[arg(long, env = "EVERYTAB_FORCE")]
    force: bool,
    /// Also write public files that list, for each host, the requests that the scan sent to it
    #[arg(long, env = "EVERYTAB_REQUEST_LOG")]
    request_log: bool,
    /// Directory for the temporary files of --request-log
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
}

/// Publishes the site, and prints its manifest on stdout.
///
/// # Errors
/// Returns an error if the scan is not ready, if the site shows a later scan or would lose too
/// much, or if a store fails.
pub async fn run(args: PublishArgs) -> CliResult {
    let coordinator = database::connect(&args.database).await?;
    let number = scan_number(&coordinator, args.scan).await?;
    let request = PublishRequest::load(&coordinator, number, args.private, args.force).await?;
    let state = request.status.state;
    let scan = request.info.scan_id;
    if request.info.shards.is_none() {
        return Err(CliError::new(format!(
            "scan {scan} is {state} and its hosts are not counted yet: there is nothing to publish"
        )));
    }
    if !state.is_publishable() && !args.force {
        return Err(CliError::new(format!(
            "scan {scan} is {state}; it publishes itself when it finishes. --force publishes the \
             finished part"
        )));
    }
    let manifest =
        publish_site(&storage_only(args.user_agent)?, &request, &Heartbeat::default()).await?;
    eprintln!("{} now shows scan {scan}: {} tabs", request.settings.site, manifest.hosts);
    stdout::line(serde_json::to_string(&manifest)?)?;
    if args.request_log {
        let options = RequestLogOptions {
            temporary: args.temporary.unwrap_or_else(std::env::temp_dir),
            private: request.settings.private.clone(),
            max_bytes: MAX_BYTES,
        };
        let written =
            publish_request_log(&coordinator, number, &request, &options, &StandardStreams).await?;
        let RequestLogSize { requests, files, bytes } = written;
        eprintln!("request log: {requests} requests in {files} files of {bytes} bytes");
    }
    Ok(Exit::Done)
}

/// Returns a context for code that uses only its stores. Any resolver address is valid, because the
/// fetcher sends no requests.
fn storage_only(user_agent: Option<String>) -> Result<Context, CliError> {
    let mut settings =
        FetchSettings { dns: Some(([127, 0, 0, 1], 53).into()), ..Default::default() };
    settings.user_agent = user_agent.unwrap_or(settings.user_agent);
    let fetcher = Fetcher::new(settings)?;
    Ok(Context::new(StoreSettings::default(), fetcher, std::env::temp_dir()))
}
