//! Reading the objects of a site that a takedown changes, and the headers to write them with.

use everytab_bundler::{
    Manifest, PublishedBundle,
    object_names::{cache_control, content_type},
};
use everytab_storage::{PutOptions, Store, Tagged};

use crate::cli_error::CliError;

/// The published manifest.
pub(super) fn manifest(site: &dyn Store, found: Option<&Tagged>) -> Result<Manifest, CliError> {
    let tagged = found.ok_or_else(|| {
        CliError::new(format!("there is no site at {}: no manifest.json; check --site", site.url()))
    })?;
    Manifest::read(&tagged.bytes)
        .map_err(|error| CliError::new(format!("the site at {}: {error}", site.url())))
}

/// A published bundle.
pub(super) async fn bundle(site: &dyn Store, key: &str) -> Result<PublishedBundle, CliError> {
    PublishedBundle::read(&site.get(key).await?)
        .map_err(|error| CliError::new(format!("{key}: it is no bundle: {error}")))
}

/// The headers that an object's name calls for.
pub(super) fn put_options(key: &str) -> PutOptions {
    PutOptions::new(content_type(key), cache_control(key))
}
