//! Names of a live crawl's objects other than archives.

use crate::crawl_layout::{ArchiveSubset, LiveCrawlName};

/// The crawl list, at the bucket's root.
pub const COLLINFO: &str = "collinfo.json";

impl LiveCrawlName {
    /// Returns this crawl's prefix: `crawl-data/<name>/`.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("crawl-data/{self}/")
    }

    /// Returns the list of this subset's archives: `crawl-data/<name>/warc.paths.gz`.
    #[must_use]
    pub fn archive_list(&self, subset: ArchiveSubset) -> String {
        self.prefix() + subset.list_name()
    }

    /// Returns the list with the columnar index files: `crawl-data/<name>/cc-index-table.paths.gz`.
    #[must_use]
    pub fn table_list(&self) -> String {
        self.prefix() + "cc-index-table.paths.gz"
    }

    /// Returns this crawl's document: `crawl-data/<name>/crawl.json`.
    #[must_use]
    pub fn document(&self) -> String {
        self.prefix() + "crawl.json"
    }

    /// Returns a columnar index file:
    /// `cc-index/table/cc-main/warc/crawl=<name>/subset=warc/part-00000.gz.parquet` below this
    /// crawl's prefix.
    #[must_use]
    pub fn table_part(&self, subset: ArchiveSubset, part: u32) -> String {
        let prefix = self.prefix();
        let subset = subset.as_str();
        format!(
            "{prefix}cc-index/table/cc-main/warc/crawl={self}/subset={subset}/\
             part-{part:05}.gz.parquet"
        )
    }

    /// Returns a CDXJ index file: `crawl-data/<name>/cc-index/collections/<name>/indexes/` and
    /// [`cdxj_file`].
    #[must_use]
    pub fn cdxj_part(&self, part: u32) -> String {
        self.cdxj_prefix() + &cdxj_file(part)
    }

    /// Returns a CDXJ file's block list: `cluster.idx` for a single file, otherwise
    /// `cluster-00000.idx`.
    #[must_use]
    pub fn cluster_index(&self, part: u32, parts: u32) -> String {
        match parts {
            0 | 1 => self.cdxj_prefix() + "cluster.idx",
            _ => format!("{}cluster-{part:05}.idx", self.cdxj_prefix()),
        }
    }

    /// Returns the prefix of the archives: `crawl-data/<name>/segments/`.
    #[must_use]
    pub fn segments(&self) -> String {
        self.prefix() + "segments/"
    }

    /// Returns the prefix of the columnar index: `crawl-data/<name>/cc-index/table/`.
    #[must_use]
    pub fn tables(&self) -> String {
        self.prefix() + "cc-index/table/"
    }

    fn cdxj_prefix(&self) -> String {
        format!("{}cc-index/collections/{self}/indexes/", self.prefix())
    }
}

/// Returns the file name for a part of a CDXJ index: `cdx-00000.gz`.
#[must_use]
pub fn cdxj_file(part: u32) -> String {
    format!("cdx-{part:05}.gz")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::paths::{paths_list, warc_subset_files};

    #[test]
    fn object_names_match_common_crawls_bucket() {
        let crawl = LiveCrawlName::parse("LIVE-20251231235959-0a1b2c3d").unwrap();
        let prefix = "crawl-data/LIVE-20251231235959-0a1b2c3d/";
        assert_eq!(crawl.table_list(), paths_list(crawl.as_str()));
        for (name, expected) in [
            (crawl.archive_list(ArchiveSubset::Warc), "warc.paths.gz"),
            (crawl.document(), "crawl.json"),
            (
                crawl.table_part(ArchiveSubset::RobotsTxt, 7),
                "cc-index/table/cc-main/warc/crawl=LIVE-20251231235959-0a1b2c3d/\
                 subset=robotstxt/part-00007.gz.parquet",
            ),
            (
                crawl.cdxj_part(12),
                "cc-index/collections/LIVE-20251231235959-0a1b2c3d/indexes/cdx-00012.gz",
            ),
            (crawl.segments(), "segments/"),
            (crawl.tables(), "cc-index/table/"),
            (
                crawl.cluster_index(3, 4),
                "cc-index/collections/LIVE-20251231235959-0a1b2c3d/indexes/cluster-00003.idx",
            ),
            (
                crawl.cluster_index(0, 1),
                "cc-index/collections/LIVE-20251231235959-0a1b2c3d/indexes/cluster.idx",
            ),
        ] {
            assert_eq!(name, format!("{prefix}{expected}"));
        }
        let part = crawl.table_part(ArchiveSubset::Warc, 0);
        assert_eq!(warc_subset_files(part.as_bytes()), Ok(vec![part]));
    }
}
