//! Edits the files of best results and the word files during a removal, before the host's line in
//! the name files, which is needed to find them.

use std::{
    collections::{BTreeSet, HashMap, HashSet, hash_map::Entry},
    future::ready,
};

use everytab_bundler::{
    object_names::{
        search_index_path, search_range_prefix, search_words_file_path, search_words_index_path,
        search_words_prefix,
    },
    search::{
        SearchEntry, SearchFileError,
        answers::{BEST_PREFIX, TOP_FILE, best_file},
        index::{files_that_may_hold, first_keys_of, read_index, write_index},
        key::range_of_key,
        range_of, read_lines, search_key,
        words::{read_word_lines, words_of, write_word_lines},
        write_lines,
    },
};
use everytab_storage::{ObjectChange, StorageError, Tagged};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::search_files::{Changes, RemovalError, ScanObjects};
use crate::site_objects::{CONCURRENT_OBJECTS, put_options};

#[derive(Debug, Clone, Copy)]
enum Kind {
    Names,
    Words,
}

impl Kind {
    fn prefix(self, range: usize) -> String {
        match self {
            Self::Names => search_range_prefix(range),
            Self::Words => search_words_prefix(range),
        }
    }

    fn index(self, range: usize) -> String {
        match self {
            Self::Names => search_index_path(range),
            Self::Words => search_words_index_path(range),
        }
    }
}

struct Folder {
    path: String,
    first_keys: Vec<String>,
    /// The keys of the existing files of best results. They come from a listing, because an index
    /// that an earlier removal renewed does not list them.
    best: HashSet<String>,
}

impl Folder {
    /// There is one file for each prefix of the key, and one for the range's best hosts.
    fn best_of(&self, key: &str) -> impl Iterator<Item = String> {
        let ends = key.char_indices().map(|(at, character)| at + character.len_utf8());
        let paths = ends.filter_map(|end| best_file(&key[..end])).chain([TOP_FILE.to_owned()]);
        paths.map(|path| self.path.clone() + &path).filter(|path| self.best.contains(path))
    }
}

pub(super) struct AnswerFiles<'a>(pub(super) ScanObjects<'a>);

