//! The key for a crawl service on this host, in a file that only this user can read.
//!
//! The file is written before Postgres gets the key, so that no key is lost if the start is
//! interrupted.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{ErrorKind, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use everytab_api::{KEY_PREFIX, key_of_random, secret_sha256, split_key};
use everytab_coordinator::{ApiKey, Coordinator, NewApiKey};
use everytab_webpage::PortList;

use crate::{cli_error::CliError, commands::keys};

const NAME: &str = "local";
const MODE: u32 = 0o600;
/// High, because limits protect keys from each other and this is the only key.
const REQUESTS_PER_SECOND: f64 = 1_000.0;
const BURST: i32 = 10_000;
/// Minimum pause between two requests to a host.
const MIN_DELAY_MS: i32 = 250;

/// Returns the key in `file`. Otherwise creates one whose URLs may use `ports`, and returns it with
/// true.
///
/// # Errors
/// Returns an error if the file contains something else or cannot be written, or if Postgres
/// rejects the key.
pub(super) async fn find_or_make(
    owner: &Coordinator,
    file: &Path,
    ports: &PortList,
) -> Result<(String, bool), CliError> {
    let found = read(file)?;
    let known = owner.list_keys().await?;
    let of_file = |text: &str| {
        let id = split_key(text).map_or("", |(id, _)| id);
        known.iter().find(|key| key.key == id)
    };
    let (text, is_new) = match found {
        Some(text) => match of_file(&text) {
            Some(key) if key.revoked_at.is_none() => return Ok((text, false)),
            Some(_) => (make(file)?, true),
            // The database is new, or an earlier start was interrupted.
            None => (text, false),
        },
        None => (make(file)?, true),
    };
    revoke_lost(owner, &known, file).await?;
    add(owner, &text, ports).await?;
    Ok((text, is_new))
}

fn make(file: &Path) -> Result<String, CliError> {
    let (id, secret) = key_of_random(&keys::random()?);
    let text = format!("{KEY_PREFIX}{id}_{secret}");
    write(file, &text)?;
    Ok(text)
}

/// Revokes this service's previous key, because its file was lost.
async fn revoke_lost(owner: &Coordinator, known: &[ApiKey], file: &Path) -> Result<(), CliError> {
    let is_lost = |key: &&ApiKey| key.name == NAME && key.revoked_at.is_none();
    for key in known.iter().filter(is_lost) {
        owner.revoke_key(&key.key).await?;
        tracing::warn!(
            key = key.key, file = %file.display(),
            "the previous key of this file is revoked; only that key could read its crawls"
        );
    }
    Ok(())
}

async fn add(owner: &Coordinator, text: &str, ports: &PortList) -> Result<(), CliError> {
    let (id, secret) = split_key(text).unwrap_or_default();
    let key = NewApiKey {
        key: id.to_owned(),
        secret_sha256: secret_sha256(secret),
        name: NAME.to_owned(),
        requests_per_second: REQUESTS_PER_SECOND,
        burst: BURST,
        urls_a_day: None,
        pages_a_day: None,
        max_bytes: None,
        max_crawls: None,
        rate: None,
        min_delay_ms: MIN_DELAY_MS,
        ports: ports.as_slice().iter().copied().map(i32::from).collect(),
    };
    Ok(owner.add_key(&key).await?)
}

fn read(file: &Path) -> Result<Option<String>, CliError> {
    let about = |reason: &str| CliError::new(format!("{}: {reason}", file.display()));
    match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(about(&error.to_string())),
        Ok(text) if split_key(text.trim()).is_some() => {
            fs::set_permissions(file, Permissions::from_mode(MODE))
                .map_err(|error| about(&error.to_string()))?;
            Ok(Some(text.trim().to_owned()))
        }
        Ok(_) => Err(about("it does not contain a key; delete it, and a new key is created")),
    }
}

fn write(file: &Path, text: &str) -> Result<(), CliError> {
    let about = |error: std::io::Error| CliError::new(format!("{}: {error}", file.display()));
    let new = file.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(about(error)),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut written = options.write(true).create_new(true).mode(MODE).open(&new).map_err(about)?;
    written.write_all(format!("{text}\n").as_bytes()).map_err(about)?;
    written.sync_all().map_err(about)?;
    fs::rename(&new, file).map_err(about)
}
