//! A scan's rows to objects of gzipped JSON lines.

use std::io::Write;

use everytab_coordinator::{BACKUP_TABLES, Coordinator};
use everytab_storage::PutOptions;
use flate2::{Compression, write::GzEncoder};

use super::format::{Entry, Journal, Part};
use crate::failure::Failure;

/// Blocks (of 8 KiB) of a table that make an object: a few megabytes when gzipped.
const BLOCKS_A_PART: i64 = 2_048;
/// Blocks asked for at once: a quarter of a megabyte, or more where values are stored apart.
const BLOCKS_AT_ONCE: i32 = 32;

/// What was written.
pub(super) struct SavedRows {
    pub(super) parts: Vec<Part>,
    pub(super) first_job: i64,
    pub(super) last_job: i64,
}

/// Writes the rows of every table that are not written yet.
pub(super) async fn save(
    coordinator: &Coordinator,
    scan: i32,
    journal: &mut Journal,
) -> Result<SavedRows, Failure> {
    let mut parts = Vec::new();
    for table in BACKUP_TABLES {
        let blocks = coordinator.backup_blocks(scan, table).await?;
        let mut first_block = 0;
        while first_block < blocks {
            let number = first_block / BLOCKS_A_PART;
            let key = format!("rows/{table}/{number:06}.jsonl.gz");
            // Files of WARCs are added by other scans.
            let known = journal.part(&key).filter(|_| table != "warc_files").cloned();
            let part = match known {
                Some(part) => part,
                None => {
                    let end = blocks.min(first_block + BLOCKS_A_PART);
                    let part =
                        save_part(coordinator, scan, table, first_block..end, key, journal).await?;
                    journal.note_part(&part).await?;
                    part
                }
            };
            if part.count > 0 {
                parts.push(part);
            }
            first_block += BLOCKS_A_PART;
        }
    }
    let job_ids = || parts.iter().filter_map(|part| part.job_ids);
    let first_job = job_ids().map(|(first, _)| first).min().unwrap_or(0);
    let last_job = job_ids().map(|(_, last)| last).max().unwrap_or(0);
    Ok(SavedRows { parts, first_job, last_job })
}

async fn save_part(
    coordinator: &Coordinator,
    scan: i32,
    table: &str,
    blocks: std::ops::Range<i64>,
    key: String,
    journal: &Journal,
) -> Result<Part, Failure> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let mut count = 0;
    let mut job_ids: Option<(i64, i64)> = None;
    let mut block = blocks.start;
    while block < blocks.end {
        let left = i32::try_from(blocks.end - block).unwrap_or(i32::MAX);
        let asked = left.min(BLOCKS_AT_ONCE);
        for row in coordinator.backup_rows(scan, table, block, asked).await? {
            if table == "jobs" {
                let id = job_id(&row)?;
                let (first, last) = job_ids.unwrap_or((id, id));
                job_ids = Some((first.min(id), last.max(id)));
            }
            packed.write_all(row.as_bytes())?;
            packed.write_all(b"\n")?;
            count += 1;
        }
        block += i64::from(asked);
    }
    let bytes = packed.finish()?;
    let entry = Entry::of(key, &bytes);
    if count > 0 {
        journal.store.put(&entry.key, bytes.into(), PutOptions::default()).await?;
    }
    Ok(Part { table: table.to_owned(), count, job_ids, entry })
}

fn job_id(row: &str) -> Result<i64, Failure> {
    let row: serde_json::Value = serde_json::from_str(row)?;
    row["job_id"].as_i64().ok_or_else(|| Failure::new("Postgres gave a job without a number"))
}
