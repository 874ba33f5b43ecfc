//! `signing-key`: manages the key by which sites recognise the robot's requests.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use everytab_bundler::object_names::KEY_DIRECTORY;
use everytab_fetcher::{RequestSigner, SigningKey};
use everytab_jobs::publish::publish_key;
use everytab_storage::{AwsSettings, StoreSettings, cdn};
use serde_json::json;
use url::{Position, Url};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::stdout,
    options::{parse_distribution, parse_site_url, read_signing_key},
};

/// Options for `signing-key`.
#[derive(Debug, Args)]
pub struct SigningKeyArgs {
    #[command(subcommand)]
    command: SigningKeyCommand,
}

#[derive(Debug, Subcommand)]
enum SigningKeyCommand {
    /// Create a key, in a file that only its owner can read
    New {
        /// File to create
        file: PathBuf,
    },
    /// Show the public part of a key
    Show {
        #[command(flatten)]
        key: KeyFileArgs,
    },
    /// Add a key to a site's key directory, and remove expired keys
    Publish(PublishKeyArgs),
}

#[derive(Debug, Args)]
struct KeyFileArgs {
    /// File with the key
    #[arg(long, env = "EVERYTAB_SIGNING_KEY", value_name = "FILE")]
    signing_key: PathBuf,
}

#[derive(Debug, Args)]
struct PublishKeyArgs {
    #[command(flatten)]
    key: KeyFileArgs,
    /// The published site (file:// or s3://)
    #[arg(long, env = "EVERYTAB_SITE")]
    site: String,
    /// Id of the CloudFront distribution to invalidate
    #[arg(long, env = "EVERYTAB_DISTRIBUTION", value_name = "ID",
          value_parser = parse_distribution)]
    distribution: Option<String>,
    /// URL of the site; prints the header fields that prove ownership of the key directory, for a
    /// server that can send them
    #[arg(long, env = "EVERYTAB_SITE_URL", value_name = "URL", value_parser = parse_site_url)]
    site_url: Option<String>,
}

/// Runs a subcommand, and prints one JSON object on stdout.
///
/// # Errors
/// Returns an error if a file cannot be read or created, or if the store fails.
pub async fn run(args: SigningKeyArgs) -> CliResult {
    let said = match args.command {
        SigningKeyCommand::New { file } => new(&file)?,
        SigningKeyCommand::Show { key } => json!({ "key_id": given(&key)?.key_id() }),
        SigningKeyCommand::Publish(args) => publish(args).await?,
    };
    stdout::line(said)?;
    Ok(Exit::Done)
}

fn given(args: &KeyFileArgs) -> Result<SigningKey, CliError> {
    let file = &args.signing_key;
    read_signing_key(file)?
        .ok_or_else(|| CliError::usage(format!("--signing-key {}: is empty", file.display())))
}

fn new(file: &Path) -> Result<serde_json::Value, CliError> {
    let (key, pem) = SigningKey::generate()?;
    // Never overwrite a key, because it may be in use.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    made.and_then(|mut made| made.write_all(pem.as_bytes()).and_then(|()| made.sync_all()))
        .map_err(|error| {
            CliError::new(format!(
                "cannot create {}: {error}; choose a file name that does not exist yet",
                file.display()
            ))
        })?;
    Ok(json!({ "key_id": key.key_id(), "file": file }))
}

async fn publish(args: PublishKeyArgs) -> Result<serde_json::Value, CliError> {
    let key = given(&args.key)?;
    let site = everytab_storage::open(&args.site, &StoreSettings::default()).await?;
    let directory = publish_key(&*site, &key).await?;
    if let Some(distribution) = &args.distribution {
        let paths = [format!("/{KEY_DIRECTORY}")];
        let reference = format!("{}-{}", key.key_id(), directory.len());
        cdn::invalidate(distribution, &paths, &reference, &AwsSettings::default()).await?;
    }
    let key_id = key.key_id().to_owned();
    let mut said =
        json!({ "key_id": key_id, "directory": format!("{}/{KEY_DIRECTORY}", args.site) });
    if let Some(site_url) = args.site_url {
        let url = Url::parse(&site_url)?;
        let signer = RequestSigner::new(key.into(), &site_url)
            .map_err(|error| CliError::usage(format!("--site-url {error}")))?;
        let authority = &url[Position::BeforeHost..Position::AfterPort];
        let headers = signer.directory_headers(authority, &directory);
        said["headers"] = headers.into_iter().map(|(name, value)| (name, json!(value))).collect();
    }
    Ok(said)
}
