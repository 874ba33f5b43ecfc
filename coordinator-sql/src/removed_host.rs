//! Deletes a host's rows from finished scans, and finds its archived icons.

use crate::{error::Error, row::from_row, sql_calls::sql_calls};

/// An archived icon of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRecord {
    /// The shard whose archive contains the record.
    pub shard: i32,
    /// The lease number in the archive's name.
    pub lease_number: i32,
    /// Record offset in the archive. `None` if only the shard is known.
    pub archive_offset: Option<i64>,
    /// Whether another host also uses this record as its icon.
    pub shared: bool,
}

from_row!(HostRecord { shard, lease_number, archive_offset, shared });

sql_calls! {
    /// Returns a host's archived icons in a scan, and the shards that may contain the host's name.
    /// Reads all rows for this scan, which takes minutes.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn records_of_host(scan: i32, hostname: &str) -> Result<Vec<HostRecord>, Error>
        = operator_rows("select * from coordinator.records_of_host($1, $2)", scan, hostname);

    /// Deletes a host's rows from a scan. Returns how many captures, pages and icons were deleted.
    /// `None` if the scan is running.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn remove_host(scan: i32, hostname: &str) -> Result<Option<(i64, i64, i64)>, Error>
        = operator_row_if_any("select captures, tabs, fetched from coordinator.remove_host($1, $2)
                    where captures is not null", scan, hostname);
}