impl AnswerFiles<'_> {
    /// `hosts` are the current lines in the name files.
    pub(super) async fn edit(
        &self,
        hosts: &[SearchEntry],
        changes: Changes<'_>,
    ) -> Result<(), RemovalError> {
        let mut of_names = BTreeSet::new();
        let mut folders = HashMap::new();
        for host in hosts {
            let folder = self.folder(&mut folders, Kind::Names, range_of(&host.hostname)).await?;
            of_names.extend(folder.best_of(&search_key(&host.hostname)));
        }
        let edits = of_names.into_iter().map(|key| self.edit_names(key, changes));
        let edits: Vec<_> = edits.collect();
        stream::iter(edits).buffered(CONCURRENT_OBJECTS).try_collect::<Vec<()>>().await?;
        self.edit_words(hosts, changes).await
    }

    pub(super) async fn edit_words(
        &self,
        hosts: &[SearchEntry],
        changes: Changes<'_>,
    ) -> Result<(), RemovalError> {
        let (mut files, mut removed) = (BTreeSet::new(), BTreeSet::new());
        let mut folders = HashMap::new();
        for host in hosts {
            for word in words_of(host) {
                let range = range_of_key(&word);
                let folder = self.folder(&mut folders, Kind::Words, range).await?;
                files.extend(folder.best_of(&word));
                let numbers = files_that_may_hold(&folder.first_keys, &word);
                files
                    .extend(numbers.map(|number| self.key(&search_words_file_path(range, number))));
                if changes.removed.contains(host.hostname.as_str()) {
                    removed.insert(word);
                }
            }
        }
        let edits: Vec<_> =
            files.into_iter().map(|key| self.edit_word_file(key, changes)).collect();
        stream::iter(edits).buffered(CONCURRENT_OBJECTS).try_collect::<Vec<()>>().await?;
        for (range, folder) in folders {
            if folder.first_keys.iter().any(|first| removed.contains(first)) {
                self.renew_index(range, folder, &removed).await?;
            }
        }
        Ok(())
    }

    fn key(&self, path: &str) -> String {
        format!("{}{path}", self.0.prefix)
    }

    async fn folder<'f>(
        &self,
        folders: &'f mut HashMap<usize, Folder>,
        kind: Kind,
        range: usize,
    ) -> Result<&'f Folder, RemovalError> {
        Ok(match folders.entry(range) {
            Entry::Occupied(folder) => folder.into_mut(),
            Entry::Vacant(place) => {
                let path = self.key(&kind.prefix(range));
                let index = self.get(&self.key(&kind.index(range))).await?;
                let first_keys = index.map(|index| read_index(&index.bytes)).unwrap_or_default();
                let listed = self.0.site.list_all(&format!("{path}{BEST_PREFIX}")).await?;
                let best = listed.into_iter().map(|object| object.key).collect();
                place.insert(Folder { path, first_keys, best })
            }
        })
    }

    async fn edit_names(&self, key: String, changes: Changes<'_>) -> Result<(), RemovalError> {
        let edited = |bytes: &[u8]| {
            let mut lines = read_lines(bytes)?;
            lines.retain_mut(|line| changes.apply(line));
            Ok(write_lines(&lines))
        };
        self.update(&key, |before| changed(&key, before, edited)).await
    }

    async fn edit_word_file(&self, key: String, changes: Changes<'_>) -> Result<(), RemovalError> {
        let edited = |bytes: &[u8]| {
            let mut lines = read_word_lines(bytes)?;
            lines.retain_mut(|line| changes.apply(&mut line.entry));
            Ok(write_word_lines(lines.iter().map(|line| (&*line.word, &line.entry))))
        };
        self.update(&key, |before| changed(&key, before, edited)).await
    }

    /// A word may reveal most of a hostname, so an entry with a removed word gets its file's
    /// current first word.
    async fn renew_index(
        &self,
        range: usize,
        folder: Folder,
        removed: &BTreeSet<String>,
    ) -> Result<(), RemovalError> {
        let mut first_words: Vec<Option<String>> =
            folder.first_keys.into_iter().map(Some).collect();
        for (number, first) in first_words.iter_mut().enumerate() {
            if first.as_ref().is_some_and(|first| removed.contains(first)) {
                let key = self.key(&search_words_file_path(range, number));
                let file = self.get(&key).await?;
                let lines = file.map(|file| read_word_lines(&file.bytes)).transpose();
                let lines = lines.map_err(|error| not_understood(&key, &error))?;
                *first = lines.unwrap_or_default().into_iter().next().map(|line| line.word);
            }
        }
        let text = write_index(&first_keys_of(&first_words));
        let key = self.key(&search_words_index_path(range));
        self.update(&key, |_| Ok(ObjectChange::Write(text.clone().into(), ()))).await
    }

    async fn update(
        &self,
        key: &str,
        change: impl Fn(Option<Tagged>) -> Result<ObjectChange<()>, RemovalError> + Send + Sync,
    ) -> Result<(), RemovalError> {
        self.0.heartbeat.beat();
        self.0.site.update(key, put_options(key), |before| ready(change(before))).await
    }

    async fn get(&self, key: &str) -> Result<Option<Tagged>, StorageError> {
        self.0.heartbeat.beat();
        self.0.site.get_tagged(key).await
    }
}

fn changed(
    key: &str,
    before: Option<Tagged>,
    edited: impl Fn(&[u8]) -> Result<String, SearchFileError>,
) -> Result<ObjectChange<()>, RemovalError> {
    let Some(before) = before else { return Ok(ObjectChange::Keep(())) };
    let text = edited(&before.bytes).map_err(|error| not_understood(key, &error))?;
    Ok(if text.as_bytes() == &before.bytes[..] {
        ObjectChange::Keep(())
    } else {
        ObjectChange::Write(text.into(), ())
    })
}

