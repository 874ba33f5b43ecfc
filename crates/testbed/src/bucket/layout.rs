//! The lists that name a crawl and its files: `crawl-data/CRAWL/*.paths.gz` and `collinfo.json`.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use flate2::{Compression, GzBuilder};

use crate::error::TestbedError;

/// Writes `crawl-data/CRAWL/LIST.paths.gz`: one object name a line.
pub(crate) fn write_paths(
    bucket: &Path,
    crawl: &str,
    list: &str,
    names: &[String],
) -> Result<(), TestbedError> {
    let folder = bucket.join("crawl-data").join(crawl);
    fs::create_dir_all(&folder).map_err(TestbedError::file(&folder))?;
    let path = folder.join(format!("{list}.paths.gz"));
    let write = || -> std::io::Result<()> {
        // The gzip header holds no time and no name, so that the same list gives the same bytes.
        let mut gzip = GzBuilder::new().mtime(0).write(File::create(&path)?, Compression::new(6));
        for name in names {
            writeln!(gzip, "{name}")?;
        }
        gzip.finish()?.sync_data()
    };
    write().map_err(TestbedError::file(&path))
}

/// Writes `collinfo.json`: the crawls, newest first.
pub(crate) fn write_collinfo(bucket: &Path, crawls: &[String]) -> Result<(), TestbedError> {
    let mut newest_first: Vec<&String> = crawls.iter().collect();
    newest_first.sort();
    newest_first.reverse();
    let rows: Vec<_> = newest_first
        .iter()
        .map(|crawl| {
            serde_json::json!({
                "id": crawl,
                "name": format!("Small internet {crawl}"),
                "timegate": format!("https://index.commoncrawl.org/{crawl}/"),
                "cdx-api": format!("https://index.commoncrawl.org/{crawl}-index"),
            })
        })
        .collect();
    let path = bucket.join("collinfo.json");
    let text = format!("{:#}\n", serde_json::Value::Array(rows));
    fs::write(&path, text).map_err(TestbedError::file(&path))
}
