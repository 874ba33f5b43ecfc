//! Checks whether a site shows a scan.

use everytab_bundler::{Manifest, object_names::MANIFEST};
use everytab_console::OperationError;
use everytab_storage::StoreSettings;

/// Returns true if a site has a manifest that the page can read.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn shows_a_scan(site: &str) -> Result<bool, OperationError> {
    let store = everytab_storage::open(site, &StoreSettings::default()).await?;
    let manifest = store.get_tagged(MANIFEST).await?;
    Ok(manifest.is_some_and(|tagged| Manifest::read(&tagged.bytes).is_ok()))
}
