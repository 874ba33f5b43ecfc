//! Chooses the order in which row groups are read, and checks their metadata.

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use super::error::IndexError;

/// Maximum rows per compressed byte in the needed columns. Without this limit, a few bytes could
/// declare a value that repeats a billion times. Real files have about 20 bytes per row.
const MAX_ROWS_PER_BYTE: u64 = 50;

/// With `hostname_leaf`, the order starts at the row group with the largest hostname column. This
/// group probably has the most hosts, because its dictionary contains each hostname once.
pub(super) fn reading_order(
    metadata: &ParquetMetaData,
    hostname_leaf: Option<usize>,
) -> Vec<usize> {
    let count = metadata.num_row_groups();
    let Some(leaf) = hostname_leaf else { return (0..count).collect() };
    let estimate = |group: &RowGroupMetaData| {
        group.columns().get(leaf).map_or(0, |column| column.uncompressed_size())
    };
    let groups = metadata.row_groups().iter().enumerate();
    // `max_by_key` returns the last one among equal elements, so reverse the order to get the
    // first.
    let start = groups.rev().max_by_key(|(_, group)| estimate(group)).map_or(0, |(i, _)| i);
    (start..count).chain(0..start).collect()
}

pub(super) fn check(
    metadata: &ParquetMetaData,
    leaves: &[usize],
    file_size: u64,
    max_row_group_bytes: u64,
) -> Result<(), IndexError> {
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let bytes = projected_bytes(group, leaves, file_size)
            .map_err(|what| IndexError::Corrupt(format!("row group {number}: {what}")))?;
        if bytes > max_row_group_bytes {
            let max_bytes = max_row_group_bytes;
            return Err(IndexError::RowGroupTooLarge { row_group: number, bytes, max_bytes });
        }
    }
    Ok(())
}

pub(super) fn chunk_start(column: &ColumnChunkMetaData) -> i64 {
    column.dictionary_page_offset().unwrap_or(column.data_page_offset())
}

fn projected_bytes(
    group: &RowGroupMetaData,
    leaves: &[usize],
    file_size: u64,
) -> Result<u64, &'static str> {
    u64::try_from(group.num_rows()).map_err(|_| "negative number of rows")?;
    // The parquet crate also uses the offsets of columns that we do not read.
    for column in group.columns() {
        let start = chunk_start(column);
        if start < 0 || column.compressed_size() < 0 {
            return Err("negative column offset or size");
        }
    }
    let rows = group.num_rows().unsigned_abs();
    let (mut compressed, mut uncompressed) = (0_u64, 0_u64);
    for &leaf in leaves {
        let column = group.columns().get(leaf).ok_or("a column is missing")?;
        let start = chunk_start(column);
        let start = u64::try_from(start).map_err(|_| "negative column offset")?;
        let length = u64::try_from(column.compressed_size()).map_err(|_| "negative column size")?;
        let plain =
            u64::try_from(column.uncompressed_size()).map_err(|_| "negative column size")?;
        if start.checked_add(length).is_none_or(|end| end > file_size) {
            return Err("a column lies outside the file");
        }
        if column.num_values() != group.num_rows() {
            return Err("a column has another number of values than the row group has rows");
        }
        if length == 0 && rows > 0 {
            return Err("a column without bytes");
        }
        compressed = compressed.saturating_add(length);
        uncompressed = uncompressed.saturating_add(plain);
    }
    if rows > compressed.saturating_mul(MAX_ROWS_PER_BYTE) {
        return Err("more rows than its bytes can hold");
    }
    Ok(compressed.max(uncompressed))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::{
        file::metadata::{ColumnChunkMetaData, FileMetaData},
        schema::{parser::parse_message_type, types::SchemaDescriptor},
    };

    use super::*;

    fn metadata(offset: i64, bytes: i64) -> ParquetMetaData {
        with_rows(1, offset, bytes)
    }

    fn with_rows(rows: i64, offset: i64, bytes: i64) -> ParquetMetaData {
        let schema = "message m { required int64 a; required int64 b; }";
        let schema = parse_message_type(schema).unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let column = |leaf: usize, offset, bytes| {
            ColumnChunkMetaData::builder(schema.column(leaf))
                .set_num_values(rows)
                .set_data_page_offset(offset)
                .set_total_compressed_size(bytes)
                .build()
                .unwrap()
        };
        let columns = vec![column(0, 4, 8), column(1, offset, bytes)];
        let group = RowGroupMetaData::builder(Arc::clone(&schema))
            .set_num_rows(rows)
            .set_column_metadata(columns)
            .build()
            .unwrap();
        let file = FileMetaData::new(2, 1, None, None, schema, None);
        ParquetMetaData::new(file, vec![group])
    }

    #[test]
    fn a_column_that_nobody_reads_must_have_a_place_all_the_same() {
        let check = |metadata: &ParquetMetaData| check(metadata, &[0], 100, 1_000);
        assert_eq!(check(&metadata(12, 8)), Ok(()));
        // Found by fuzzing: the parquet crate asserts that column offsets are not negative.
        assert!(matches!(check(&metadata(-12, 8)), Err(IndexError::Corrupt(_))));
        assert!(matches!(check(&metadata(12, -8)), Err(IndexError::Corrupt(_))));
    }
    #[test]
    fn rows_that_the_bytes_cannot_hold_are_no_rows() {
        let check = |rows| check(&with_rows(rows, 12, 8), &[0, 1], 100, 1_000);
        assert_eq!(check(800), Ok(()));
        assert!(matches!(check(801), Err(IndexError::Corrupt(_))));
        assert!(matches!(check(i64::MAX), Err(IndexError::Corrupt(_))));
    }
}
