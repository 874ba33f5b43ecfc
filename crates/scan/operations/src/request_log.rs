//! `publish --request-log`: writes public files that list a scan's requests by host.
//!
//! All tables in the archive are read once, and their lines spilled to 256 compressed temporary
//! files by the host's hash. The index is written last and the private list read after it, so that
//! either this command or a concurrent takedown excludes a host.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _},
    path::PathBuf,
};

use bytes::Bytes;
use everytab_bundler::{
    object_names::{REQUESTS_INDEX_PATH, REQUESTS_PATH, archive, request_file_path, scan_prefix},
    removed_hosts::RemovedHosts,
    request_files::{LinesOfHost, RequestIndex, host_of, write_file},
};
use everytab_commoncrawl::hostname_hash;
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::Coordinator;
use everytab_fetcher::Heartbeat;
use everytab_jobs::{
    publish::{Excluded, PublishRequest},
    removal::ScanObjects,
    request_table::{FoundTable, read_table, requests},
    site_objects::put_options,
};
use everytab_storage::{Store, StoreSettings};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use futures_util::{StreamExt, TryStreamExt, stream};

/// Tables or files that are read or written concurrently.
const CONCURRENT_OBJECTS: usize = 32;
/// Number of temporary files, one for each value of a hash's first byte.
const SPILL_FILES: usize = 256;

/// Options for `publish --request-log`.
#[derive(Debug, Clone)]
pub struct RequestLogOptions {
    /// The directory for temporary files, which take a twentieth more than the public files.
    pub temporary: PathBuf,
    /// The private prefix, which contains the takedown list.
    pub private: Option<String>,
    /// Maximum total bytes in all files.
    pub max_bytes: u64,
}

/// The amount of data that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLogSize {
    /// Requests in the tables.
    pub requests: u64,
    /// Number of public files.
    pub files: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// Writes a published scan's request files.
///
/// # Errors
/// Returns an error if a store, the database or the disk fails, or if the files would exceed
/// `max_bytes`.
pub async fn publish_request_log(
    coordinator: &Coordinator,
    scan: i32,
    request: &PublishRequest,
    options: &RequestLogOptions,
    sink: &dyn LineSink,
) -> Result<RequestLogSize, OperationError> {
    let settings = &request.settings;
    let tables = everytab_storage::open(&settings.archive, &StoreSettings::default()).await?;
    let site = everytab_storage::open(&settings.site, &StoreSettings::default()).await?;
    let id = request.info.scan_id;
    let archives = coordinator.referenced_archives(scan).await?;
    let keys = archives.into_iter().map(|of| archive(id, of.shard, of.lease_number, of.token));
    let spill = spill(&*tables, keys, request.excluded.hosts(), options, sink).await?;
    let index = RequestIndex::for_lines(spill.lines);
    let files = PublicFiles { site: &*site, prefix: scan_prefix(id), index };
    let size = files.write(spill, options.max_bytes).await?;
    let now = Excluded::load(coordinator, scan, options.private.as_deref()).await?;
    let heartbeat = Heartbeat::default();
    ScanObjects::new(&*site, &files.prefix, &heartbeat).remove_requests(now.hosts()).await?;
    Ok(size)
}

async fn spill(
    tables: &dyn Store,
    keys: impl Iterator<Item = String>,
    excluded: &RemovedHosts,
    options: &RequestLogOptions,
    sink: &dyn LineSink,
) -> Result<Spill, OperationError> {
    let mut spill = Spill::new(options)?;
    let mut without = 0;
    let mut reading = stream::iter(keys)
        .map(|key| async move { read_table(tables, &key).await })
        .buffer_unordered(CONCURRENT_OBJECTS);
    while let Some(found) = reading.try_next().await? {
        match found {
            FoundTable::Table(table) => spill.add_table(&table, excluded)?,
            FoundTable::NotKept | FoundTable::NoArchive => without += 1,
        }
    }
    if without > 0 {
        sink.note(format_args!("the request log lacks {without} shards that have no table"));
    }
    Ok(spill)
}

struct Spill {
    files: Vec<GzEncoder<BufWriter<File>>>,
    lines: u64,
}

impl Spill {
    fn new(options: &RequestLogOptions) -> io::Result<Self> {
        let file = |_| {
            let file = tempfile::tempfile_in(&options.temporary)?;
            Ok(GzEncoder::new(BufWriter::new(file), Compression::fast()))
        };
        let files = (0..SPILL_FILES).map(file).collect::<io::Result<_>>()?;
        Ok(Self { files, lines: 0 })
    }

    fn add_table(&mut self, table: &str, excluded: &RemovedHosts) -> io::Result<()> {
        for request in requests(table).filter(|request| !excluded.contain(request.host)) {
            let [first, ..] = hostname_hash(request.host).to_be_bytes();
            self.files[usize::from(first)].write_all(request.text().as_bytes())?;
            self.lines += 1;
        }
        Ok(())
    }
}

fn hosts_of(spilled: GzEncoder<BufWriter<File>>) -> io::Result<BTreeMap<String, LinesOfHost>> {
    let mut file = spilled.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    let mut reader = BufReader::new(GzDecoder::new(BufReader::new(file)));
    let mut hosts: BTreeMap<String, LinesOfHost> = BTreeMap::new();
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let line = std::mem::take(&mut line);
        let host = host_of(&line);
        match hosts.get_mut(host) {
            Some(lines) => lines.add(line),
            None => hosts.entry(host.to_owned()).or_default().add(line),
        }
    }
    Ok(hosts)
}

