//! `run --role api`: serves the HTTP API.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use everytab_api::{ApiService, ApiSettings, problem_of_malformed};
use everytab_coordinator::Coordinator;
use everytab_fetcher::FetchSettings;
use everytab_operations::scan_start;
use everytab_storage::StoreSettings;
use everytab_webpage::address::Guard;
use tokio::sync::watch;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    http_server::{self, API_CONNECTIONS},
    serve::ReservedAddress,
};

/// Low, because a client waits for the response.
const STORE_ATTEMPTS: u32 = 2;

/// Options for the HTTP service.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The HTTP service (--role api)")]
pub struct ApiArgs {
    /// Address to listen on; port 0 takes any free port. Use a reverse proxy for TLS
    #[arg(
        long,
        env = "EVERYTAB_LISTEN",
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:8088"
    )]
    pub listen: SocketAddr,
    /// Store for the pages of API crawls (file:// or s3://)
    #[arg(long, env = "EVERYTAB_API_TO", value_name = "STORE")]
    pub to: Option<String>,
    /// Store to read pages from [default: the value of --to]
    #[arg(long, env = "EVERYTAB_API_FROM", value_name = "STORE")]
    pub from: Option<String>,
}

/// Converts the options to the service's settings.
///
/// # Errors
/// Returns an error if no store is given, or if a store's path is invalid.
pub(crate) fn settings(
    args: &ApiArgs,
    temporary: Option<PathBuf>,
    fetch: FetchSettings,
) -> Result<ApiSettings, CliError> {
    let store = scan_start::absolute(store(args)?.to_owned())?;
    let from = match &args.from {
        Some(from) => scan_start::absolute(from.clone())?,
        None => store.clone(),
    };
    let temporary = temporary.unwrap_or_else(std::env::temp_dir);
    Ok(ApiSettings { from, temporary, ..settings_for(&store, fetch) })
}

/// Returns the settings of a service that reads from the store it writes to.
pub(crate) fn settings_for(store: &str, fetch: FetchSettings) -> ApiSettings {
    let FetchSettings { user_agent, allow_ranges, deny_ranges, .. } = fetch;
    ApiSettings {
        store: store.to_owned(),
        from: store.to_owned(),
        stores: StoreSettings { max_attempts: STORE_ATTEMPTS, ..StoreSettings::default() },
        temporary: std::env::temp_dir(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        user_agent,
        guard: Guard { allow: allow_ranges, deny: deny_ranges, own: Vec::new() },
    }
}

/// Serves until `stop` turns true, then finishes the requests in progress. Calls `listening` once
/// clients can connect.
///
/// # Errors
/// Returns an error if the service cannot start or listen on the address, or if `listening` fails.
pub(crate) async fn serve(
    reserved: ReservedAddress,
    settings: ApiSettings,
    coordinator: Coordinator,
    mut stop: watch::Receiver<bool>,
    listening: impl FnOnce(SocketAddr) -> Result<(), CliError>,
) -> CliResult {
    let address = reserved.address();
    http_server::warn_if_public("the HTTP service", address);
    let router = ApiService::start(coordinator.clone(), settings, stop.clone())?;
    let listener = reserved.listen()?;
    tracing::info!(%address, "serving the HTTP service");
    listening(address)?;
    let stopped = async move {
        // The sender lives as long as the program.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let limits = API_CONNECTIONS.replacing_refusals(problem_of_malformed);
    http_server::serve(listener, router, limits, stopped).await;
    coordinator.close().await;
    tracing::info!("the HTTP service has stopped");
    Ok(Exit::Drained)
}

/// Returns the store for the keys' crawls.
///
/// # Errors
/// Returns an error if no store is given.
pub(crate) fn store(args: &ApiArgs) -> Result<&str, CliError> {
    let store = args.to.as_deref().filter(|store| !store.is_empty());
    store.ok_or_else(|| {
        CliError::usage("--role api needs --to, the store for the pages of the keys' crawls")
    })
}
