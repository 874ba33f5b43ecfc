//! What a backup looks like, and the notes of one that is under way.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use everytab_storage::{PutOptions, Store, objects};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// The object that makes a backup whole; written last.
pub(super) const LIST: &str = "backup.json";
/// The version of this layout.
pub(super) const FORMAT: u32 = 1;
/// What stands at a site's root and is switched by publishing.
pub(super) const ROOT: [&str; 3] = [objects::INDEX_HTML, objects::STATS, objects::MANIFEST];

const PROGRESS: &str = "progress/";
const PROGRESS_OF: &str = "progress/of.json";

/// `backup.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Backup {
    pub(super) format: u32,
    /// The digest of the tables that the rows fit.
    pub(super) tables: String,
    /// The lowest job number among the rows, and the highest.
    pub(super) first_job: i64,
    /// See `first_job`.
    pub(super) last_job: i64,
    /// The scan's own row.
    pub(super) scan: Value,
    /// The other rows, in the order in which they are brought back.
    pub(super) rows: Vec<Part>,
    /// What was published and archived, by name.
    pub(super) objects: Vec<Entry>,
}

/// One object of the backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Its name in the backup.
    pub(super) key: String,
    /// In bytes.
    pub(super) size: u64,
    /// In lower-case hexadecimal.
    pub(super) sha256: String,
}

/// An object of rows: gzipped JSON, one a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The table.
    pub(super) table: String,
    /// Rows in it.
    pub(super) count: u64,
    /// The lowest and the highest job number, of parts of `jobs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) job_ids: Option<(i64, i64)>,
    #[serde(flatten)]
    pub(super) entry: Entry,
}

impl Entry {
    pub(super) fn of(key: String, bytes: &[u8]) -> Self {
        Self { key, size: bytes.len() as u64, sha256: hex(&Sha256::digest(bytes)) }
    }

    /// Whether these are the bytes that were backed up.
    pub(super) fn check(&self, bytes: &[u8]) -> Result<(), Failure> {
        let found = Self::of(self.key.clone(), bytes);
        if found == *self { Ok(()) } else { Err(self.damaged(found.size, &found.sha256)) }
    }

    pub(super) fn damaged(&self, size: u64, sha256: &str) -> Failure {
        Failure::new(format!(
            "the backup is damaged: {} has {size} bytes of sha256 {sha256}, backup.json says {} of \
             {}; that object was left alone",
            self.key, self.size, self.sha256
        ))
    }
}

pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Backup {
    /// Reads a whole backup's list.
    pub(super) async fn read(store: &dyn Store) -> Result<Self, Failure> {
        read_json(store, LIST).await?.ok_or_else(|| {
            Failure::new(format!(
                "{} holds no whole backup: there is no {LIST}; run the backup to its end",
                store.url()
            ))
        })
    }

    /// Every object that it lists.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.rows.iter().map(|part| &part.entry).chain(&self.objects)
    }
}

async fn read_json<T: DeserializeOwned>(
    store: &dyn Store,
    key: &str,
) -> Result<Option<T>, Failure> {
    let Some(tagged) = store.get_tagged(key).await? else { return Ok(None) };
    serde_json::from_slice(&tagged.bytes).map(Some).map_err(|error| {
        Failure::new(format!("{key} in {} is not understood: {error}", store.url()))
    })
}

async fn write_json(store: &dyn Store, key: &str, value: &impl Serialize) -> Result<(), Failure> {
    let bytes = Bytes::from(serde_json::to_vec(value)?);
    Ok(store.put(key, bytes, PutOptions::default()).await?)
}

/// Which store of the scan an object belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Site,
    Archive,
}

impl Source {
    fn folder(self) -> &'static str {
        match self {
            Self::Site => "site/",
            Self::Archive => "archive/",
        }
    }

    /// The name in the backup of an object of this store.
    pub(super) fn backup_key(self, key: &str) -> String {
        format!("{}{key}", self.folder())
    }

    /// The store and the name there of an object of the backup.
    pub(super) fn of(backup_key: &str) -> Option<(Self, &str)> {
        [Self::Site, Self::Archive]
            .into_iter()
            .find_map(|source| Some((source, backup_key.strip_prefix(source.folder())?)))
    }
}

/// One note of what is copied.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    rows: Vec<Part>,
    objects: Vec<Entry>,
}

/// What is copied already, by an earlier backup of the same scan too.
pub(super) struct Journal {
    pub(super) store: Arc<dyn Store>,
    rows: HashMap<String, Part>,
    objects: HashMap<String, Entry>,
    notes: u64,
    /// Sizes of what the store has: a note is not enough where somebody deleted the object.
    held: HashMap<String, u64>,
}

