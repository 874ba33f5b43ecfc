//! Copies a list from its store into an unnamed temporary file, checks its digest, and maps it into
//! memory.

use std::{fs::File, io, path::Path, sync::Arc};

use everytab_crawl_settings::FrozenList;
use everytab_filters::{CountryRanges, FilterListError, ListKind, LoadedList, NameList, list_kind};
use everytab_storage::{StorageError, StoreSettings};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use crate::mapped;

/// Size of a range request for a list, in bytes.
const PART_BYTES: u64 = 8 << 20;
/// Maximum size of a list, in bytes.
const MAX_LIST_BYTES: u64 = 400 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Store(#[from] StorageError),
    #[error("cannot write or map the temporary file: {0}")]
    File(#[from] io::Error),
    #[error(transparent)]
    List(#[from] FilterListError),
    #[error("the object has changed since the crawl was started")]
    Digest,
    #[error("the list has more than {MAX_LIST_BYTES} bytes")]
    TooLarge,
    #[error("the task that reads the list failed")]
    Task,
    #[error("the list is still being copied")]
    UnderWay,
}

pub(crate) async fn copy_and_open(
    list: &FrozenList,
    stores: &StoreSettings,
    temporary: &Path,
) -> Result<LoadedList, LoadError> {
    let file = copy(list, stores, temporary).await?;
    let opened = tokio::task::spawn_blocking(move || open(&file)).await;
    opened.map_err(|_| LoadError::Task)?
}

async fn copy(
    list: &FrozenList,
    stores: &StoreSettings,
    temporary: &Path,
) -> Result<File, LoadError> {
    if list.bytes > MAX_LIST_BYTES {
        return Err(LoadError::TooLarge);
    }
    let store = everytab_storage::open(&list.store, stores).await?;
    let file = tempfile::tempfile_in(temporary)?;
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

fn open(file: &File) -> Result<LoadedList, LoadError> {
    let bytes = mapped::map(file)?;
    let kind = list_kind((*bytes).as_ref())?;
    Ok(match kind {
        ListKind::Names => LoadedList::Names(Arc::new(NameList::open(bytes)?)),
        ListKind::Countries => LoadedList::Countries(Arc::new(CountryRanges::open(bytes)?)),
    })
}