fn not_understood(key: &str, error: &SearchFileError) -> RemovalError {
    RemovalError::NotUnderstood(format!("{key} is not a search file: {error}"))
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, sync::Arc};

    use everytab_bundler::{
        object_names::{SEARCH_REMOVED_PATH, scan_prefix, search_part},
        removed_hosts::RemovedHosts,
        search::{part::write_part, ranks::HostRanks},
    };
    use everytab_fetcher::Heartbeat;
    use everytab_storage::{PutOptions, Store, StoreSettings};
    use uuid::Uuid;

    use super::{super::search_files::SearchFiles, *};
    use crate::search::{merge_range, merge_words};

    async fn texts(store: &dyn Store) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for object in store.list_all("scans/").await.unwrap() {
            let bytes = store.get(&object.key).await.unwrap();
            texts.push((object.key, String::from_utf8(bytes.to_vec()).unwrap()));
        }
        texts
    }

    async fn with_part(
        folder: &std::path::Path,
        entries: Vec<SearchEntry>,
        ranked: &[String],
    ) -> (Arc<dyn Store>, HostRanks) {
        let url = format!("file://{}", folder.display());
        let store = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        let part = write_part(entries).into();
        let key = search_part(Uuid::nil(), 0);
        store.put(&key, part, PutOptions::default()).await.unwrap();
        let ranks = HostRanks::read(HostRanks::write(ranked).as_bytes(), |_| true);
        (store, ranks)
    }

    async fn merge_names(store: &Arc<dyn Store>, ranks: &HostRanks, range: usize) {
        let archive = Arc::clone(store);
        let heartbeat = Heartbeat::default();
        let merged =
            merge_range(archive, &**store, Uuid::nil(), vec![0], range, ranks, &heartbeat).await;
        merged.unwrap();
    }

    async fn remove(store: &dyn Store, hostname: &str) {
        let prefix = scan_prefix(Uuid::nil());
        let heartbeat = Heartbeat::default();
        let objects = ScanObjects::new(store, &prefix, &heartbeat);
        let excluded = RemovedHosts::from_iter([hostname]);
        let found = objects.find(&excluded).await.unwrap();
        assert_eq!(found.entries.len(), 1, "{hostname}");
        objects.correct_search(&found, &[]).await.unwrap();
    }

    #[tokio::test]
    async fn a_host_that_is_removed_before_the_words_are_written_gets_none() {
        let folder = tempfile::TempDir::new().unwrap();
        let host = |i: i32| format!("a-name{i:04}.com");
        let titled = |i| SearchEntry::new(host(i), 0, i).with_title(&format!("Zebra{i} Shop"));
        let ranked: Vec<String> = (0..900).map(host).collect();
        let entries = (0..3_500).map(titled).collect();
        let (store, ranks) = with_part(folder.path(), entries, &ranked).await;
        merge_names(&store, &ranks, range_of("a")).await;
        remove(&*store, &host(0)).await;
        let holding = async |text: &str| -> Vec<String> {
            let texts = texts(&*store).await.into_iter();
            texts.filter(|(_, content)| content.contains(text)).map(|(key, _)| key).collect()
        };
        assert_eq!(holding(&host(0)).await, Vec::<String>::new());
        let archive = Arc::clone(&store);
        let heartbeat = Heartbeat::default();
        merge_words(archive, &*store, Uuid::nil(), vec![0], &ranks, &heartbeat).await.unwrap();
        for text in [host(0).as_str(), "Zebra0 ", "zebra0\t", "name0000"] {
            assert_eq!(holding(text).await, Vec::<String>::new(), "{text}");
        }
        assert!(holding(&host(1)).await.iter().any(|key| key.contains("/search/words/")));
        let notes = store.list_all(&(scan_prefix(Uuid::nil()) + SEARCH_REMOVED_PATH)).await;
        assert_eq!(notes.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_file_of_best_answers_that_the_index_names_no_more_is_changed_too() {
        let folder = tempfile::TempDir::new().unwrap();
        let name = |start: &str, i: i32| format!("{start}{i:04}.com");
        let names = (0..1_000).map(|i| name("ar", i)).chain((0..1_001).map(|i| name("as", i)));
        let names = names.chain((0..9).map(|i| name("at", i)));
        let entries = (0..).zip(names).map(|(i, name)| SearchEntry::new(name, 0, i)).collect();
        let (first, second) = (name("as", 1_000), name("as", 0));
        let ranked = [first.clone(), second.clone()];
        let (store, ranks) = with_part(folder.path(), entries, &ranked).await;
        merge_names(&store, &ranks, range_of("a")).await;
        let best = scan_prefix(Uuid::nil()) + &search_range_prefix(1) + "best/as.tsv";
        let before = String::from_utf8(store.get(&best).await.unwrap().to_vec()).unwrap();
        assert!(before.contains(&first) && before.contains(&second), "{before}");
        // The file that started with this line now starts with another one.
        remove(&*store, &first).await;
        remove(&*store, &second).await;
        for (key, text) in texts(&*store).await {
            assert!(!text.contains(&first) && !text.contains(&second), "{key}");
        }
    }

    #[tokio::test]
    async fn a_removed_host_is_in_no_search_file_and_a_moved_one_is_where_it_is_now() {
        let folder = tempfile::TempDir::new().unwrap();
        let scan_id = Uuid::nil();
        let heartbeat = Heartbeat::default();
        let host = |i: i32| format!("a-name{i:04}.com");
        let entries = (0..3_500).map(|i| {
            let title = format!("Zebra{i} Shop Number {}", i % 7);
            SearchEntry::new(host(i), i / 120, i % 120).with_title(&title)
        });
        let ranked: Vec<String> = (0..900).map(|i| host(i * 3)).collect();
        let (store, ranks) = with_part(folder.path(), entries.collect(), &ranked).await;
        merge_names(&store, &ranks, range_of("a")).await;
        let site = Arc::clone(&store);
        merge_words(store, &*site, scan_id, vec![0], &ranks, &heartbeat).await.unwrap();
        let before = texts(&*site).await;
        let (gone, moved) = (host(0), host(3));
        let holds = |texts: &[(String, String)], text: &str| -> Vec<String> {
            let found = texts.iter().filter(|(_, content)| content.contains(text));
            found.map(|(key, _)| key.rsplit("search/").next().unwrap().to_owned()).collect()
        };
        let files = holds(&before, &gone);
        for file in ["1/0.tsv", "1/best/a.tsv", "1/best/a-name.tsv"] {
            assert!(files.iter().any(|name| name == file), "{file} in {files:?}");
        }
        assert!(files.iter().filter(|name| name.starts_with("words/")).count() > 8, "{files:?}");
        let places = HashMap::from([(moved.clone(), (77, 78))]);
        let removed = HashSet::from([gone.as_str()]);
        let prefix = scan_prefix(scan_id);
        let changes = Changes { moved: &places, removed: &removed };
        let objects = ScanObjects::new(&*site, &prefix, &heartbeat);
        let names = SearchFiles(objects);
        let lines = names.lines_that_change(changes).await.unwrap();
        AnswerFiles(objects).edit(&lines, changes).await.unwrap();
        names.edit(changes).await.unwrap();
        let after = texts(&*site).await;
        for text in [gone.as_str(), "Zebra0 ", "zebra0\t"] {
            assert_eq!(holds(&after, text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(holds(&before, &moved), holds(&after, &moved));
        for (key, text) in &after {
            for line in text.lines().filter(|line| line.contains(&moved)) {
                assert!(line.contains("\t77\t78") || key.ends_with("index.tsv"), "{key}: {line}");
            }
        }
        assert_eq!(before.len(), after.len());
    }
}
