//! A backup's rows back into a database, each once.
//!
//! The database keeps the mark of what is done, [part, row], in the same transaction as the rows:
//! whatever cuts a restore off, the next one goes on behind the last row that is in.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
};

use bytes::Bytes;
use everytab_coordinator::{Coordinator, Restoring};
use everytab_storage::Store;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use super::format::{Backup, Part};
use crate::failure::Failure;

/// Rows and bytes of one transaction: well below a second.
const ROWS_AT_ONCE: usize = 2_000;
/// See [`ROWS_AT_ONCE`].
const BYTES_AT_ONCE: usize = 4 << 20;

/// The ids that WARC files had in the backup, to those that they have here.
type WarcFiles = HashMap<i64, i32>;

pub(super) fn overtaken() -> Failure {
    Failure::new("another restore of the same scan is at work; let it finish")
}

/// Brings back what is not there yet; answers how many rows the backup has.
pub(super) async fn restore(
    coordinator: &Coordinator,
    from: &dyn Store,
    backup: &Backup,
    restoring: &mut Restoring,
) -> Result<u64, Failure> {
    let mut warc_files = WarcFiles::new();
    let mark = |index: usize| restoring.done[index].as_u64().unwrap_or(0);
    let (first_part, first_row) = (mark(0), mark(1));
    let mut rows = 0;
    for (number, part) in (0..).zip(&backup.rows) {
        rows += part.count;
        if part.table == "warc_files" {
            // Adds nothing twice, and the ids are needed each time.
            restore_warc_files(coordinator, &read(from, part).await?, part, &mut warc_files)
                .await?;
        } else if number >= first_part {
            let skip = if number == first_part { first_row } else { 0 };
            let mut lines = Lines::new(read(from, part).await?);
            restore_part(coordinator, &mut lines, part, (number, skip), &warc_files, restoring)
                .await?;
        }
    }
    Ok(rows)
}

async fn read(from: &dyn Store, part: &Part) -> Result<Bytes, Failure> {
    let bytes = from.get(&part.entry.key).await?;
    part.entry.check(&bytes)?;
    Ok(bytes)
}

/// The lines of a part, with their number.
struct Lines {
    input: BufReader<MultiGzDecoder<std::io::Cursor<Bytes>>>,
    taken: u64,
}

impl Lines {
    fn new(bytes: Bytes) -> Self {
        let unpacked = MultiGzDecoder::new(std::io::Cursor::new(bytes));
        Self { input: BufReader::new(unpacked), taken: 0 }
    }

    fn next(&mut self) -> Result<Option<String>, Failure> {
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        self.taken += 1;
        line.truncate(line.trim_end_matches('\n').len());
        Ok(Some(line))
    }

    /// The next lines, as far as one transaction goes; none at the end.
    fn next_batch(&mut self) -> Result<Vec<String>, Failure> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < ROWS_AT_ONCE && bytes < BYTES_AT_ONCE {
            let Some(line) = self.next()? else { break };
            bytes += line.len();
            batch.push(line);
        }
        Ok(batch)
    }

    fn check_count(&self, part: &Part) -> Result<(), Failure> {
        if self.taken == part.count {
            return Ok(());
        }
        let key = &part.entry.key;
        Err(Failure::new(format!("{key} has {} rows, not the {} listed", self.taken, part.count)))
    }
}

async fn restore_warc_files(
    coordinator: &Coordinator,
    bytes: &Bytes,
    part: &Part,
    known: &mut WarcFiles,
) -> Result<(), Failure> {
    let mut lines = Lines::new(bytes.clone());
    loop {
        let batch = lines.next_batch()?;
        if batch.is_empty() {
            return lines.check_count(part);
        }
        let mut ids = Vec::with_capacity(batch.len());
        let mut paths = Vec::with_capacity(batch.len());
        for line in &batch {
            let row: Value = serde_json::from_str(line)?;
            let (Some(id), Some(path)) = (row["warc_file"].as_i64(), row["path"].as_str()) else {
                return Err(Failure::new(format!("{}: {line} is no WARC file", part.entry.key)));
            };
            ids.push(id);
            paths.push(path.to_owned());
        }
        let here = coordinator.restore_warc_files(&paths).await?;
        known.extend(ids.into_iter().zip(here));
    }
}

async fn restore_part(
    coordinator: &Coordinator,
    lines: &mut Lines,
    part: &Part,
    (number, skip): (u64, u64),
    warc_files: &WarcFiles,
    restoring: &mut Restoring,
) -> Result<(), Failure> {
    while lines.taken < skip && lines.next()?.is_some() {}
    loop {
        let mut batch = lines.next_batch()?;
        if batch.is_empty() {
            return lines.check_count(part);
        }
        if part.table == "hosts" {
            for line in &mut batch {
                *line = with_warc_file_of_here(line, warc_files)?;
            }
        }
        let rows = format!("[{}]", batch.join(","));
        let done = json!([number, lines.taken]);
        if !coordinator.restore_rows(restoring, &part.table, &rows, done).await? {
            return Err(overtaken());
        }
    }
}

fn with_warc_file_of_here(line: &str, known: &WarcFiles) -> Result<String, Failure> {
    let mut row: Value = serde_json::from_str(line)?;
    let here = row["warc_file"].as_i64().and_then(|id| known.get(&id)).ok_or_else(|| {
        Failure::new(format!("the backup has no WARC file for the host {}", row["hostname"]))
    })?;
    row["warc_file"] = Value::from(*here);
    Ok(row.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn batches_hold_every_line_once_and_end_at_their_bounds() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for number in 0..5_001 {
            writeln!(packed, "{number}").unwrap();
        }
        let mut lines = Lines::new(packed.finish().unwrap().into());
        let mut sizes = Vec::new();
        let mut all = Vec::new();
        loop {
            let batch = lines.next_batch().unwrap();
            if batch.is_empty() {
                break;
            }
            sizes.push(batch.len());
            all.extend(batch);
        }
        assert_eq!(sizes, [2_000, 2_000, 1_001]);
        assert!((0..5_001).map(|number: u32| number.to_string()).eq(all));
        assert_eq!(lines.taken, 5_001);
    }

    #[test]
    fn a_host_refers_to_the_file_of_this_database() {
        let known = WarcFiles::from([(7, 3)]);
        let line = r#"{"hash":-9223372036854775808,"hostname":"a","warc_file":7}"#;
        let row: Value =
            serde_json::from_str(&with_warc_file_of_here(line, &known).unwrap()).unwrap();
        assert_eq!((row["warc_file"].as_i64(), row["hash"].as_i64()), (Some(3), Some(i64::MIN)));
        assert!(with_warc_file_of_here(line, &WarcFiles::new()).is_err());
    }
}
