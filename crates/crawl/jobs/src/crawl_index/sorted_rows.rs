//! Sorts any number of rows in bounded memory, by an external merge sort with runs on disk.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{BufRead as _, BufReader, BufWriter, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use everytab_commoncrawl::index::write::CaptureOrder;
use everytab_job_result::JobError;

use super::index_row::StoredRow;

/// Rows in memory are written to disk as a run when they reach about this many bytes.
const MAX_RUN_BYTES: usize = 32 << 20;
/// Approximate row size in bytes, without its strings.
const ROW_BYTES: usize = 512;

pub(crate) struct RowSorter {
    folder: PathBuf,
    max_run_bytes: usize,
    rows: Vec<(CaptureOrder, StoredRow)>,
    bytes: usize,
    runs: Vec<File>,
}

pub(crate) struct SortedRows {
    runs: Vec<Run>,
    /// Each run's next row, with the smallest row on top.
    heads: BinaryHeap<Reverse<Head>>,
}

enum Run {
    File(BufReader<File>),
    Memory(std::vec::IntoIter<(CaptureOrder, StoredRow)>),
}

struct Head {
    order: CaptureOrder,
    run: usize,
    row: StoredRow,
}

impl RowSorter {
    pub(crate) fn new(folder: &Path) -> Self {
        Self::with_run_bytes(folder, MAX_RUN_BYTES)
    }

    fn with_run_bytes(folder: &Path, max_run_bytes: usize) -> Self {
        let folder = folder.to_owned();
        Self { folder, max_run_bytes, rows: Vec::new(), bytes: 0, runs: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: StoredRow) -> Result<(), JobError> {
        let order = row.order().map_err(|error| JobError::Discard(error.to_string()))?;
        self.bytes += ROW_BYTES + row.url.len() * 2 + row.object.len() * 2;
        self.rows.push((order, row));
        if self.bytes >= self.max_run_bytes {
            self.write_run()?;
        }
        Ok(())
    }

    pub(crate) fn sorted(mut self) -> Result<SortedRows, JobError> {
        self.rows.sort_by(|one, other| one.0.cmp(&other.0));
        let mut runs: Vec<Run> =
            self.runs.into_iter().map(|file| Run::File(BufReader::new(file))).collect();
        runs.push(Run::Memory(self.rows.into_iter()));
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            heads.extend(run.next(number)?.map(Reverse));
        }
        Ok(SortedRows { runs, heads })
    }

    fn write_run(&mut self) -> Result<(), JobError> {
        self.rows.sort_by(|one, other| one.0.cmp(&other.0));
        let mut file = BufWriter::new(tempfile::tempfile_in(&self.folder).map_err(disk)?);
        for (_, row) in self.rows.drain(..) {
            serde_json::to_writer(&mut file, &row).map_err(|error| disk(error.into()))?;
            file.write_all(b"\n").map_err(disk)?;
        }
        let mut file = file.into_inner().map_err(|error| disk(error.into_error()))?;
        file.rewind().map_err(disk)?;
        self.runs.push(file);
        self.bytes = 0;
        Ok(())
    }
}

impl SortedRows {
    pub(crate) fn next(&mut self) -> Result<Option<StoredRow>, JobError> {
        let Some(Reverse(Head { run, row, .. })) = self.heads.pop() else { return Ok(None) };
        if let Some(of_run) = self.runs.get_mut(run) {
            self.heads.extend(of_run.next(run)?.map(Reverse));
        }
        Ok(Some(row))
    }
}

impl Run {
    fn next(&mut self, run: usize) -> Result<Option<Head>, JobError> {
        let (order, row) = match self {
            Self::Memory(rows) => match rows.next() {
                Some(row) => row,
                None => return Ok(None),
            },
            Self::File(file) => {
                let mut line = Vec::new();
                if file.read_until(b'\n', &mut line).map_err(disk)? == 0 {
                    return Ok(None);
                }
                let row: StoredRow =
                    serde_json::from_slice(&line).map_err(|error| disk(error.into()))?;
                (row.order().map_err(|error| JobError::Discard(error.to_string()))?, row)
            }
        };
        Ok(Some(Head { order, run, row }))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order).then(self.run.cmp(&other.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

/// Converts a disk error. The job may find space later or on another host, so the error is not
/// final.
pub(super) fn disk(error: std::io::Error) -> JobError {
    JobError::NoRoom(format!("cannot store index rows in --temporary: {error}"))
}

#[cfg(test)]
mod tests {
    use everytab_commoncrawl::crawl_layout::ArchiveSubset;
    use proptest::prelude::*;

    use super::*;

    fn row(path: &str, micros: i64, offset: u64) -> StoredRow {
        StoredRow {
            subset: ArchiveSubset::Warc,
            is_of_table_alone: false,
            url: format!("https://example.com/{path}"),
            fetch_time_micros: micros,
            status: 200,
            redirect: None,
            digest: None,
            mime: None,
            charset: None,
            language: None,
            truncated: None,
            record_id: "urn:uuid:01234567-89ab-8def-8123-456789abcdef".into(),
            object: "crawl-data/a/segments/0/warc/a.warc.gz".into(),
            segment: "0".into(),
            offset,
            length: 9,
        }
    }

    proptest! {
        #[test]
        fn rows_come_in_order_whatever_the_memory_holds(
            rows in prop::collection::vec(("[a-c/]{0,3}", 0_i64..3, 0_u64..50), 0..60),
            max_run_bytes in 1_usize..20_000,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut sorter = RowSorter::with_run_bytes(folder.path(), max_run_bytes);
            let mut expected: Vec<StoredRow> =
                rows.iter().map(|(path, micros, offset)| row(path, *micros, *offset)).collect();
            for row in &expected {
                sorter.push(row.clone()).unwrap();
            }
            expected.sort_by_key(|row| row.order().unwrap());
            let mut sorted = sorter.sorted().unwrap();
            let mut found = Vec::new();
            while let Some(row) = sorted.next().unwrap() {
                found.push(row);
            }
            let orders = |rows: &[StoredRow]| -> Vec<_> {
                rows.iter().map(|row| row.order().unwrap()).collect()
            };
            prop_assert_eq!(orders(&found), orders(&expected));
            prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
