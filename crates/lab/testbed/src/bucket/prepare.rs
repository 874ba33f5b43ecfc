//! Creates the directory `bucket` in the scratch directory, or reuses it. `bucket.json` next to it
//! is written last, so that an unfinished directory is never used.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::layout;
use crate::{
    error::TestbedError,
    generate::{self, World},
};

const TABLES: &str = "cc-index/table/cc-main/warc";
const NOT_SERVED: [&str; 5] = ["index", "icons", "expected", "suites", "hosts"];

pub(crate) struct Prepared {
    pub(crate) bucket: PathBuf,
    pub(crate) crawl: String,
}

pub(crate) fn generated(
    world: &World,
    seed: u64,
    scratch: &Path,
) -> Result<Prepared, TestbedError> {
    let hosts = world.hosts();
    let version = generate::VERSION;
    let description = json!({"generated": version, "seed": seed, "hosts": hosts}).to_string();
    let crawl = generate::CRAWL.to_owned();
    let bucket = make(scratch, &description, |folder| generate::write(world, folder))?;
    Ok(Prepared { bucket, crawl })
}

pub(crate) fn empty(scratch: &Path) -> Result<Prepared, TestbedError> {
    let bucket = make(scratch, "", |folder| layout::write_collections(folder, &[]))?;
    Ok(Prepared { bucket, crawl: String::new() })
}

pub(crate) fn recorded(dir: &Path, scratch: &Path) -> Result<Prepared, TestbedError> {
    let dir = dir.canonicalize().map_err(TestbedError::file(dir))?;
    let tables = dir.join("index").join(TABLES);
    let mut crawls: Vec<String> = names(&tables)?
        .iter()
        .filter_map(|name| name.strip_prefix("crawl=").map(str::to_owned))
        .collect();
    crawls.sort();
    let Some(newest) = crawls.last().cloned() else {
        return Err(TestbedError::Settings(format!(
            "no crawl=... directory in {}",
            tables.display()
        )));
    };
    let bucket = make(scratch, "", |folder| link_recorded(&dir, &crawls, folder))?;
    Ok(Prepared { bucket, crawl: newest })
}

fn link_recorded(dir: &Path, crawls: &[String], bucket: &Path) -> Result<(), TestbedError> {
    link(&dir.join("index/cc-index"), &bucket.join("cc-index"))?;
    for name in names(dir)? {
        let path = dir.join(&name);
        if path.is_dir() && !NOT_SERVED.contains(&name.as_str()) && name != "crawl-data" {
            link(&path, &bucket.join(&name))?;
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
                let path = bucket.join("crawl-data").join(crawl).join(&name);
                if !path.exists() {
                    link(&recorded.join(&name), &path)?;
                }
            }
        }
    }
    layout::write_collections(bucket, crawls)
}

/// Symbolic links do not work, because the store rejects links that point outside its directory.
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

fn names(folder: &Path) -> Result<Vec<String>, TestbedError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(TestbedError::file(folder))? {
        let entry = entry.map_err(TestbedError::file(folder))?;
        names.extend(entry.file_name().to_str().map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn make(
    scratch: &Path,
    description: &str,
    build: impl FnOnce(&Path) -> Result<(), TestbedError>,
) -> Result<PathBuf, TestbedError> {
    fs::create_dir_all(scratch).map_err(TestbedError::file(scratch))?;
    let scratch = scratch.canonicalize().map_err(TestbedError::file(scratch))?;
    let bucket = scratch.join("bucket");
    let description_path = scratch.join("bucket.json");
    let held = fs::read_to_string(&description_path).unwrap_or_default();
    if !description.is_empty() && held == description && bucket.is_dir() {
        return Ok(bucket);
    }
    remove(&description_path)?;
    let partial = scratch.join(format!("bucket.partial-{}", std::process::id()));
    remove(&partial)?;
    fs::create_dir(&partial).map_err(TestbedError::file(&partial))?;
    build(&partial).inspect_err(|_| {
        let _ = fs::remove_dir_all(&partial);
    })?;
    remove(&bucket)?;
    fs::rename(&partial, &bucket).map_err(TestbedError::file(&bucket))?;
    fs::write(&description_path, description).map_err(TestbedError::file(&description_path))?;
    Ok(bucket)
}

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
