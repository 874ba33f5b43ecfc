//! A scan's host ranks. `scan start` writes them into the archive, so that every search job reads
//! the same bytes.

use std::sync::Arc;

use everytab_bundler::{
    object_names,
    search::ranks::{HostRanks, RANKED_HOSTS},
};
use everytab_commoncrawl::host_ranks::{
    GRAPH_LIST, GRAPHS, graph_ids, host_ranks_path, is_graph_id, read_host_ranks,
};
use everytab_console::OperationError;
use everytab_jobs::{
    scan_settings::{PinnedRanks, ScanSettings},
    site_objects::put_options,
};
use everytab_storage::{StorageError, Store, StoreSettings};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::source::{self, NoNames};

/// The value of `--host-ranks` for the source's newest ranks.
pub const LATEST: &str = "latest";
/// The value of `--host-ranks` for a scan without ranks.
pub const NONE: &str = "none";

/// At most this many bytes of the file are read. A million lines take about 28 MB, compressed.
const READ_BYTES: u64 = 48 << 20;
/// Bytes per request.
const REQUEST_BYTES: u64 = 8 << 20;

pub(crate) struct FoundRanks {
    pub(crate) pinned: PinnedRanks,
    list: String,
}

/// Returns `None` if the scan has no ranks, or the source has no `latest` ranks.
pub(crate) async fn find(
    asked: &str,
    settings: &ScanSettings,
) -> Result<Option<FoundRanks>, OperationError> {
    let source = source::open(&settings.source, settings.source_is_public).await?;
    let (store, key) = match asked {
        NONE => return Ok(None),
        LATEST => match newest(&*source, settings.source_is_public).await? {
            Some(key) => (source, key),
            None => {
                let place = source.url();
                tracing::warn!(
                    "{place} has no host ranks, so search orders names by length; set --host-ranks \
                     to a file with ranks"
                );
                return Ok(None);
            }
        },
        named => of_name(named, source).await?,
    };
    let read_from = format!("{}/{key}", store.url().trim_end_matches('/'));
    let gzip = first_part(&*store, &key).await.map_err(unreadable)?.ok_or_else(|| {
        OperationError::usage(format!("--host-ranks {asked}: {read_from} does not exist"))
    })?;
    let hosts = read_host_ranks(&gzip, RANKED_HOSTS).map_err(|error| {
        OperationError::usage(format!(
            "--host-ranks {asked}: {read_from}: {error}; use --host-ranks none to start without \
             ranks"
        ))
    })?;
    let list = HostRanks::write(&hosts);
    let count = hosts.len() as u64;
    let sha256 = hex::encode(Sha256::digest(&list));
    tracing::info!(read_from, bytes = gzip.len(), hosts = count, "found host ranks for search");
    let pinned = PinnedRanks { asked: asked.to_owned(), read_from, hosts: count, sha256 };
    Ok(Some(FoundRanks { pinned, list }))
}

impl FoundRanks {
    pub(crate) async fn write(&self, archive: &str, scan_id: Uuid) -> Result<(), OperationError> {
        let key = object_names::host_ranks(scan_id);
        let archive = everytab_storage::open(archive, &StoreSettings::default()).await?;
        Ok(archive.put(&key, self.list.clone().into(), put_options(&key)).await?)
    }
}

/// The ranks remain if the store fails, which is harmless because no scan reads them.
pub(crate) async fn delete(archive: &str, scan_id: Uuid) {
    let key = object_names::host_ranks(scan_id);
    let deleted = match everytab_storage::open(archive, &StoreSettings::default()).await {
        Ok(archive) => archive.delete(std::slice::from_ref(&key)).await,
        Err(error) => Err(error),
    };
    if let Err(error) = deleted {
        tracing::warn!(archive, key, "the host ranks of a scan that did not start remain: {error}");
    }
}

/// Returns true if a scan with these ranks matches `asked`, the value of `--host-ranks`. A scan
/// without ranks matches both `latest` and `none`.
pub fn is_of(found: Option<&PinnedRanks>, asked: &str) -> bool {
    match found {
        Some(found) => found.asked == asked,
        None => [LATEST, NONE].contains(&asked),
    }
}

