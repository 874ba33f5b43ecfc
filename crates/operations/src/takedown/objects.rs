//! Reading the objects of a site that a takedown changes.

use everytab_bundler::{Manifest, PublishedBundle};
use everytab_storage::{Store, Tagged};

use crate::error::OperationError;

/// The published manifest.
pub(super) fn manifest(
    site: &dyn Store,
    found: Option<&Tagged>,
) -> Result<Manifest, OperationError> {
    let tagged = found.ok_or_else(|| {
        OperationError::new(format!(
            "there is no site at {}: no manifest.json; check --site",
            site.url()
        ))
    })?;
    Manifest::read(&tagged.bytes)
        .map_err(|error| OperationError::new(format!("the site at {}: {error}", site.url())))
}

/// A published bundle.
pub(super) async fn bundle(site: &dyn Store, key: &str) -> Result<PublishedBundle, OperationError> {
    PublishedBundle::read(&site.get(key).await?)
        .map_err(|error| OperationError::new(format!("{key}: it is no bundle: {error}")))
}
