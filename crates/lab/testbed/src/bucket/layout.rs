//! The files that list crawls and their files: `crawl-data/CRAWL/*.paths.gz`, and a directory
//! for each crawl in `cc-index/collections`.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use flate2::{Compression, GzBuilder};

use crate::error::TestbedError;

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
        // The header has no time and no name, so that equal lists give equal bytes.
        let mut gzip = GzBuilder::new().mtime(0).write(File::create(&path)?, Compression::new(6));
        for name in names {
            writeln!(gzip, "{name}")?;
        }
        gzip.finish()?.sync_data()
    };
    write().map_err(TestbedError::file(&path))
}

/// Common Crawl's list of crawls (`collinfo.json`) is only on its index server, so clients list
/// these directories.
pub(crate) fn write_collections(bucket: &Path, crawls: &[String]) -> Result<(), TestbedError> {
    for crawl in crawls {
        let folder = bucket.join("cc-index/collections").join(crawl);
        fs::create_dir_all(&folder).map_err(TestbedError::file(&folder))?;
        let path = folder.join("metadata.yaml");
        fs::write(&path, format!("crawl: {crawl}\n")).map_err(TestbedError::file(&path))?;
    }
    Ok(())
}
