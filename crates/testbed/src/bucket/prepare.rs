//! Makes the bucket's folder, `bucket` in the scratch folder, or takes the one that is there.
//!
//! A folder counts as made only when the note beside it says from what: it is built under another
//! name, renamed, and the note is written last.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::layout;
use crate::error::TestbedError;
use crate::generate::{self, World};

/// Where the tables of all crawls lie, below a bucket.
const TABLES: &str = "cc-index/table/cc-main/warc";
/// Folders of a recorded crawl that are not the bucket's.
const NOT_SERVED: [&str; 5] = ["index", "icons", "expected", "suites", "hosts"];

/// The folder of the bucket and its newest crawl.
pub(crate) struct Prepared {
    pub(crate) bucket: PathBuf,
    pub(crate) crawl: String,
}

/// Generates the crawl, unless the scratch folder holds it already.
pub(crate) fn generated(
    world: &World,
    seed: u64,
    scratch: &Path,
) -> Result<Prepared, TestbedError> {
    let (hosts, version) = (world.hosts(), generate::VERSION);
    let note = json!({"generated": version, "seed": seed, "hosts": hosts}).to_string();
    let crawl = generate::CRAWL.to_owned();
    let bucket = make(scratch, &note, |folder| generate::write(world, folder))?;
    Ok(Prepared { bucket, crawl })
}

/// Lays out a recorded crawl by links into its folder.
pub(crate) fn recorded(dir: &Path, scratch: &Path) -> Result<Prepared, TestbedError> {
    let dir = dir.canonicalize().map_err(TestbedError::file(dir))?;
    let tables = dir.join("index").join(TABLES);
    let mut crawls: Vec<String> = names(&tables)?
        .iter()
        .filter_map(|name| name.strip_prefix("crawl=").map(str::to_owned))
        .collect();
    crawls.sort();
    let Some(newest) = crawls.last().cloned() else {
        return Err(TestbedError::Settings(format!("no crawl=... in {}", tables.display())));
    };
    // Links are cheap and the folder may have changed: always anew.
    let bucket = make(scratch, "", |folder| link_recorded(&dir, &crawls, folder))?;
    Ok(Prepared { bucket, crawl: newest })
}

fn link_recorded(dir: &Path, crawls: &[String], bucket: &Path) -> Result<(), TestbedError> {
    link(&dir.join("index/cc-index"), &bucket.join("cc-index"))?;
    for name in names(dir)? {
        let place = dir.join(&name);
        if place.is_dir() && !NOT_SERVED.contains(&name.as_str()) && name != "crawl-data" {
            link(&place, &bucket.join(&name))?;
        }
    }
    for crawl in crawls {
        let tables = format!("{TABLES}/crawl={crawl}");
        let mut files = Vec::new();
        for subset in names(&dir.join("index").join(&tables))? {
            let folder = format!("{tables}/{subset}");
            let found = names(&dir.join("index").join(&folder))?;
            let parquet = found.iter().filter(|name| name.ends_with(".parquet"));
            files.extend(parquet.map(|name| format!("{folder}/{name}")));
        }
        layout::write_paths(bucket, crawl, "cc-index-table", &files)?;
        let recorded = dir.join("crawl-data").join(crawl);
        if recorded.is_dir() {
            for name in names(&recorded)? {
                let place = bucket.join("crawl-data").join(crawl).join(&name);
                if !place.exists() {
                    link(&recorded.join(&name), &place)?;
                }
            }
        }
    }
    layout::write_collinfo(bucket, crawls)
}

/// Hard links, copies where the file system cannot: a store follows no symbolic link out of itself.
fn link(from: &Path, to: &Path) -> Result<(), TestbedError> {
    if !from.is_dir() {
        return fs::hard_link(from, to)
            .or_else(|_| fs::copy(from, to).map(|_| ()))
            .map_err(TestbedError::file(to));
    }
    fs::create_dir_all(to).map_err(TestbedError::file(to))?;
    for name in names(from)? {
        link(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, TestbedError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(TestbedError::file(folder))? {
        let entry = entry.map_err(TestbedError::file(folder))?;
        names.extend(entry.file_name().to_str().map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Builds `scratch/bucket` unless its note is this one. An empty note fits nothing.
fn make(
    scratch: &Path,
    note: &str,
    build: impl FnOnce(&Path) -> Result<(), TestbedError>,
) -> Result<PathBuf, TestbedError> {
    fs::create_dir_all(scratch).map_err(TestbedError::file(scratch))?;
    let scratch = scratch.canonicalize().map_err(TestbedError::file(scratch))?;
    let bucket = scratch.join("bucket");
    let note_path = scratch.join("bucket.json");
    let held = fs::read_to_string(&note_path).unwrap_or_default();
    if !note.is_empty() && held == note && bucket.is_dir() {
        return Ok(bucket);
    }
    remove(&note_path)?;
    let partial = scratch.join(format!("bucket.partial-{}", std::process::id()));
    remove(&partial)?;
    fs::create_dir(&partial).map_err(TestbedError::file(&partial))?;
    build(&partial).inspect_err(|_| {
        // The first trouble is the one to tell; what is left over is removed by the next start.
        let _ = fs::remove_dir_all(&partial);
    })?;
    remove(&bucket)?;
    fs::rename(&partial, &bucket).map_err(TestbedError::file(&bucket))?;
    fs::write(&note_path, note).map_err(TestbedError::file(&note_path))?;
    Ok(bucket)
}

/// Removes a file or folder of ours; links in it are cut, not followed.
fn remove(path: &Path) -> Result<(), TestbedError> {
    let removed = match path.extension().and_then(OsStr::to_str) {
        Some("json") => fs::remove_file(path),
        _ => fs::remove_dir_all(path),
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TestbedError::file(path)(error))
        }
        _ => Ok(()),
    }
}