impl Journal {
    /// Reads what is there of a backup of the scan with this row.
    pub(super) async fn open(store: Arc<dyn Store>, row: &Value) -> Result<Self, Failure> {
        let mut journal = Self {
            rows: HashMap::new(),
            objects: HashMap::new(),
            notes: 0,
            held: HashMap::new(),
            store,
        };
        let store = Arc::clone(&journal.store);
        if let Some(whole) = read_json::<Backup>(&*store, LIST).await? {
            if whole.scan["scan_id"] != row["scan_id"] {
                return Err(Failure::new(format!(
                    "{} holds a backup of scan {}; give another place with --to",
                    store.url(),
                    whole.scan["scan_id"].as_str().unwrap_or("?")
                )));
            }
            if whole.scan == *row && whole.tables == everytab_coordinator::tables_digest() {
                journal.add(Note { rows: whole.rows, objects: whole.objects });
            }
        }
        for folder in ["archive/", "rows/", "site/"] {
            let listed = store.list_all(folder).await?;
            journal.held.extend(listed.into_iter().map(|object| (object.key, object.size)));
        }
        let of = read_json::<Value>(&*store, PROGRESS_OF).await?;
        let notes = store.list_all(PROGRESS).await?;
        if of.as_ref() == Some(&journal.of(row)) {
            for note in notes.iter().filter(|note| note.key != PROGRESS_OF) {
                journal.notes += 1;
                if let Some(note) = read_json(&*store, &note.key).await? {
                    journal.add(note);
                }
            }
        } else {
            let keys: Vec<String> = notes.into_iter().map(|note| note.key).collect();
            store.delete(&keys).await?;
            write_json(&*store, PROGRESS_OF, &journal.of(row)).await?;
        }
        Ok(journal)
    }

    /// What the notes are good for: this scan as it is, in these tables.
    fn of(&self, row: &Value) -> Value {
        serde_json::json!({"scan": row, "tables": everytab_coordinator::tables_digest()})
    }

    fn add(&mut self, note: Note) {
        self.rows.extend(note.rows.into_iter().map(|part| (part.entry.key.clone(), part)));
        self.objects.extend(note.objects.into_iter().map(|entry| (entry.key.clone(), entry)));
    }

    /// Rows that are saved already; of none, nothing is written.
    pub(super) fn part(&self, key: &str) -> Option<&Part> {
        self.rows.get(key).filter(|part| part.count == 0 || self.holds(&part.entry))
    }

    /// An object that is copied already.
    pub(super) fn object(&self, key: &str) -> Option<&Entry> {
        self.objects.get(key).filter(|entry| self.holds(entry))
    }

    fn holds(&self, entry: &Entry) -> bool {
        self.held.get(&entry.key) == Some(&entry.size)
    }

    pub(super) async fn note_part(&mut self, part: &Part) -> Result<(), Failure> {
        self.note(Note { rows: vec![part.clone()], objects: Vec::new() }).await
    }

    pub(super) async fn note_objects(&mut self, objects: &[Entry]) -> Result<(), Failure> {
        self.note(Note { rows: Vec::new(), objects: objects.to_vec() }).await
    }

    async fn note(&mut self, note: Note) -> Result<(), Failure> {
        write_json(&*self.store, &format!("{PROGRESS}{:08}.json", self.notes), &note).await?;
        self.notes += 1;
        self.add(note);
        Ok(())
    }

    /// Writes the list, which makes the backup whole, and forgets the notes.
    pub(super) async fn finish(&self, backup: &Backup) -> Result<(), Failure> {
        write_json(&*self.store, LIST, backup).await?;
        let notes = self.store.list_all(PROGRESS).await?;
        let keys: Vec<String> = notes.into_iter().map(|note| note.key).collect();
        Ok(self.store.delete(&keys).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_backup_lead_back_to_their_stores() {
        let key = "scans/1/tabs/0.json";
        let site = Source::Site.backup_key(key);
        assert_eq!(site, "site/scans/1/tabs/0.json");
        assert_eq!(Source::of(&site), Some((Source::Site, key)));
        let archive = Source::Archive.backup_key("archive/1/0-1.warc.gz");
        assert_eq!(Source::of(&archive), Some((Source::Archive, "archive/1/0-1.warc.gz")));
        assert_eq!(Source::of("rows/jobs/0.jsonl.gz"), None);
    }

    #[test]
    fn other_bytes_are_told_from_those_that_were_backed_up() {
        let entry = Entry::of("k".into(), b"abc");
        assert!(entry.check(b"abc").is_ok());
        let message = entry.check(b"abd").unwrap_err().message;
        assert!(message.contains("damaged") && message.contains('k'), "{message}");
    }

    #[tokio::test]
    async fn notes_are_read_back_only_for_the_scan_they_were_made_of() {
        let folder = tempfile::TempDir::new().unwrap();
        let url = folder.path().display().to_string();
        let store = everytab_storage::open(&url, &Default::default()).await.unwrap();
        let row = serde_json::json!({"scan_id": "a", "finished_at": 1});
        let entry = Entry::of("site/x".into(), b"x");
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
