//! Writes an index part's files to disk while it receives sorted rows.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use everytab_commoncrawl::{
    cdxj::{CdxjError, CdxjWriter, cluster_index},
    crawl_layout::ArchiveSubset,
    crawl_objects::cdxj_file,
    index::write::{IndexWriteError, IndexWriter},
};
use everytab_frontier::DomainLists;
use everytab_job_result::JobError;
use tempfile::{NamedTempFile, TempPath};

use super::{
    index_row::{StoredRow, domains_of},
    sorted_rows::disk,
};

pub(crate) const PARQUET_TYPE: &str = "application/vnd.apache.parquet";
pub(crate) const CDXJ_TYPE: &str = "application/gzip";

type Output = BufWriter<File>;

/// A file is created together with its first row, so no file is empty.
pub(crate) struct IndexFiles {
    folder: PathBuf,
    lists: DomainLists,
    tables: BTreeMap<ArchiveSubset, (IndexWriter<Output>, TempPath)>,
    cdxj: Option<(CdxjWriter<Output>, TempPath)>,
}

pub(crate) struct WrittenIndex {
    pub(crate) tables: Vec<(ArchiveSubset, TempPath)>,
    /// The CDXJ file, and its lines for `cluster.idx`.
    pub(crate) cdxj: Option<(TempPath, Vec<u8>)>,
}

impl IndexFiles {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            lists: DomainLists::default(),
            tables: BTreeMap::new(),
            cdxj: None,
        }
    }

    /// Returns an error if writing to disk fails, or if the row is out of order.
    pub(crate) fn write(&mut self, row: &StoredRow) -> Result<(), JobError> {
        let domains = domains_of(&self.lists, &row.url);
        if !self.tables.contains_key(&row.subset) {
            let (output, path) = self.output()?;
            let writer = IndexWriter::new(output).map_err(table_error)?;
            self.tables.insert(row.subset, (writer, path));
        }
        if let Some((writer, _)) = self.tables.get_mut(&row.subset) {
            writer.write(&row.row(&domains)).map_err(table_error)?;
        }
        if row.is_of_table_alone {
            return Ok(());
        }
        if self.cdxj.is_none() {
            let (output, path) = self.output()?;
            self.cdxj = Some((CdxjWriter::new(output), path));
        }
        if let Some((writer, _)) = &mut self.cdxj {
            writer.write(&row.row(&domains)).map_err(cdxj_error)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self, part: u32) -> Result<WrittenIndex, JobError> {
        let mut tables = Vec::new();
        for (subset, (writer, path)) in self.tables {
            writer.finish().map_err(table_error)?.flush().map_err(disk)?;
            tables.push((subset, path));
        }
        let cdxj = match self.cdxj {
            None => None,
            Some((writer, path)) => {
                let (_, file) = writer.finish(&cdxj_file(part)).map_err(cdxj_error)?;
                Some((path, cluster_index(&[file]).map_err(cdxj_error)?))
            }
        };
        Ok(WrittenIndex { tables, cdxj })
    }

    fn output(&self) -> Result<(Output, TempPath), JobError> {
        let file = NamedTempFile::new_in(&self.folder).map_err(disk)?;
        let (file, path) = file.into_parts();
        Ok((BufWriter::new(file), path))
    }
}

fn table_error(error: IndexWriteError) -> JobError {
    match error {
        IndexWriteError::Row(error) => JobError::Discard(error.to_string()),
        IndexWriteError::Unsorted { .. } => JobError::Discard(error.to_string()),
        IndexWriteError::Parquet(_) => JobError::Retry(error.to_string()),
    }
}

fn cdxj_error(error: CdxjError) -> JobError {
    match error {
        CdxjError::Output(error) => disk(error),
        error => JobError::Discard(error.to_string()),
    }
}
