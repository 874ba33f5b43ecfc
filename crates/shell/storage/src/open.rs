//! Opens stores by URL, and defines which URL forms are accepted.

use std::{path::PathBuf, sync::Arc};

use url::Url;

use crate::{
    directory::Directory,
    error::{StorageError, invalid_setting},
    settings::StoreSettings,
    store::Store,
};

/// Opens the store at `file:///path`, a path without a scheme, `s3://bucket/prefix`, or (read-only)
/// `https://...` or `http://...`. This creates nothing and sends no requests, except that the AWS
/// SDK may look up a region.
///
/// # Errors
/// Returns an error if the URL has any other form, or if the program was built without the Cargo
/// feature for its scheme (`s3` or `https`).
pub async fn open(url: &str, settings: &StoreSettings) -> Result<Arc<dyn Store>, StorageError> {
    let Some((scheme, _)) = url.split_once("://") else {
        if url.is_empty() {
            return Err(invalid_setting(url, "it is empty; give a path or a URL"));
        }
        return Ok(Arc::new(Directory::open(PathBuf::from(url), settings)?));
    };
    let parsed = Url::parse(url).map_err(|error| invalid_setting(&without_secrets(url), error))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(invalid_setting(
            &without_secrets(url),
            "it has a user name or password in it; remove them, and set AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY for S3",
        ));
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(invalid_setting(
            &without_secrets(url),
            "it has a query or fragment; give only the scheme, host and path",
        ));
    }
    match scheme.to_ascii_lowercase().as_str() {
        "file" => {
            let path = parsed.to_file_path().map_err(|()| {
                invalid_setting(url, "it names a host; write file:///path with three slashes")
            })?;
            Ok(Arc::new(Directory::open(path, settings)?))
        }
        "s3" => open_s3(&parsed, settings).await,
        "https" | "http" => open_https(parsed, settings),
        _ => Err(invalid_setting(
            url,
            "the scheme is unknown; use file://, s3://, https:// or a path",
        )),
    }
}

#[cfg(feature = "s3")]
async fn open_s3(url: &Url, settings: &StoreSettings) -> Result<Arc<dyn Store>, StorageError> {
    Ok(Arc::new(crate::s3::S3Store::open(url, settings).await?))
}

#[cfg(not(feature = "s3"))]
async fn open_s3(url: &Url, _: &StoreSettings) -> Result<Arc<dyn Store>, StorageError> {
    Err(invalid_setting(
        url.as_str(),
        "this program is built without S3; build it with the feature `s3`",
    ))
}

#[cfg(feature = "https")]
fn open_https(url: Url, settings: &StoreSettings) -> Result<Arc<dyn Store>, StorageError> {
    Ok(Arc::new(crate::https::HttpsStore::open(url, settings)?))
}

#[cfg(not(feature = "https"))]
fn open_https(url: Url, _: &StoreSettings) -> Result<Arc<dyn Store>, StorageError> {
    let cause = "this program is built without HTTPS stores; build it with the feature `https`";
    Err(invalid_setting(url.as_str(), cause))
}

/// Redacts everything between `://` and the last `@`, which may contain a password, and everything
/// after a `?` or `#`, which may contain a signature.
fn without_secrets(url: &str) -> String {
    let masked = match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://***@{rest}"),
        _ => url.to_owned(),
    };
    match masked.split_once(['?', '#']) {
        Some((path, _)) => format!("{path}?***"),
        None => masked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_invalid_url_is_rejected_without_its_secrets() {
        for (url, cause) in [
            ("", "it is empty"),
            ("ftp://h/x", "the scheme is unknown"),
            ("s3://key:secret@bucket", "user name or password"),
            ("https://h/?q=secret", "query or fragment"),
            ("https://h/#secret", "query or fragment"),
            ("file://host/x", "three slashes"),
        ] {
            let error = open(url, &StoreSettings::default()).await.unwrap_err().to_string();
            assert!(error.contains(cause) && !error.contains("secret"), "{error}");
        }
    }

    #[cfg(not(all(feature = "s3", feature = "https")))]
    #[tokio::test]
    async fn a_store_without_its_feature_is_rejected_with_the_features_name() {
        for (url, feature, is_there) in [
            ("s3://bucket", "feature `s3`", cfg!(feature = "s3")),
            ("https://h.example/", "feature `https`", cfg!(feature = "https")),
        ] {
            let opened = open(url, &StoreSettings::default()).await;
            let error = opened.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(is_there || error.contains(feature), "{error}");
        }
    }
}
