//! Saves the database as one `pg_dump` object and loads it. Table digests come from the dump's
//! snapshot.

use std::path::Path;

use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, Snapshot, TABLES_SCHEMA, TableDigest};
use everytab_storage::{PutOptions, Store};
use tempfile::NamedTempFile;

use super::{
    copy::download,
    format::{Backup, BackupObject, DumpedRows, Journal, hex_of_file},
    postgres_programs,
};

const DUMP: &str = "database.dump";

pub(super) async fn save(
    coordinator: &Coordinator,
    url: &str,
    temporary: &Path,
    journal: &mut Journal,
    sink: &dyn LineSink,
) -> Result<DumpedRows, OperationError> {
    let version = coordinator.server_version().await?;
    let mut snapshot = coordinator.snapshot().await?;
    let tables = snapshot.digests().await?;
    let count: i64 = tables.iter().map(|table| table.rows).sum();
    if let Some(known) = journal.rows().filter(|rows| rows.tables == tables) {
        let known = known.clone();
        snapshot.end().await?;
        sink.note(format_args!("rows: {count} in {} tables, dumped already", tables.len()));
        return Ok(known);
    }
    let file = dump(&snapshot, url, version, temporary).await?;
    snapshot.end().await?;
    let size = file.as_file().metadata()?.len();
    let entry =
        BackupObject { key: DUMP.to_owned(), size, sha256: hex_of_file(file.path()).await? };
    // The new dump overwrites the old one, so forget the old one's note first.
    journal.forget_rows().await?;
    journal.store.put_file(DUMP, file.path(), PutOptions::default()).await?;
    sink.note(format_args!("rows: {count} in {} tables, dumped to {size} bytes", tables.len()));
    let rows = DumpedRows { server_version: version, tables, dump: entry };
    journal.note_rows(&rows).await?;
    Ok(rows)
}

async fn dump(
    snapshot: &Snapshot,
    url: &str,
    version: i32,
    temporary: &Path,
) -> Result<NamedTempFile, OperationError> {
    let file = NamedTempFile::new_in(temporary)?;
    let url = url.to_owned();
    let id = snapshot.id.clone();
    let to = file.path().to_owned();
    tokio::task::spawn_blocking(move || {
        postgres_programs::dump_schema(&url, major(version), TABLES_SCHEMA, &id, &to)
    })
    .await??;
    Ok(file)
}

fn major(server_version: i32) -> u32 {
    server_version.unsigned_abs() / 10_000
}

/// Returns one line for each table that differs from the backup.
pub(super) async fn load(
    coordinator: &Coordinator,
    url: &str,
    from: &dyn Store,
    backup: &Backup,
    temporary: &Path,
) -> Result<Vec<String>, OperationError> {
    let rows = &backup.rows;
    let file = NamedTempFile::new_in(temporary)?;
    download(from, &rows.dump, file.as_file()).await?;
    let url = url.to_owned();
    let path = file.path().to_owned();
    let dumped_by = major(rows.server_version);
    tokio::task::spawn_blocking(move || postgres_programs::restore_dump(&url, dumped_by, &path))
        .await??;
    Ok(differences(&rows.tables, &digests(coordinator).await?))
}

pub(super) async fn digests(coordinator: &Coordinator) -> Result<Vec<TableDigest>, OperationError> {
    let mut snapshot = coordinator.snapshot().await?;
    let tables = snapshot.digests().await?;
    snapshot.end().await?;
    Ok(tables)
}

pub(super) fn differences(expected: &[TableDigest], found: &[TableDigest]) -> Vec<String> {
    let mut lines = Vec::new();
    for table in expected {
        let name = &table.table;
        match found.iter().find(|other| other.table == *name) {
            None => lines.push(format!("table {name} is missing")),
            Some(other) if other.rows != table.rows => lines.push(format!(
                "table {name} has {} rows, but backup.json says {}",
                other.rows, table.rows
            )),
            Some(other) if other.digest != table.digest => lines.push(format!(
                "table {name} has {} rows as in backup.json, but their content differs",
                other.rows
            )),
            Some(_) => {}
        }
    }
    let is_known = |name: &str| expected.iter().any(|table| table.table == name);
    for table in found.iter().filter(|table| !is_known(&table.table)) {
        lines.push(format!("table {} is not in backup.json", table.table));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, rows: i64, digest: &str) -> TableDigest {
        TableDigest { table: name.to_owned(), rows, digest: digest.to_owned() }
    }

    #[test]
    fn each_table_that_differs_is_named_with_the_difference() {
        let expected = [table("a", 1, "1"), table("b", 2, "2"), table("c", 3, "3")];
        assert!(differences(&expected, &expected).is_empty());
        let found = [table("a", 1, "9"), table("b", 4, "2"), table("d", 0, "0")];
        let lines = differences(&expected, &found);
        assert_eq!(
            lines,
            [
                "table a has 1 rows as in backup.json, but their content differs",
                "table b has 4 rows, but backup.json says 2",
                "table c is missing",
                "table d is not in backup.json",
            ]
        );
    }
}