fn files_of(
    first_byte: usize,
    spilled: GzEncoder<BufWriter<File>>,
    index: RequestIndex,
) -> io::Result<Vec<(u64, Bytes)>> {
    let per_byte = index.files() / SPILL_FILES as u64;
    let first = first_byte as u64 * per_byte;
    let mut by_bucket: BTreeMap<u64, Vec<(String, LinesOfHost)>> =
        (first..first + per_byte).map(|bucket| (bucket, Vec::new())).collect();
    for (host, lines) in hosts_of(spilled)? {
        by_bucket.entry(index.bucket(hostname_hash(&host))).or_default().push((host, lines));
    }
    Ok(by_bucket.into_iter().map(|(bucket, hosts)| (bucket, write_file(hosts).into())).collect())
}

struct PublicFiles<'a> {
    site: &'a dyn Store,
    prefix: String,
    index: RequestIndex,
}

impl PublicFiles<'_> {
    async fn write(&self, spill: Spill, max_bytes: u64) -> Result<RequestLogSize, OperationError> {
        let index = self.index;
        let mut size = RequestLogSize { requests: spill.lines, files: index.files(), bytes: 0 };
        for (first_byte, spilled) in spill.files.into_iter().enumerate() {
            let making = move || files_of(first_byte, spilled, index);
            let files = tokio::task::spawn_blocking(making).await??;
            size.bytes += files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
            if size.bytes > max_bytes {
                self.remove(|_| true).await?;
                return Err(OperationError::new(format!(
                    "the request log would take more than {max_bytes} bytes: {} requests took {} \
                     in {} of {SPILL_FILES} parts; no part of it was published. Publish without \
                     --request-log",
                    size.requests,
                    size.bytes,
                    first_byte + 1
                )));
            }
            let puts = files.into_iter().map(|(bucket, bytes)| async move {
                let key = format!("{}{}", self.prefix, request_file_path(bucket, index.digits));
                self.site.put(&key, bytes, put_options(&key)).await
            });
            stream::iter(puts).buffer_unordered(CONCURRENT_OBJECTS).try_collect::<()>().await?;
        }
        // Files from an earlier run with more or fewer digits have other names.
        let length = request_file_path(0, index.digits).len() + self.prefix.len();
        let index_key = format!("{}{REQUESTS_INDEX_PATH}", self.prefix);
        let bytes = serde_json::to_vec(&index)?;
        self.site.put(&index_key, bytes.into(), put_options(&index_key)).await?;
        self.remove(|key| key.ends_with(".gz") && key.len() != length).await?;
        Ok(size)
    }

    async fn remove(&self, which: impl Fn(&str) -> bool) -> Result<(), OperationError> {
        let listed = self.site.list_all(&format!("{}{REQUESTS_PATH}", self.prefix)).await?;
        let keys: Vec<String> =
            listed.into_iter().map(|object| object.key).filter(|key| which(key)).collect();
        for keys in keys.chunks(1_000) {
            self.site.delete(keys).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use everytab_bundler::request_files::read_file;

    use super::*;

    const TABLE: &str = "header
2026-05-03T12:00:01Z\tGET\tok\t200\t7\thttps://a.example/favicon.ico
2026-05-03T12:00:00Z\tGET\thttp_404_410\t404\t0\thttps://a.example/robots.txt
2026-05-03T12:00:02Z\t-\tconnect_refused\t\t0\thttp://b.example:80/favicon.ico
2026-05-03T12:00:02Z\tGET\tok\t200\t9\thttps://gone.example/icon.png
";

    async fn written(dir: &std::path::Path, max_bytes: u64) -> Result<RequestLogSize, String> {
        let url = format!("file://{}", dir.display());
        let site = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        let temporary = dir.to_owned();
        let mut spill =
            Spill::new(&RequestLogOptions { temporary, private: None, max_bytes }).unwrap();
        spill.add_table(TABLE, &RemovedHosts::from_iter(["gone.example"])).unwrap();
        let prefix = "scans/x/".to_owned();
        let index = RequestIndex { digits: 2 };
        let files = PublicFiles { site: &*site, prefix, index };
        files.write(spill, max_bytes).await.map_err(|error| error.message)
    }

    fn names(dir: &std::path::Path) -> Vec<String> {
        let folder = std::fs::read_dir(dir.join("scans/x/requests"));
        folder
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[tokio::test]
    async fn each_host_is_in_the_file_of_its_hash_by_time() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("scans/x/requests/0123.tsv.gz");
        std::fs::create_dir_all(old.parent().unwrap()).unwrap();
        std::fs::write(&old, "of an earlier time").unwrap();
        let size = written(dir.path(), u64::MAX).await.unwrap();
        assert_eq!((size.requests, size.files, names(dir.path()).len()), (3, 256, 257));
        let lines = |host: &str| {
            let path = request_file_path(hostname_hash(host) >> 56, 2);
            let file = std::fs::read(dir.path().join("scans/x").join(path)).unwrap();
            read_file(&file).unwrap()
        };
        let of_a = "a.example\t2026-05-03T12:00:00Z\tGET\t404\thttp_404_410\t0\t\
                    https://a.example/robots.txt\n\
                    a.example\t2026-05-03T12:00:01Z\tGET\t200\tok\t7\t\
                    https://a.example/favicon.ico\n";
        assert!(lines("a.example").contains(of_a), "{}", lines("a.example"));
        assert!(lines("b.example").contains("b.example\t2026-05-03T12:00:02Z\t-\t\t"));
        assert!(!lines("gone.example").contains("gone.example"));
    }

    #[tokio::test]
    async fn files_that_would_take_more_than_they_may_are_refused_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let error = written(dir.path(), 2_000).await.unwrap_err();
        assert!(
            error.contains("more than 2000 bytes") && error.contains("--request-log"),
            "{error}"
        );
        assert_eq!(names(dir.path()), Vec::<String>::new());
    }
}