async fn newest(store: &dyn Store, is_public: bool) -> Result<Option<String>, OperationError> {
    let graphs = match source::list_of(store, is_public, GRAPH_LIST).await {
        Ok(list) => graph_ids(&list)
            .map_err(|error| OperationError::new(format!("{GRAPH_LIST}: {error}")))?,
        Err(missing) => match source::folders_below(store, GRAPHS, in_order, missing).await {
            Ok(graphs) => graphs,
            Err(NoNames::Missing(_)) => Vec::new(),
            Err(NoNames::Unreadable(error)) => return Err(unreadable(error)),
        },
    };
    let found = source::first_published(store, graphs, host_ranks_path).await;
    Ok(found.map_err(unreadable)?.ok().map(|graph| host_ranks_path(&graph)))
}

/// It is better to start later than to publish a month's site without ranks.
fn unreadable(error: StorageError) -> OperationError {
    OperationError::new(format!(
        "cannot read host ranks for search: {error}; start the scan again later, or use \
         --host-ranks none to start it without ranks"
    ))
}

fn in_order(folders: &[String]) -> Vec<String> {
    let names = folders.iter().map(|folder| folder.trim_end_matches('/'));
    let mut graphs: Vec<String> =
        names.filter(|name| is_graph_id(name)).map(str::to_owned).collect();
    graphs.sort_by_key(|graph| std::cmp::Reverse(month_of(graph)));
    graphs
}

/// Returns the year and month in which a graph's crawls end: 2026 and 2 for
/// `cc-main-2025-26-dec-jan-feb`.
fn month_of(graph: &str) -> (u32, usize) {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let year = graph.rsplit('-').find_map(|part| part.parse::<u32>().ok());
    let year = year.map_or(0, |year| if year < 100 { 2000 + year } else { year });
    let month = graph.rsplit('-').next().unwrap_or_default();
    (year, MONTHS.iter().position(|name| month.starts_with(name)).map_or(0, |month| month + 1))
}

async fn of_name(
    name: &str,
    source: Arc<dyn Store>,
) -> Result<(Arc<dyn Store>, String), OperationError> {
    let place = match name {
        path if path.starts_with('/') || path.starts_with("./") => std::path::absolute(path)
            .ok()
            .and_then(|path| url::Url::from_file_path(path).ok())
            .map(String::from),
        url if url.contains("://") => Some(url.to_owned()),
        _ => return Ok((source, name.to_owned())),
    };
    let parts = place.as_deref().and_then(|place| place.rsplit_once('/'));
    let Some((folder, key)) = parts.filter(|(_, key)| !key.is_empty()) else {
        return Err(OperationError::usage(format!("--host-ranks {name:?} does not name a file")));
    };
    let needs_no_credentials = !folder.starts_with("s3://");
    Ok((source::open(folder, needs_no_credentials).await?, key.to_owned()))
}

