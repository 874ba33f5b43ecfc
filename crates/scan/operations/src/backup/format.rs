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

/// The list of a backup's objects. It is written last, so a backup without this list is incomplete.
pub(super) const LIST: &str = "backup.json";
/// The format's version.
pub(super) const FORMAT: u32 = 2;
/// Returns true if publishing always writes the object under this name. Such an object may change
/// without changing its size.
pub(super) fn is_fixed(key: &str) -> bool {
    !key.starts_with("scans/") && !is_hashed(key)
}

/// The notes' prefix.
const PROGRESS: &str = "progress/";
/// In a backup without a scan, this member replaces the scan's row. Its value is the oldest crawl's
/// id.
pub(super) const FIRST_CRAWL: &str = "first_crawl";
/// The scan's row at the time when the notes were started.
const PROGRESS_SCAN: &str = "progress/of.json";

/// Parses the settings in a scan's row.
///
/// # Errors
/// Returns an error if the settings are malformed or from another version.
pub(super) fn settings_of(row: &Value) -> Result<ScanSettings, OperationError> {
    serde_json::from_value(row["settings"].clone()).map_err(|error| {
        OperationError::new(format!("the scan's settings are not understood: {error}"))
    })
}

/// The content of `backup.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Backup {
    pub(super) format: u32,
    /// The names of the migrations that created the tables.
    pub(super) migrations: Vec<String>,
    /// The scan's row. In a backup that has only live crawls, this is [`FIRST_CRAWL`] with an id.
    pub(super) scan: Value,
    pub(super) rows: DumpedRows,
    /// The objects in the site and the archive, sorted by name.
    pub(super) objects: Vec<BackupObject>,
}

/// The database rows, in one dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DumpedRows {
    /// The dumped server's version, such as 150018 for 15.18.
    pub(super) server_version: i32,
    /// Row counts and digests for all tables in the dump's snapshot.
    pub(super) tables: Vec<TableDigest>,
    /// The object with pg_dump's output in custom format.
    pub(super) dump: BackupObject,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BackupObject {
    pub(super) key: String,
    pub(super) size: u64,
    /// The object's SHA-256 in lower-case hexadecimal.
    pub(super) sha256: String,
}

impl BackupObject {
    pub(super) fn of(key: String, bytes: &[u8]) -> Self {
        Self { key, size: bytes.len() as u64, sha256: hex::encode(Sha256::digest(bytes)) }
    }

    /// Checks that the bytes match this entry.
    ///
    /// # Errors
    /// Returns an error if they differ.
    pub(super) fn check(&self, bytes: &[u8]) -> Result<(), OperationError> {
        let found = Self::of(self.key.clone(), bytes);
        if found == *self { Ok(()) } else { Err(self.damaged(found.size, &found.sha256)) }
    }

    pub(super) fn damaged(&self, size: u64, sha256: &str) -> OperationError {
        let difference = self.difference(size, sha256);
        OperationError::new(format!(
            "the backup is damaged: {difference}; that object was left alone"
        ))
    }

    /// Describes the difference between the found object and this entry.
    pub(super) fn difference(&self, size: u64, sha256: &str) -> String {
        format!(
            "{} has {size} bytes of sha256 {sha256}, backup.json says {} of {}",
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

/// Returns `{"sha256":"...","list":{...}}`. Because the list has its own digest, a flipped bit in
/// the list is not mistaken for damage to its objects.
fn seal(list: &str) -> String {
    let digest = hex::encode(Sha256::digest(list.as_bytes()));
    format!("{{\"sha256\":\"{digest}\",\"list\":{list}}}")
}

/// Returns the list inside a string from [`seal`]. `None` if the digest does not match.
fn unseal(sealed: &str) -> Option<&str> {
    let list = sealed.split_once(",\"list\":")?.1.strip_suffix('}')?;
    (seal(list) == sealed).then_some(list)
}

impl Backup {
    /// Returns an error if the backup has migrations that this program does not know.
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

    /// Reads the list of a complete backup.
    pub(super) async fn read(store: &dyn Store) -> Result<Self, OperationError> {
        Self::read_if_whole(store).await?.ok_or_else(|| {
            OperationError::new(format!(
                "{} holds no whole backup: there is no {LIST}; run the backup to its end",
                store.url()
            ))
        })
    }

    /// Reads a backup's list. `None` if the store has none.
    async fn read_if_whole(store: &dyn Store) -> Result<Option<Self>, OperationError> {
        let Some(tagged) = store.get_tagged(LIST).await? else { return Ok(None) };
        let about = |what: String| OperationError::new(format!("{LIST} in {} {what}", store.url()));
        let list = std::str::from_utf8(&tagged.bytes).ok().and_then(unseal).ok_or_else(|| {
            about(
                "is damaged: it is not what its own sha256 says; delete it, and back up again"
                    .to_owned(),
            )
        })?;
        let is_ours = serde_json::from_str::<Value>(list)
            .is_ok_and(|value| value["format"].as_u64() == Some(u64::from(FORMAT)));
        if !is_ours {
            return Err(about(format!("is not of format {FORMAT}, which this program reads")));
        }
        let backup = serde_json::from_str(list)
            .map_err(|error| about(format!("is not understood: {error}")))?;
        Ok(Some(backup))
    }

    /// Returns true if the backup has a scan in addition to the database.
    pub(super) fn has_scan(&self) -> bool {
        !self.scan["scan_id"].is_null()
    }

    /// Yields all objects in the backup, including the dump.
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
        OperationError::new(format!("{key} in {} is not understood: {error}", store.url()))
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

/// The scan's store to which an object belongs.
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

    /// Returns the name in the backup for an object in this store.
    pub(super) fn backup_key(self, key: &str) -> String {
        format!("{}{key}", self.folder())
    }

    /// Splits an object's name in the backup into its store and its name there.
    pub(super) fn of(backup_key: &str) -> Option<(Self, &str)> {
        [Self::Site, Self::Archive]
            .into_iter()
            .find_map(|source| Some((source, backup_key.strip_prefix(source.folder())?)))
    }
}

/// A note that lists copied objects.
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
    /// Reads the notes and the list from an earlier backup of the scan with this row.
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
                    "{} holds a backup of {}; give another place with --to",
                    store.url(),
                    scan.map_or("other crawls".to_owned(), |scan| format!("scan {scan}"))
                )));
            }
            // Skip the list after a takedown, which changes archives without changing their sizes.
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

    /// Returns the dumped rows. `None` if they have not been dumped.
    pub(super) fn rows(&self) -> Option<&DumpedRows> {
        self.rows.as_ref().filter(|rows| self.is_stored(&rows.dump))
    }

    /// Returns an object's entry. `None` if the object has not been copied.
    pub(super) fn object(&self, key: &str) -> Option<&BackupObject> {
        self.objects.get(key).filter(|entry| self.is_stored(entry))
    }

    fn is_stored(&self, entry: &BackupObject) -> bool {
        self.stored.get(&entry.key) == Some(&entry.size)
    }

    /// Invalidates the noted dump. Call this before overwriting the dump.
    pub(super) async fn forget_rows(&mut self) -> Result<(), OperationError> {
        if let Some(known) = self.rows.take() {
            // A note replaces earlier notes and an earlier backup's list. This one names an empty
            // dump, which no store has.
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

    /// Writes the list, which completes the backup, and deletes the notes.
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
