//! A store in a directory. Each object is a file, and the object's key is the file's path below the
//! root.
//!
//! A file appears under its key only when it is complete (`staging`). No key and no symbolic link
//! leads outside the root. Every change of a key holds the key's lock, so that a conditional write
//! is atomic among all writers that use this crate, in any process.

mod commit;
mod io_error;
mod read;
mod root;
mod staging;
mod walk;

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use commit::NewContent;
use futures_util::stream::BoxStream;
use root::Root;

use crate::{
    error::{StorageError, StorageErrorKind},
    key::{check_key, check_prefix},
    settings::StoreSettings,
    store::{Condition, ObjectInfo, PutIf, PutOptions, Store, Tagged, none_if_missing},
};

#[derive(Debug)]
pub(crate) struct Directory {
    root: Arc<Root>,
    url: String,
}

impl Directory {
    /// Removes the unfinished files of writers that were killed.
    pub(crate) fn open(path: PathBuf, settings: &StoreSettings) -> Result<Self, StorageError> {
        let absolute =
            std::path::absolute(&path).map_err(|error| io_error::from_io("open", &path, &error))?;
        if absolute.exists() && !absolute.is_dir() {
            return Err(StorageError::new(
                StorageErrorKind::Invalid,
                "open",
                absolute.display().to_string(),
                "it is not a directory; name another one",
            ));
        }
        staging::clean(&absolute);
        let root = Root {
            path: absolute,
            max_get_bytes: settings.max_get_bytes,
            durable: settings.durable,
        };
        Ok(Self { url: format!("file://{}", root.path.display()), root: Arc::new(root) })
    }

    /// Work that has started completes even if the caller stops waiting, so no partial object is
    /// ever visible.
    async fn blocking<T: Send + 'static>(
        &self,
        key: &str,
        work: impl FnOnce(&Root, &str) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        check_key(&self.url, key)?;
        let root = Arc::clone(&self.root);
        let key = key.to_owned();
        let place = self.root.path.join(&key);
        tokio::task::spawn_blocking(move || work(&root, &key)).await.map_err(|error| {
            let place = place.display().to_string();
            StorageError::new(StorageErrorKind::Other, "use", place, error)
        })?
    }
}

#[async_trait]
impl Store for Directory {
    fn url(&self) -> &str {
        &self.url
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StorageError> {
        none_if_missing(self.blocking(key, Root::head).await)
    }

    async fn get(&self, key: &str) -> Result<Bytes, StorageError> {
        self.blocking(key, |root, key| root.read(key).map(|(bytes, _)| bytes)).await
    }

    async fn get_tagged(&self, key: &str) -> Result<Option<Tagged>, StorageError> {
        none_if_missing(self.blocking(key, Root::tagged).await)
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StorageError> {
        self.blocking(key, move |root, key| root.read_range(key, &range)).await
    }

    async fn check(&self, key: &str) -> Result<(), StorageError> {
        self.blocking(key, |root, _| root.check()).await
    }

    async fn put(&self, key: &str, bytes: Bytes, _: PutOptions) -> Result<(), StorageError> {
        self.blocking(key, move |root, key| {
            root.commit(key, &NewContent::Bytes(&bytes), None).map(|_| ())
        })
        .await
    }

    async fn put_file(&self, key: &str, file: &Path, _: PutOptions) -> Result<(), StorageError> {
        let file = file.to_path_buf();
        self.blocking(key, move |root, key| {
            root.commit(key, &NewContent::File(&file), None).map(|_| ())
        })
        .await
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        _: PutOptions,
    ) -> Result<PutIf, StorageError> {
        self.blocking(key, move |root, key| {
            root.commit(key, &NewContent::Bytes(&bytes), Some(&condition))
        })
        .await
    }

    fn list(&self, prefix: &str) -> BoxStream<'static, Result<ObjectInfo, StorageError>> {
        let checked = check_prefix(&self.url, prefix);
        walk::list(self.root.path.clone(), prefix.to_owned(), checked)
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StorageError> {
        for key in keys {
            self.blocking(key, Root::delete).await?;
        }
        Ok(())
    }
}