async fn first_part(store: &dyn Store, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
    let Some(info) = store.head(key).await? else { return Ok(None) };
    let end = info.size.min(READ_BYTES);
    let mut bytes = Vec::new();
    let mut start = 0;
    while start < end {
        let next = end.min(start + REQUEST_BYTES);
        bytes.extend_from_slice(&store.get_range(key, start..next).await?);
        start = next;
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _, path::Path};

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        fs::write(path, gzip.finish().unwrap()).unwrap();
    }

    const RANKS: &str = "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\n\
                         1\t3.4E7\t3\t0.005\tcom.facebook\n2\t3.4E7\t2\t0.007\torg.w.www\n";

    fn pinned(found: Option<FoundRanks>) -> Option<PinnedRanks> {
        found.map(|found| found.pinned)
    }

    #[tokio::test]
    async fn ranks_that_cannot_be_read_for_the_moment_are_no_missing_ranks() {
        let root = tempfile::tempdir().unwrap();
        let url = |name: &str| format!("file://{}", root.path().join(name).display());
        let settings = ScanSettings::new(url("crawl"), url("archive"), url("site"));
        let crawl = root.path().join("crawl");
        let list = crawl.join(GRAPH_LIST);
        fs::create_dir_all(&crawl).unwrap();
        std::os::unix::fs::symlink(GRAPH_LIST, &list).unwrap();
        let refused = async || find(LATEST, &settings).await.map(pinned).unwrap_err().message;
        let message = refused().await;
        for part in [GRAPH_LIST, "again later", "--host-ranks none"] {
            assert!(message.contains(part), "{message}");
        }
        fs::remove_file(&list).unwrap();
        fs::write(&list, r#"[{"id": "cc-main-2026-jan-feb-mar"}]"#).unwrap();
        let ranks = crawl.join(host_ranks_path("cc-main-2026-jan-feb-mar"));
        fs::create_dir_all(ranks.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(ranks.file_name().unwrap(), &ranks).unwrap();
        let message = refused().await;
        assert!(message.contains("--host-ranks none"), "{message}");
    }

    #[tokio::test]
    async fn the_newest_ranks_are_found_and_written_into_the_archive_for_every_job() {
        let root = tempfile::tempdir().unwrap();
        let url = |name: &str| format!("file://{}", root.path().join(name).display());
        let settings = ScanSettings::new(url("crawl"), url("archive"), url("site"));
        let ranks = async |asked: &str| find(asked, &settings).await.map(pinned);
        fs::create_dir_all(root.path().join("crawl")).unwrap();
        assert_eq!(ranks(LATEST).await.unwrap(), None);
        assert_eq!(ranks(NONE).await.unwrap(), None);
        let crawl = root.path().join("crawl");
        for graph in ["cc-main-2025-oct-nov-dec", "cc-main-2025-26-nov-dec-jan"] {
            write(&crawl, &host_ranks_path(graph), RANKS);
        }
        write(&crawl, "projects/hyperlinkgraph/cc-main-2026-jan-feb-mar/host/x.gz", RANKS);
        let pinned = ranks(LATEST).await.unwrap().unwrap();
        assert!(pinned.read_from.contains("2025-26-nov-dec-jan"), "{}", pinned.read_from);
        assert_eq!((pinned.hosts, pinned.asked.as_str()), (2, LATEST));
        let found = find(LATEST, &settings).await.unwrap().unwrap();
        found.write(&settings.archive, Uuid::nil()).await.unwrap();
        let path = root.path().join("archive").join(object_names::host_ranks(Uuid::nil()));
        let list = fs::read(&path).unwrap();
        assert_eq!(list, b"facebook.com\nw.org\n");
        assert_eq!(found.pinned.sha256, hex::encode(Sha256::digest(&list)));
        delete(&settings.archive, Uuid::nil()).await;
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_missing_or_broken_file_is_named_before_the_scan_starts() {
        let root = tempfile::tempdir().unwrap();
        let url = |name: &str| format!("file://{}", root.path().join(name).display());
        let settings = ScanSettings::new(url("crawl"), url("archive"), url("site"));
        let refused =
            async |asked: &str| find(asked, &settings).await.map(pinned).unwrap_err().message;
        fs::create_dir_all(root.path().join("crawl")).unwrap();
        let missing = refused("projects/none.gz").await;
        assert!(missing.contains("projects/none.gz does not exist"), "{missing}");
        fs::write(root.path().join("crawl/page.html"), "<html>no ranks here</html>").unwrap();
        let broken = refused(&url("crawl/page.html")).await;
        assert!(broken.contains("gzip") && broken.contains("--host-ranks none"), "{broken}");
        assert!(refused("https://a.example/").await.contains("does not name a file"));
    }

    #[test]
    fn a_scan_is_the_same_if_it_asked_for_the_same_ranks() {
        let pinned = PinnedRanks {
            asked: "x.gz".into(),
            read_from: "file:///x.gz".into(),
            hosts: 1,
            sha256: String::new(),
        };
        assert!(is_of(Some(&pinned), "x.gz") && is_of(None, LATEST) && is_of(None, NONE));
        assert!(!is_of(Some(&pinned), LATEST) && !is_of(None, "x.gz"));
    }
}
