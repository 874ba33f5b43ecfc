//! `local --api`: a crawl service on this host, with a private Postgres, worker processes that
//! crawl, and the HTTP service in this process.

use std::{net::SocketAddr, path::Path};

use clap::{Args as _, Command, Id};
use everytab_api::ApiSettings;
use everytab_local::{LocalService, ServiceSample, WorkerProcesses};
use everytab_operations::{database, scan_start};
use everytab_storage::{StoreSettings, open};
use tokio::sync::watch;

use super::{args::LocalArgs, service_key};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        api,
        stdout::{self, StandardStreams},
        stop,
    },
    options::{FetchArgs, IdentityArgs, InternetOption},
    serve::ReservedAddress,
};

/// IDs of the options that a service reads, in addition to those for fetching and its identity.
const READ: [&str; 9] = [
    "api",
    "to",
    "dir",
    "workers",
    "sample",
    "sample_hosts",
    "sample_seed",
    "sample_mix",
    "sample_latency",
];
const KEY_FILE: &str = "key";
/// The example page without a small internet.
const EXAMPLE_PAGE: &str = "https://example.com/";

/// Serves until a signal stops the process.
///
/// # Errors
/// Returns an error if an option is invalid, if a part cannot be started, or if a part has exited.
pub(super) async fn run(args: &LocalArgs, address: SocketAddr) -> CliResult {
    check_options(args)?;
    if let Some(store) = &args.to {
        // Reject an invalid store before anything starts.
        open(&scan_start::absolute(store.clone())?, &StoreSettings::default())
            .await
            .map_err(|error| CliError::usage(format!("--to: {error}")))?;
    }
    let mut args = args.clone();
    if args.sample.is_some() {
        args.options.identity.internet = InternetOption::Small;
    }
    let fetch = &mut args.fetch;
    fetch.user_agent = args.options.identity.user_agent(fetch.user_agent.as_deref())?;
    fetch.fetcher(Vec::new())?;
    let reserved =
        ReservedAddress::new(address).map_err(|error| CliError::new(format!("--api: {error}")))?;
    args.warn_as_root();
    let processes = WorkerProcesses::default();
    let at_second_signal = processes.clone();
    let stop = stop::on_signal(move || at_second_signal.kill())?;
    // Workers end with the thread that starts them, so this must be the main thread.
    let service = LocalService::open(&args.dir)?;
    let served = serve(&args, &service, &processes, reserved, stop).await;
    let closed = service.close(&processes).await;
    served.and_then(|()| closed.map(|()| Exit::Drained))
}

fn check_options(args: &LocalArgs) -> Result<(), CliError> {
    let none = || Command::new("");
    let own = READ.into_iter().map(Id::from);
    let of = |command: Command| -> Vec<Id> {
        command.get_arguments().map(|argument| argument.get_id().clone()).collect()
    };
    let shared = [of(FetchArgs::augment_args(none())), of(IdentityArgs::augment_args(none()))];
    let read: Vec<Id> = own.chain(shared.concat()).collect();
    let unread = args.given.unread(&LocalArgs::augment_args(none()), &read);
    if unread.is_empty() {
        return Ok(());
    }
    let unread = unread.join(", ");
    Err(CliError::usage(format!(
        "--api does not start a scan, so these options have no effect: {unread}"
    )))
}

async fn serve(
    args: &LocalArgs,
    service: &LocalService,
    processes: &WorkerProcesses,
    reserved: ReservedAddress,
    mut stop: watch::Receiver<bool>,
) -> Result<(), CliError> {
    let store = match &args.to {
        Some(store) => scan_start::absolute(store.clone())?,
        None => scan_start::absolute(service.own_store().display().to_string())?,
    };
    service.prepare_store("--to", &store)?;
    let owner = service.prepare().await?;
    let sample = match args.sample_options() {
        Some(options) => Some(service.start_sample(&options).await?),
        None => None,
    };
    let key_file = args.dir.join(KEY_FILE);
    let (key, is_new) = service_key::find_or_make(&owner, &key_file, &args.fetch.ports).await?;
    owner.close().await;
    let worker = worker_arguments(args, sample.as_ref());
    service.start_workers(processes, args.workers, worker, &StandardStreams)?;
    let coordinator = database::connect(&service.api_url()).await?;
    let settings = ApiSettings {
        temporary: service.temporary(),
        ..api::settings_for(&store, args.fetch.settings()?)
    };
    let (end, ended) = watch::channel(false);
    let page = sample.as_ref().and_then(|sample| sample.page.as_deref());
    let said = |address| {
        let key = (is_new.then_some(key.as_str()), key_file.as_path());
        announce(address, key, page.unwrap_or(EXAMPLE_PAGE))
    };
    let serving = api::serve(reserved, settings, coordinator, ended, said);
    let watching = async {
        let watched = service.watch(processes, &mut stop).await;
        end.send_replace(true);
        watched
    };
    tokio::pin!(serving, watching);
    tokio::select! {
        // The service failed before it served.
        served = &mut serving => served.map(drop),
        watched = &mut watching => {
            let served = serving.await;
            watched.and(served.map(drop))
        }
    }
}

fn worker_arguments(args: &LocalArgs, sample: Option<&ServiceSample>) -> Vec<String> {
    let mut fetch = args.fetch.clone();
    if let Some(sample) = sample {
        fetch.use_network(sample.network.clone());
    }
    let internet = match args.options.identity.internet {
        InternetOption::Public => "public",
        InternetOption::Small => "small",
    };
    let mut arguments = fetch.arguments();
    arguments.extend(["--internet", internet].map(str::to_owned));
    arguments
}

fn announce(
    address: SocketAddr,
    (new_key, key_file): (Option<&str>, &Path),
    page: &str,
) -> Result<(), CliError> {
    let file = quoted(&key_file.display().to_string());
    stdout::line(format_args!("service  http://{address}/   (Ctrl-C ends)"))?;
    match new_key {
        Some(key) => stdout::line(format_args!("key      {key}   (kept in {file})"))?,
        None => stdout::line(format_args!("key      in {file}"))?,
    }
    let key = format!("-H \"Authorization: Bearer $(cat {file})\"");
    stdout::line(format_args!(
        "curl -sS 'http://{address}/v1/url?wait=60' {key} --json '{{\"url\": \"{page}\"}}'"
    ))?;
    stdout::line(format_args!(
        "curl -sS 'http://{address}/v1/crawled/html?as=markdown&url={page}' {key}"
    ))
}

fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+@,:".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_path_is_one_shell_word() {
        assert_eq!(quoted("./everytab-data/key"), "./everytab-data/key");
        assert_eq!(quoted("/my data/it's"), r"'/my data/it'\''s'");
    }
}
