//! `keys`: manages the HTTP service's keys and their limits.

use std::{fs::File, io::Read as _};

use clap::{Args, Subcommand};
use everytab_api::{KEY_PREFIX, KEY_RANDOM_BYTES, key_of_random, secret_sha256, split_key};
use everytab_coordinator::{ApiKey, NewApiKey, WebhookState};
use everytab_webpage::PortList;
use serde_json::json;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stdout},
    options::{Bytes, DatabaseArgs, parse_bytes, parse_time},
};

/// Options for `keys`.
#[derive(Debug, Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Create a key and print it. The key cannot be shown again, because only its digest is stored
    Add(AddArgs),
    /// List all keys with their limits and usage, oldest first
    List {
        #[command(flatten)]
        database: DatabaseArgs,
        /// Print one JSON object per line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
    /// List the webhooks of all keys, oldest first, with pending deliveries and why a webhook is
    /// disabled
    Webhooks {
        #[command(flatten)]
        database: DatabaseArgs,
        /// Only webhooks of the key with this id
        #[arg(value_name = "ID")]
        key: Option<String>,
        /// Print one JSON object per line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
    /// Revoke a key: reject its requests, pause its crawls and disable its webhooks
    Revoke {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The key's id, as `keys list` shows it
        #[arg(value_name = "ID")]
        key: String,
    },
}

#[derive(Debug, Args)]
struct AddArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Name of the key's owner, shown by `keys list`
    #[arg(value_name = "NAME")]
    name: String,
    /// Maximum sustained rate of API requests, per second
    #[arg(
        long,
        env = "EVERYTAB_KEY_REQUESTS_PER_SECOND",
        value_name = "N",
        default_value_t = 10.0
    )]
    requests_per_second: f64,
    /// Maximum number of API requests in a burst
    #[arg(long, env = "EVERYTAB_KEY_BURST", value_name = "N", default_value_t = 200)]
    burst: i32,
    /// Maximum number of URLs that the key may submit per day (UTC) [default: no limit]
    #[arg(long, env = "EVERYTAB_KEY_URLS_A_DAY", value_name = "N")]
    urls_a_day: Option<i64>,
    /// Maximum number of pages that the key's crawls may capture per day (UTC) [default: no limit]
    #[arg(long, env = "EVERYTAB_KEY_PAGES_A_DAY", value_name = "N")]
    pages_a_day: Option<i64>,
    /// Maximum number of bytes that the key's crawls may store [default: no limit]
    #[arg(long, env = "EVERYTAB_KEY_MAX_BYTES", value_name = "BYTES", value_parser = parse_bytes)]
    max_bytes: Option<Bytes>,
    /// Maximum number of open crawls, not counting crawls of single URLs [default: no limit]
    #[arg(long, env = "EVERYTAB_KEY_CRAWLS", value_name = "N")]
    crawls: Option<i32>,
    /// Maximum requests per second of all the key's crawls together [default: no limit]
    #[arg(long, env = "EVERYTAB_KEY_RATE", value_name = "N")]
    rate: Option<i32>,
    /// Minimum pause between two requests to a host
    #[arg(long, env = "EVERYTAB_KEY_MIN_DELAY", value_name = "DURATION", default_value = "250ms",
          value_parser = parse_time)]
    min_delay: std::time::Duration,
    /// Ports that the key's URLs may use; a worker fetches only those that are also in its --ports
    #[arg(long, env = "EVERYTAB_KEY_PORTS", value_name = "PORT,...", default_value_t)]
    ports: PortList,
    /// Print one JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

/// Creates, lists or revokes keys, or lists webhooks.
///
/// # Errors
/// Returns an error if a value is invalid, if there is no such key, or if the database fails.
pub async fn run(args: KeysArgs) -> CliResult {
    match args.command {
        KeysCommand::Add(args) => add(args).await,
        KeysCommand::List { database, json } => list(&database, json).await,
        KeysCommand::Webhooks { database, key, json } => {
            webhooks(&database, key.as_deref(), json).await
        }
        KeysCommand::Revoke { database, key } => revoke(&database, &key).await,
    }
}

