//! The columnar index: one parquet file per part and subset.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use everytab_commoncrawl::{
    index::write::{CaptureRow, HostDomains, IndexWriteError, IndexWriter},
    warc::write::Position,
};

use super::{site::GeneratedCapture, warc::WrittenRecord};
use crate::error::TestbedError;

/// This is low so that a file has several row groups.
const ROW_GROUP_ROWS: usize = 16_384;

pub(super) struct IndexFileWriter {
    path: PathBuf,
    writer: IndexWriter<File>,
}

impl IndexFileWriter {
    pub(super) fn create(path: &Path) -> Result<Self, TestbedError> {
        let file = File::create(path).map_err(TestbedError::file(path))?;
        let writer = IndexWriter::with_group_rows(file, ROW_GROUP_ROWS).map_err(failed(path))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    pub(super) fn row(
        &mut self,
        capture: &GeneratedCapture,
        written: &WrittenRecord,
        warc_name: &str,
        segment: &str,
    ) -> Result<(), TestbedError> {
        let mut labels = capture.host.rsplitn(3, '.');
        // `.example` is not in the public suffix list, so the default rule "*" applies.
        let suffix = labels.next();
        let domain = labels.next().and_then(|label| {
            capture.host.get(capture.host.len() - label.len() - 1 - suffix?.len()..)
        });
        let row = CaptureRow {
            url: &capture.url(),
            domains: HostDomains {
                registry_suffix: suffix,
                registered_domain: domain,
                private_suffix: suffix,
                private_domain: domain,
            },
            fetch_time_micros: capture.fetch_time_us(),
            status: capture.status,
            redirect: capture.redirect.as_deref(),
            digest: Some(&written.digest),
            mime_type: Some(capture.mime),
            mime_detected: Some(capture.mime),
            charset: capture.charset,
            languages: capture.language,
            truncated: None,
            record_id: &written.record_id,
            warc_filename: warc_name,
            position: Position { offset: written.offset, length: written.length },
            segment,
        };
        self.writer.write(&row).map_err(failed(&self.path))
    }

    pub(super) fn finish(self) -> Result<(), TestbedError> {
        self.writer.finish().map(drop).map_err(failed(&self.path))
    }
}

fn failed(path: &Path) -> impl FnOnce(IndexWriteError) -> TestbedError {
    let path = path.to_owned();
    move |source| TestbedError::Index { path, source }
}
