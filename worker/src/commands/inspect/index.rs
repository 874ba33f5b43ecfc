//! `inspect index`: prints the captures that the index job would select.

use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use everytab_commoncrawl::{
    date::format_micros,
    index::{Capture, IndexCounts, IndexOptions, IndexReader, Step},
};
use everytab_webpage::is_public;
use serde::Serialize;

use super::lines::Lines;

#[derive(Serialize)]
struct CaptureLine<'a> {
    hostname: &'a str,
    protocol: &'static str,
    warc_filename: &'a str,
    warc_record_offset: u64,
    warc_record_length: u64,
    fetch_time: String,
}

impl<'a> CaptureLine<'a> {
    fn of(capture: &'a Capture) -> Self {
        Self {
            hostname: &capture.hostname,
            protocol: capture.protocol.as_str(),
            warc_filename: &capture.warc_filename,
            warc_record_offset: capture.warc_record_offset,
            warc_record_length: capture.warc_record_length,
            fetch_time: format_micros(capture.fetch_time_micros),
        }
    }
}

#[derive(Serialize)]
struct FileError {
    file: String,
    error: String,
}

enum ReadingEnd {
    File(String),
    Stdout(io::Error),
}

impl From<io::Error> for ReadingEnd {
    fn from(error: io::Error) -> Self {
        Self::Stdout(error)
    }
}

pub(super) fn print(files: &[PathBuf], lines: &mut Lines) -> io::Result<()> {
    for path in files {
        let file = path.display();
        match print_file(path, lines) {
            Ok(counts) => eprintln!(
                "{file}: {} rows, {} not home pages, {} captures, {} duplicates, {} malformed{}",
                counts.rows,
                counts.not_home_pages,
                counts.captures,
                counts.duplicates_removed,
                counts.malformed,
                reasons(&counts)
            ),
            Err(ReadingEnd::File(error)) => {
                lines.fail(&FileError { file: file.to_string(), error })?;
            }
            Err(ReadingEnd::Stdout(error)) => return Err(error),
        }
    }
    Ok(())
}

fn reasons(counts: &IndexCounts) -> String {
    let left_out = counts.left_out().map(|(reason, count)| ("left out", reason.as_str(), count));
    let refused = counts.hostnames_refused();
    let refused = refused.map(|(reason, count)| ("hostname refused", reason.as_str(), count));
    let all = left_out.chain(refused).filter(|(_, _, count)| *count > 0);
    all.map(|(what, reason, count)| format!("; {count} {what}: {reason}")).collect()
}

fn print_file(path: &Path, lines: &mut Lines) -> Result<IndexCounts, ReadingEnd> {
    let about = |error: io::Error| ReadingEnd::File(error.to_string());
    let file = File::open(path).map_err(about)?;
    let metadata = file.metadata().map_err(about)?;
    if !metadata.is_file() {
        return Err(ReadingEnd::File(
            "it is not a regular file, so its parts cannot be read".into(),
        ));
    }
    let options = IndexOptions { is_public_address: is_public, ..IndexOptions::default() };
    let mut reader = IndexReader::new(metadata.len(), options);
    loop {
        match reader.next().map_err(|error| ReadingEnd::File(error.to_string()))? {
            Step::Need(ranges) => {
                let data: Result<Vec<Bytes>, io::Error> =
                    ranges.iter().map(|range| read_range(&file, range)).collect();
                let data = data.map_err(about)?;
                reader.supply(ranges, data).map_err(|error| ReadingEnd::File(error.to_string()))?;
            }
            Step::Captures(captures) => {
                for capture in &captures {
                    lines.print(&CaptureLine::of(capture))?;
                }
            }
            Step::Done(counts) => return Ok(counts),
        }
    }
}

/// Reads a range. The reader has already limited its length.
fn read_range(file: &File, range: &Range<u64>) -> io::Result<Bytes> {
    let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes.into())
}
