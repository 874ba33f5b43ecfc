//! `serve`: serves a published site from a local directory.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use crate::{
    cli_error::{CliResult, Exit},
    commands::{stdout, stop},
    serve::serve,
};

/// Options for `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Directory of the site, as given by the scan's --site
    #[arg(env = "EVERYTAB_SERVE_DIR")]
    dir: PathBuf,
    /// Address to listen on; port 0 takes any free port
    #[arg(long, env = "EVERYTAB_ADDR", default_value = "127.0.0.1:8080")]
    addr: SocketAddr,
}

/// Serves until a signal stops the process. Prints the site's URL once clients can connect.
///
/// # Errors
/// Returns an error if the directory cannot be read, or if the address is in use.
pub async fn run(args: ServeArgs) -> CliResult {
    let mut stop = stop::on_signal(|| {})?;
    let shutdown = async move {
        // The sender lives as long as the process.
        drop(stop.wait_for(|stop| *stop).await);
    };
    let serving = serve(args.dir, args.addr, shutdown).await?;
    stdout::line(format_args!("http://{}/", serving.address))?;
    serving.finished.await?;
    Ok(Exit::Done)
}
