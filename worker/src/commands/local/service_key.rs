//! The key for a crawl service on this host, in a file in its directory.
//!
//! Invariants: only this user can access the file. The file is written before Postgres gets the
//! key, so that after an interrupted start Postgres has no key that is not in the file. This does
//! not depend on where the directory is.

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

/// The key's name in `keys list`.
const NAME: &str = "local";
/// File mode: only the owner may read it.
const MODE: u32 = 0o600;
/// Requests per second. This is high, because limits protect keys from each other, and this key's
/// owner also owns the host.
const REQUESTS_PER_SECOND: f64 = 1_000.0;
/// Requests in a burst. This is high for the same reason.
const BURST: i32 = 10_000;
/// Minimum pause between two requests to a host, as for every key.
const MIN_DELAY_MS: i32 = 250;

/// Returns the key in `file` if it is valid. Otherwise creates one that may name `ports`, and
/// returns it with true.
///
/// # Errors
/// Returns an error if the file contains something else or cannot be written, or Postgres rejects
/// the key.
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
            // A revoked key remains revoked.
            Some(_) => (make(file)?, true),
            // The database is new, or an interrupted start wrote the file.
            None => (text, false),
        },
        None => (make(file)?, true),
    };
    revoke_lost(owner, &known, file).await?;
    add(owner, &text, ports).await?;
    Ok((text, is_new))
}

/// Creates a key, and writes it to the file.
fn make(file: &Path) -> Result<String, CliError> {
    let (id, secret) = key_of_random(&keys::random()?);
    let text = format!("{KEY_PREFIX}{id}_{secret}");
    write(file, &text)?;
    Ok(text)
}

/// Revokes this service's previous key, whose file is lost.
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

/// Returns the key in a file. `None` if there is no file.
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
        Ok(_) => Err(about("it is not a key; delete it, and a new one is made")),
    }
}

/// Writes the whole file atomically, readable only for this user.
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
