//! Copies objects between stores in bounded memory, and computes their digests.

use std::{
    io::{Seek, SeekFrom, Write},
    path::PathBuf,
    sync::Arc,
};

use everytab_console::OperationError;
use everytab_jobs::site_objects::put_options;
use everytab_storage::{PutOptions, Store, StoreSettings};
use sha2::{Digest, Sha256};

use super::format::BackupObject;

/// Objects that are copied concurrently. Each copy takes up to [`IN_MEMORY_BYTES`] of memory.
pub(super) const CONCURRENT_COPIES: usize = 8;
/// Objects up to this size are copied in memory. Larger ones are copied through a file, in pieces
/// of this size.
pub(super) const IN_MEMORY_BYTES: u64 = 16 << 20;

pub(super) async fn open(url: &str) -> Result<Arc<dyn Store>, OperationError> {
    Ok(everytab_storage::open(url, &StoreSettings::default()).await?)
}

pub(super) enum Expected<'a> {
    Anything,
    Exactly(&'a BackupObject),
}

impl Expected<'_> {
    fn check(&self, size: u64, sha256: &str) -> Result<(), OperationError> {
        match self {
            Self::Exactly(entry) if entry.size != size || entry.sha256 != sha256 => {
                Err(entry.damaged(size, sha256))
            }
            _ => Ok(()),
        }
    }
}

pub(super) struct Copier {
    pub(super) to: Arc<dyn Store>,
    pub(super) temporary: PathBuf,
}

impl Copier {
    pub(super) async fn copy(
        &self,
        from: &dyn Store,
        key: &str,
        size: u64,
        to_key: &str,
        expected: Expected<'_>,
    ) -> Result<BackupObject, OperationError> {
        let options = match expected {
            Expected::Anything => PutOptions::default(),
            Expected::Exactly(_) => put_options(to_key),
        };
        if size <= IN_MEMORY_BYTES {
            let bytes = from.get(key).await?;
            let entry = BackupObject::of(to_key.to_owned(), &bytes);
            expected.check(entry.size, &entry.sha256)?;
            self.to.put(to_key, bytes, options).await?;
            return Ok(entry);
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.temporary)?;
        let sha256 = digest_of(from, key, size, |bytes| Ok(file.write_all(bytes)?)).await?;
        expected.check(size, &sha256)?;
        file.flush()?;
        file.seek(SeekFrom::Start(0))?;
        self.to.put_file(to_key, file.path(), options).await?;
        Ok(BackupObject { key: to_key.to_owned(), size, sha256 })
    }

    pub(super) async fn restore(
        &self,
        from: &dyn Store,
        entry: &BackupObject,
        key: &str,
    ) -> Result<(), OperationError> {
        let there = self.to.head(key).await?;
        if there.is_some_and(|there| there.size == entry.size) {
            let sha256 = digest_of(&*self.to, key, entry.size, |_| Ok(())).await?;
            if sha256 == entry.sha256 {
                return Ok(());
            }
        }
        self.copy(from, &entry.key, entry.size, key, Expected::Exactly(entry)).await?;
        Ok(())
    }
}

pub(super) async fn download(
    from: &dyn Store,
    entry: &BackupObject,
    mut to: &std::fs::File,
) -> Result<(), OperationError> {
    let size = from.head(&entry.key).await?.map_or(0, |found| found.size);
    let sha256 = digest_of(from, &entry.key, size, |bytes| Ok(to.write_all(bytes)?)).await?;
    Expected::Exactly(entry).check(size, &sha256)
}

pub(super) async fn fault_of(
    from: &dyn Store,
    entry: &BackupObject,
) -> Result<Option<String>, OperationError> {
    let Some(found) = from.head(&entry.key).await? else {
        return Ok(Some(format!("{} is missing", entry.key)));
    };
    let sha256 = digest_of(from, &entry.key, found.size, |_| Ok(())).await?;
    let is_whole = found.size == entry.size && sha256 == entry.sha256;
    Ok((!is_whole).then(|| entry.difference(found.size, &sha256)))
}

async fn digest_of(
    store: &dyn Store,
    key: &str,
    size: u64,
    mut piece: impl FnMut(&[u8]) -> Result<(), OperationError>,
) -> Result<String, OperationError> {
    let mut digest = Sha256::new();
    let mut start = 0;
    while start < size {
        let end = size.min(start + IN_MEMORY_BYTES);
        let bytes = store.get_range(key, start..end).await?;
        if bytes.is_empty() {
            return Err(OperationError::new(format!("{key} in {} became shorter", store.url())));
        }
        digest.update(&bytes);
        piece(&bytes)?;
        start += bytes.len() as u64;
    }
    Ok(hex::encode(digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn store(folder: &tempfile::TempDir) -> Arc<dyn Store> {
        let url = folder.path().display().to_string();
        everytab_storage::open(&url, &Default::default()).await.unwrap()
    }

    #[tokio::test]
    async fn small_and_large_objects_arrive_whole_and_a_damaged_one_not_at_all() {
        let folders = [tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap()];
        let (from, to) = (store(&folders[0]).await, store(&folders[1]).await);
        let copier = Copier { to: Arc::clone(&to), temporary: std::env::temp_dir() };
        for size in [0, 5, IN_MEMORY_BYTES as usize + 7] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            from.put("a", bytes.clone().into(), PutOptions::default()).await.unwrap();
            let copied = copier.copy(&*from, "a", size as u64, "b", Expected::Anything).await;
            assert_eq!(copied.unwrap(), BackupObject::of("b".into(), &bytes));
            assert_eq!(to.get("b").await.unwrap(), bytes);

            let mut entry = BackupObject::of("a".into(), &bytes);
            copier.restore(&*from, &entry, "c").await.unwrap();
            assert_eq!(to.get("c").await.unwrap(), bytes);
            from.delete(&["a".into()]).await.unwrap();
            copier.restore(&*from, &entry, "c").await.unwrap();
            from.put("a", bytes.into(), PutOptions::default()).await.unwrap();
            entry.sha256 = "0".repeat(64);
            let refused = copier.restore(&*from, &entry, "d").await.unwrap_err().message;
            assert!(refused.contains("damaged"), "{refused}");
            assert_eq!(to.head("d").await.unwrap(), None);
        }
    }
}
