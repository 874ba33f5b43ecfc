//! The row groups of a file: which to read in what order, and whether they can be true.
//!
//! Invariant: what passed [`check`] lies inside the file and within the memory limit, so decoding
//! starts with believable numbers.

use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::error::IndexError;

/// Where `hostname_leaf` is given (a limited read), starts at the row group that should hold the
/// most hosts and goes on from there, round to the first; else all in the file's order.
///
/// The estimate is the encoded size of the hostname column: the writer stores each distinct value
/// of a row group once, so a group filled by one giant site is small there. The first of equals
/// wins, so the choice depends on the file alone.
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
    // max_by_key keeps the last of equals; reversed, that is the first.
    let start = groups.rev().max_by_key(|(_, group)| estimate(group)).map_or(0, |(i, _)| i);
    (start..count).chain(0..start).collect()
}

/// Checks each row group's numbers for the columns that will be read.
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

fn projected_bytes(
    group: &RowGroupMetaData,
    leaves: &[usize],
    file_size: u64,
) -> Result<u64, &'static str> {
    u64::try_from(group.num_rows()).map_err(|_| "negative number of rows")?;
    let (mut compressed, mut uncompressed) = (0_u64, 0_u64);
    for &leaf in leaves {
        let column = group.columns().get(leaf).ok_or("a column is missing")?;
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
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
        compressed = compressed.saturating_add(length);
        uncompressed = uncompressed.saturating_add(plain);
    }
    Ok(compressed.max(uncompressed))
}
