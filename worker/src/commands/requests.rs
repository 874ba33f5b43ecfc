//! `scan requests`: shows the requests that a scan sent to a host.

use clap::Args;
use everytab_operations::requests;

use crate::{
    cli_error::{CliResult, Exit},
    commands::{
        one_scan::OneScan,
        stdout::{self, StandardStreams},
    },
};

/// Options for `scan requests`.
#[derive(Debug, Args)]
pub struct RequestsArgs {
    #[command(flatten)]
    scan: OneScan,
    /// Host that received the requests, such as www.example.com
    host: String,
    /// Print one JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

/// Prints the requests to a host.
///
/// # Errors
/// Returns an error if the database or the archive cannot be read.
pub async fn run(args: RequestsArgs) -> CliResult {
    let RequestsArgs { scan, host, json } = args;
    let (coordinator, number) = scan.find().await?;
    let found = requests::of_host(&coordinator, number, &host).await?;
    if json {
        stdout::line(serde_json::to_string(&found)?)?;
    } else {
        found.tell(&StandardStreams)?;
    }
    Ok(Exit::Done)
}
