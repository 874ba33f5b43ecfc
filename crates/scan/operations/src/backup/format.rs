//! A backup's format, and the notes in an unfinished backup.

use std::{collections::HashMap, io::Read as _, path::Path, sync::Arc};

use bytes::Bytes;
use everytab_bundler::page_files::is_hashed;
use everytab_console::OperationError;
use everytab_coordinator::{TableDigest, migrations};
use everytab_jobs::scan_settings::ScanSettings;
use everytab_storage::{PutOptions, Store};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::takedown_everywhere::TAKEDOWNS;

/// The list of a backup's objects. It is written last, so a backup without it is incomplete.
pub(super) const LIST: &str = "backup.json";
pub(super) const FORMAT: u32 = 2;
/// Returns true for an object that every publishing overwrites. Its content may change while its
/// size does not.
pub(super) fn is_fixed(key: &str) -> bool {
    !key.starts_with("scans/") && !is_hashed(key)
}

const PROGRESS: &str = "progress/";
/// In a backup without a scan, this member replaces the scan's row. Its value is the oldest live
/// crawl's id.
pub(super) const FIRST_CRAWL: &str = "first_crawl";
const PROGRESS_SCAN: &str = "progress/of.json";

pub(super) fn settings_of(row: &Value) -> Result<ScanSettings, OperationError> {
    serde_json::from_value(row["settings"].clone())
        .map_err(|error| OperationError::new(format!("cannot parse the scan's settings: {error}")))
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Backup {
    pub(super) format: u32,
    pub(super) migrations: Vec<String>,
    pub(super) scan: Value,
    pub(super) rows: DumpedRows,
    pub(super) objects: Vec<BackupObject>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DumpedRows {
    /// The dumped server's version, such as 150018 for 15.18.
    pub(super) server_version: i32,
    pub(super) tables: Vec<TableDigest>,
    pub(super) dump: BackupObject,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BackupObject {
    pub(super) key: String,
    pub(super) size: u64,
    pub(super) sha256: String,
}

impl BackupObject {
    pub(super) fn of(key: String, bytes: &[u8]) -> Self {
        Self { key, size: bytes.len() as u64, sha256: hex::encode(Sha256::digest(bytes)) }
    }

    pub(super) fn check(&self, bytes: &[u8]) -> Result<(), OperationError> {
        let found = Self::of(self.key.clone(), bytes);
        if found == *self { Ok(()) } else { Err(self.damaged(found.size, &found.sha256)) }
    }

    pub(super) fn damaged(&self, size: u64, sha256: &str) -> OperationError {
        let difference = self.difference(size, sha256);
        OperationError::new(format!(
            "the backup is damaged: {difference}; this object was not restored"
        ))
    }

    pub(super) fn difference(&self, size: u64, sha256: &str) -> String {
        format!(
            "{} has {size} bytes with SHA-256 {sha256}, but backup.json lists {} bytes with {}",
            self.key, self.size, self.sha256
        )
    }
}

pub(super) async fn hex_of_file(path: &Path) -> Result<String, OperationError> {
    let mut file = std::fs::File::open(path)?;
    let hashing = move || -> std::io::Result<String> {
        let mut digest = Sha256::new();
        let mut piece = vec![0; 1 << 20];
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(hex::encode(digest.finalize()));
            }
            digest.update(piece.get(..read).unwrap_or_default());
        }
    };
    Ok(tokio::task::spawn_blocking(hashing).await??)
}

/// Because the list has its own digest, a damaged list is not mistaken for damage to its objects.
fn seal(list: &str) -> String {
    let digest = hex::encode(Sha256::digest(list.as_bytes()));
    format!("{{\"sha256\":\"{digest}\",\"list\":{list}}}")
}

fn unseal(sealed: &str) -> Option<&str> {
    let list = sealed.split_once(",\"list\":")?.1.strip_suffix('}')?;
    (seal(list) == sealed).then_some(list)
}

impl Backup {
    pub(super) fn check_migrations(&self) -> Result<(), OperationError> {
        let known = migrations();
        match self.migrations.iter().find(|name| !known.contains(&name.as_str())) {
            Some(newer) => Err(OperationError::new(format!(
                "the backup has tables of {newer}, which this program does not know; restore it \
                 with the program that made it, or a newer one"
            ))),
            None => Ok(()),
        }
    }

    pub(super) async fn read(store: &dyn Store) -> Result<Self, OperationError> {
        Self::read_if_whole(store).await?.ok_or_else(|| {
            OperationError::new(format!(
                "{} contains no complete backup: {LIST} is missing; check the URL, or run the \
                 backup again to complete it",
                store.url()
            ))
        })
    }

    async fn read_if_whole(store: &dyn Store) -> Result<Option<Self>, OperationError> {
        let Some(tagged) = store.get_tagged(LIST).await? else { return Ok(None) };
        let about = |what: String| OperationError::new(format!("{LIST} in {} {what}", store.url()));
        let list = std::str::from_utf8(&tagged.bytes).ok().and_then(unseal).ok_or_else(|| {
            about(
                "is damaged, because its SHA-256 does not match; delete it, and back up again"
                    .to_owned(),
            )
        })?;
        let is_ours = serde_json::from_str::<Value>(list)
            .is_ok_and(|value| value["format"].as_u64() == Some(u64::from(FORMAT)));
        if !is_ours {
            return Err(about(format!("is not of format {FORMAT}, which this program reads")));
        }
        let backup = serde_json::from_str(list)
            .map_err(|error| about(format!("cannot be parsed: {error}")))?;
        Ok(Some(backup))
    }

    pub(super) fn has_scan(&self) -> bool {
        !self.scan["scan_id"].is_null()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &BackupObject> {
        std::iter::once(&self.rows.dump).chain(&self.objects)
    }
}

async fn read_json<T: DeserializeOwned>(
    store: &dyn Store,
    key: &str,
) -> Result<Option<T>, OperationError> {
    let Some(tagged) = store.get_tagged(key).await? else { return Ok(None) };
    serde_json::from_slice(&tagged.bytes).map(Some).map_err(|error| {
        OperationError::new(format!("{key} in {} cannot be parsed: {error}", store.url()))
    })
}

async fn write_json(
    store: &dyn Store,
    key: &str,
    value: &impl Serialize,
) -> Result<(), OperationError> {
    let bytes = Bytes::from(serde_json::to_vec(value)?);
    Ok(store.put(key, bytes, PutOptions::default()).await?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum StoreKind {
    Site,
    Archive,
}

impl StoreKind {
    fn folder(self) -> &'static str {
        match self {
            Self::Site => "site/",
            Self::Archive => "archive/",
        }
    }

    pub(super) fn backup_key(self, key: &str) -> String {
        format!("{}{key}", self.folder())
    }

    pub(super) fn of(backup_key: &str) -> Option<(Self, &str)> {
        [Self::Site, Self::Archive]
            .into_iter()
            .find_map(|source| Some((source, backup_key.strip_prefix(source.folder())?)))
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    rows: Option<DumpedRows>,
    objects: Vec<BackupObject>,
}

/// The objects copied so far, including those from an earlier backup of this scan. Reads and writes
/// the notes.
pub(super) struct Journal {
    pub(super) store: Arc<dyn Store>,
    rows: Option<DumpedRows>,
    objects: HashMap<String, BackupObject>,
    notes: u64,
    /// The sizes of all objects in the store, because an object in a note may have been deleted
    /// since.
    stored: HashMap<String, u64>,
}

impl Journal {
    pub(super) async fn open(store: Arc<dyn Store>, row: &Value) -> Result<Self, OperationError> {
        let stored = store.list_all("").await?;
        let mut journal = Self {
            rows: None,
            objects: HashMap::new(),
            notes: 0,
            stored: stored.into_iter().map(|object| (object.key, object.size)).collect(),
            store: Arc::clone(&store),
        };
        if let Some(whole) = Backup::read_if_whole(&*store).await? {
            if ["scan_id", FIRST_CRAWL].iter().any(|name| whole.scan[name] != row[name]) {
                let scan = whole.scan["scan_id"].as_str();
                return Err(OperationError::new(format!(
                    "{} contains a backup of {}; choose another store with --to",
                    store.url(),
                    scan.map_or("other crawls".to_owned(), |scan| format!("scan {scan}"))
                )));
            }
            // After a takedown the list is useless, because archives may have changed without
            // changing their sizes.
            if whole.scan == *row && store.head(TAKEDOWNS).await?.is_none() {
                journal.add(Note { rows: Some(whole.rows), objects: whole.objects });
            }
        }
        let noted_row = read_json::<Value>(&*store, PROGRESS_SCAN).await?;
        let notes = store.list_all(PROGRESS).await?;
        if noted_row.as_ref() == Some(row) {
            for note in notes.iter().filter(|note| note.key != PROGRESS_SCAN) {
                journal.notes += 1;
                if let Some(note) = read_json(&*store, &note.key).await? {
                    journal.add(note);
                }
            }
        } else {
            let keys: Vec<String> = notes.into_iter().map(|note| note.key).collect();
            store.delete(&keys).await?;
            write_json(&*store, PROGRESS_SCAN, row).await?;
        }
        Ok(journal)
    }

    fn add(&mut self, note: Note) {
        self.rows = note.rows.or(self.rows.take());
        self.objects.extend(note.objects.into_iter().map(|entry| (entry.key.clone(), entry)));
    }

    pub(super) fn rows(&self) -> Option<&DumpedRows> {
        self.rows.as_ref().filter(|rows| self.is_stored(&rows.dump))
    }

    pub(super) fn object(&self, key: &str) -> Option<&BackupObject> {
        self.objects.get(key).filter(|entry| self.is_stored(entry))
    }

    fn is_stored(&self, entry: &BackupObject) -> bool {
        self.stored.get(&entry.key) == Some(&entry.size)
    }

    /// Call this before overwriting the dump.
    pub(super) async fn forget_rows(&mut self) -> Result<(), OperationError> {
        if let Some(known) = self.rows.take() {
            // A note overrides earlier notes and an earlier backup's list. This one names a dump of
            // 0 bytes, which matches no stored dump.
            let dump = BackupObject { size: 0, ..known.dump };
            self.note(Note { rows: Some(DumpedRows { dump, ..known }), objects: Vec::new() })
                .await?;
        }
        Ok(())
    }

    pub(super) async fn note_rows(&mut self, rows: &DumpedRows) -> Result<(), OperationError> {
        self.stored.insert(rows.dump.key.clone(), rows.dump.size);
        self.note(Note { rows: Some(rows.clone()), objects: Vec::new() }).await
    }

    pub(super) async fn note_objects(
        &mut self,
        objects: &[BackupObject],
    ) -> Result<(), OperationError> {
        self.note(Note { rows: None, objects: objects.to_vec() }).await
    }

    async fn note(&mut self, note: Note) -> Result<(), OperationError> {
        write_json(&*self.store, &format!("{PROGRESS}{:08}.json", self.notes), &note).await?;
        self.notes += 1;
        self.add(note);
        Ok(())
    }

    pub(super) async fn finish(&self, backup: &Backup) -> Result<(), OperationError> {
        let sealed = Bytes::from(seal(&serde_json::to_string(backup)?));
        self.store.put(LIST, sealed, PutOptions::default()).await?;
        let notes = self.store.list_all(PROGRESS).await?;
        let keys: Vec<String> = notes.into_iter().map(|note| note.key).collect();
        Ok(self.store.delete(&keys).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_backup_gives_its_store_and_its_name_there() {
        let key = "scans/1/tabs/0.json";
        let site = StoreKind::Site.backup_key(key);
        assert_eq!(site, "site/scans/1/tabs/0.json");
        assert_eq!(StoreKind::of(&site), Some((StoreKind::Site, key)));
        let archive = StoreKind::Archive.backup_key("archive/1/0-1.warc.gz");
        assert_eq!(StoreKind::of(&archive), Some((StoreKind::Archive, "archive/1/0-1.warc.gz")));
        assert_eq!(StoreKind::of("database.dump"), None);
    }

    #[test]
    fn bytes_that_were_not_backed_up_are_refused() {
        let entry = BackupObject::of("k".into(), b"abc");
        assert!(entry.check(b"abc").is_ok());
        let message = entry.check(b"abd").unwrap_err().message;
        assert!(message.contains("damaged") && message.contains('k'), "{message}");
    }

    #[test]
    fn any_bit_that_flips_in_a_list_is_noticed() {
        let sealed = seal(r#"{"format":2,"objects":[]}"#);
        assert_eq!(unseal(&sealed), Some(r#"{"format":2,"objects":[]}"#));
        for bit in 0..sealed.len() * 8 {
            let mut bytes = sealed.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = std::str::from_utf8(&bytes).ok().and_then(unseal);
            assert_eq!(found, None, "bit {bit}");
        }
    }

    #[tokio::test]
    async fn notes_are_read_back_only_for_the_scan_they_were_made_of() {
        let folder = tempfile::TempDir::new().unwrap();
        let url = folder.path().display().to_string();
        let store = everytab_storage::open(&url, &Default::default()).await.unwrap();
        let row = serde_json::json!({"scan_id": "a", "finished_at": 1});
        let entry = BackupObject::of("site/x".into(), b"x");
        store.put(&entry.key, Bytes::from_static(b"x"), PutOptions::default()).await.unwrap();
        let mut journal = Journal::open(Arc::clone(&store), &row).await.unwrap();
        journal.note_objects(std::slice::from_ref(&entry)).await.unwrap();
        let again = Journal::open(Arc::clone(&store), &row).await.unwrap();
        assert_eq!(again.object("site/x"), Some(&entry));
        store.delete(std::slice::from_ref(&entry.key)).await.unwrap();
        let lost = Journal::open(Arc::clone(&store), &row).await.unwrap();
        assert_eq!(lost.object("site/x"), None, "a note of an object that is gone");
        store.put(&entry.key, Bytes::from_static(b"x"), PutOptions::default()).await.unwrap();
        let changed = serde_json::json!({"scan_id": "a", "finished_at": 2});
        let other = Journal::open(Arc::clone(&store), &changed).await.unwrap();
        assert_eq!(other.object("site/x"), None);
        let empty = Journal::open(store, &row).await.unwrap();
        assert_eq!(empty.object("site/x"), None, "the notes of the other are gone");
    }
}
