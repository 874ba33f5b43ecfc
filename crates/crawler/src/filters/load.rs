//! Brings the lists of filters into memory: copied from their store into a temporary file without a
//! name, compared with their digest, mapped.
//!
//! Crawls that name the same object share it. Must not know: what a filter decides.

use std::{collections::HashMap, io, path::PathBuf, sync::Arc};

use everytab_filters::{
    CountryRanges, Filter, FilterListError, FilterSet, ListKind, LoadedList, NameList, list_kind,
};
use everytab_storage::{StorageError, StoreSettings};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use super::{
    frozen::{FrozenFilter, FrozenList},
    mapped,
};

/// Bytes of a list that are asked for at a time.
const PART_BYTES: u64 = 8 << 20;
/// Bytes of a list: the most names that one can have, with room for its directory.
const MAX_LIST_BYTES: u64 = 400 << 20;

/// The reason why a list cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Store(#[from] StorageError),
    #[error("the temporary file: {0}")]
    File(#[from] io::Error),
    #[error(transparent)]
    List(#[from] FilterListError),
    #[error("the object is another one than when the crawl was started")]
    Digest,
    #[error("the list has more than {MAX_LIST_BYTES} bytes")]
    TooLarge,
    #[error("the list could not be read to its end")]
    Task,
}

/// The lists that this process has, by the digests of their objects.
#[derive(Debug)]
pub struct FilterLists {
    temporary: PathBuf,
    loaded: Mutex<HashMap<String, LoadedList>>,
}

impl FilterLists {
    /// No list; copies are written into this folder.
    #[must_use]
    pub fn new(temporary: PathBuf) -> Self {
        Self { temporary, loaded: Mutex::default() }
    }

    /// Compiles the filters of a crawl, with their lists as far as these can be had. What cannot is
    /// told: the filters are not complete then.
    pub(crate) async fn compile(
        &self,
        crawl: &str,
        filters: &[FrozenFilter],
        stores: &StoreSettings,
    ) -> Result<FilterSet, String> {
        let mut compiled = Vec::with_capacity(filters.len());
        for FrozenFilter { name, filter, lists, .. } in filters {
            let by_name = self.load_all(crawl, lists, stores).await;
            let with_lists = Filter::compile(filter, |list| by_name.get(list).cloned());
            compiled.push(match with_lists {
                Ok(filter) => filter,
                // The settings say of another list what this object does not have.
                Err(error) if !by_name.is_empty() => {
                    tracing::error!(crawl, name, %error, "the lists of a filter are others");
                    Filter::compile(filter, |_| None).map_err(|error| error.to_string())?
                }
                Err(error) => return Err(error.to_string()),
            });
        }
        Ok(FilterSet::new(compiled))
    }

    /// Those of some lists that can be had, by name. `what` they are for is told with the others.
    pub async fn load_all<'a>(
        &self,
        what: &str,
        lists: &'a [FrozenList],
        stores: &StoreSettings,
    ) -> HashMap<&'a str, LoadedList> {
        let mut by_name = HashMap::new();
        for list in lists {
            let name = list.name.as_str();
            match self.load(list, stores).await {
                Ok(loaded) => drop(by_name.insert(name, loaded)),
                Err(error) => tracing::warn!(what, list = name, %error, "it cannot be had now"),
            }
        }
        by_name
    }

    async fn load(
        &self,
        list: &FrozenList,
        stores: &StoreSettings,
    ) -> Result<LoadedList, LoadError> {
        if let Some(loaded) = self.loaded.lock().get(&list.sha256) {
            return Ok(loaded.clone());
        }
        let file = self.copy(list, stores).await?;
        let opened = tokio::task::spawn_blocking(move || open(&file)).await;
        let opened = opened.map_err(|_| LoadError::Task)??;
        let mut loaded = self.loaded.lock();
        // What no crawl has any more.
        loaded.retain(|_, list| match list {
            LoadedList::Names(names) => Arc::strong_count(names) > 1,
            LoadedList::Countries(ranges) => Arc::strong_count(ranges) > 1,
        });
        loaded.insert(list.sha256.clone(), opened.clone());
        Ok(opened)
    }

    /// Copies an object into a file without a name, and compares its digest.
    async fn copy(
        &self,
        list: &FrozenList,
        stores: &StoreSettings,
    ) -> Result<std::fs::File, LoadError> {
        if list.bytes > MAX_LIST_BYTES {
            return Err(LoadError::TooLarge);
        }
        let store = everytab_storage::open(&list.store, stores).await?;
        let file = tempfile::tempfile_in(&self.temporary)?;
        let mut file = tokio::fs::File::from_std(file);
        let mut digest = Sha256::new();
        let mut at = 0;
        while at < list.bytes {
            let end = list.bytes.min(at + PART_BYTES);
            let part = store.get_range(&list.object, at..end).await?;
            if part.len() as u64 != end - at {
                return Err(LoadError::Digest);
            }
            digest.update(&part);
            file.write_all(&part).await?;
            at = end;
        }
        file.flush().await?;
        if hex::encode(digest.finalize()) != list.sha256 {
            return Err(LoadError::Digest);
        }
        Ok(file.into_std().await)
    }
}

fn open(file: &std::fs::File) -> Result<LoadedList, LoadError> {
    let bytes = mapped::map(file)?;
    let kind = list_kind((*bytes).as_ref())?;
    Ok(match kind {
        ListKind::Names => LoadedList::Names(Arc::new(NameList::open(bytes)?)),
        ListKind::Countries => LoadedList::Countries(Arc::new(CountryRanges::open(bytes)?)),
    })
}