async fn add(args: AddArgs) -> CliResult {
    if args.name.trim().is_empty() {
        return Err(CliError::usage("the name is empty; give the name of the key's owner"));
    }
    let (id, secret) = key_of_random(&random()?);
    let key = NewApiKey {
        key: id.clone(),
        secret_sha256: secret_sha256(&secret),
        name: args.name,
        requests_per_second: args.requests_per_second,
        burst: args.burst,
        urls_a_day: args.urls_a_day,
        pages_a_day: args.pages_a_day,
        max_bytes: args.max_bytes.map(|bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX)),
        max_crawls: args.crawls,
        rate: args.rate,
        min_delay_ms: i32::try_from(args.min_delay.as_millis()).unwrap_or(i32::MAX),
        ports: args.ports.as_slice().iter().copied().map(i32::from).collect(),
    };
    database::connect(&args.database).await?.add_key(&key).await?;
    let text = format!("{KEY_PREFIX}{id}_{secret}");
    if args.json {
        stdout::line(json!({ "id": id, "name": key.name, "key": text }))?;
    } else {
        stdout::line(text)?;
    }
    eprintln!("key {id}: save the key now; it cannot be shown again");
    Ok(Exit::Done)
}

pub(crate) fn random() -> Result<[u8; KEY_RANDOM_BYTES], CliError> {
    let mut bytes = [0; KEY_RANDOM_BYTES];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| CliError::new(format!("/dev/urandom: {error}")))?;
    Ok(bytes)
}

async fn list(args: &DatabaseArgs, as_json: bool) -> CliResult {
    for key in database::connect(args).await?.list_keys().await? {
        if as_json {
            stdout::line(serde_json::to_string(&key)?)?;
        } else {
            let state = if key.revoked_at.is_some() { "revoked" } else { "valid" };
            stdout::parts(&[&key.key, &format!("{state:<7}"), &key.name, &use_of(&key)])?;
        }
    }
    Ok(Exit::Done)
}

async fn webhooks(args: &DatabaseArgs, key: Option<&str>, as_json: bool) -> CliResult {
    for webhook in database::connect(args).await?.list_webhooks(key).await? {
        if as_json {
            stdout::line(serde_json::to_string(&webhook)?)?;
        } else {
            let id = webhook.id.to_string();
            let state = state_of(&webhook);
            stdout::parts(&[&id, &webhook.key, &webhook.url, &state])?;
        }
    }
    Ok(Exit::Done)
}

fn state_of(webhook: &WebhookState) -> String {
    let WebhookState { sent, pending, dropped, failures, .. } = webhook;
    let counts = format!("{sent} sent, {pending} waiting, {dropped} dropped");
    match (&webhook.disabled_because, &webhook.last_outcome) {
        (Some(why), _) => format!("disabled ({why}): {counts}"),
        (None, Some(outcome)) if *failures > 0 => {
            format!("failing ({failures} times, {outcome}): {counts}")
        }
        (None, _) => format!("enabled: {counts}"),
    }
}

fn use_of(key: &ApiKey) -> String {
    let of = |used: i64, limit: Option<i64>| match limit {
        Some(limit) => format!("{used} of {limit}"),
        None => used.to_string(),
    };
    format!(
        "{} requests/s, {} URLs and {} pages today, {} bytes, {} crawls open",
        key.requests_per_second,
        of(key.urls_today, key.urls_a_day),
        of(key.pages_today, key.pages_a_day),
        of(key.bytes_kept, key.max_bytes),
        of(key.open_crawls.into(), key.max_crawls.map(i64::from)),
    )
}

async fn revoke(args: &DatabaseArgs, key: &str) -> CliResult {
    // Accept a whole key, too.
    let id = split_key(key).map_or(key, |(id, _)| id);
    if !database::connect(args).await?.revoke_key(id).await? {
        return Err(CliError::new(format!(
            "there is no valid key {id:?}; `everytab-worker keys list` shows all"
        )));
    }
    stdout::line("revoked")?;
    Ok(Exit::Done)
}
