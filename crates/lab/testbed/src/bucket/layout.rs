//! The files that list crawls and their files: `crawl-data/CRAWL/*.paths.gz`, and the directory
//! with crawl indexes.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use flate2::{Compression, GzBuilder};

use crate::error::TestbedError;

/// Writes `crawl-data/CRAWL/LIST.paths.gz`, which contains one object name per line.
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
        // The gzip header has neither a time nor a name, so that equal lists give equal bytes.
        let mut gzip = GzBuilder::new().mtime(0).write(File::create(&path)?, Compression::new(6));
        for name in names {
            writeln!(gzip, "{name}")?;
        }
        gzip.finish()?.sync_data()
    };
    write().map_err(TestbedError::file(&path))
}

/// Writes `cc-index/collections/CRAWL/metadata.yaml`. These directories show which crawls the
/// bucket has. Common Crawl publishes its list of crawls (`collinfo.json`) only on the index
/// server, which the small internet does not have.
pub(crate) fn write_collections(bucket: &Path, crawls: &[String]) -> Result<(), TestbedError> {
    for crawl in crawls {
        let folder = bucket.join("cc-index/collections").join(crawl);
        fs::create_dir_all(&folder).map_err(TestbedError::file(&folder))?;
        let path = folder.join("metadata.yaml");
        fs::write(&path, format!("crawl: {crawl}\n")).map_err(TestbedError::file(&path))?;
    }
    Ok(())
}
