//! Writes a site's files below `.well-known/`: the keys that sign our requests, and the contact.

use std::future::ready;

use bytes::Bytes;
use chrono::{Days, SecondsFormat, Utc};
use everytab_bundler::{
    key_directory,
    object_names::{KEY_DIRECTORY, SECURITY_TXT},
    security_txt::security_txt,
};
use everytab_fetcher::SigningKey;
use everytab_job_result::JobError;
use everytab_storage::{ObjectChange, StorageError, Store, Tagged};

use crate::{
    scan_settings::ScanSettings,
    site_objects::{put_object, put_options},
};

/// Validity of a published security.txt in days. RFC 9116 recommends less than a year.
const SECURITY_TXT_DAYS: u64 = 180;

/// Adds a public key to a site's key directory and removes expired ones. Returns the directory.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn publish_key(site: &dyn Store, key: &SigningKey) -> Result<Bytes, StorageError> {
    let options = put_options(KEY_DIRECTORY);
    let now = u64::try_from(Utc::now().timestamp()).unwrap_or_default();
    let change = |before: Option<Tagged>| {
        let before = before.as_ref().map(|tagged| &tagged.bytes[..]);
        let bytes = key_directory::with_key(before, key.key_id(), key.public_key(), now);
        let bytes = Bytes::from(bytes);
        ready(Ok::<_, StorageError>(ObjectChange::Write(bytes.clone(), bytes)))
    };
    site.update(KEY_DIRECTORY, options, change).await
}

pub(super) async fn publish(
    site: &dyn Store,
    settings: &ScanSettings,
    key: Option<&SigningKey>,
) -> Result<(), JobError> {
    if let Some(key) = key {
        publish_key(site, key).await?;
    }
    if let Some(contact) = &settings.contact {
        let expires = Utc::now() + Days::new(SECURITY_TXT_DAYS);
        let expires = expires.to_rfc3339_opts(SecondsFormat::Secs, true);
        let text = security_txt(contact, settings.site_url.as_deref(), &expires);
        put_object(site, SECURITY_TXT, text).await?;
    }
    Ok(())
}
