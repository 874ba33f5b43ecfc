//! Deletes a host's rows from finished scans, and finds its archived icons.

use crate::{client::sql_calls::sql_calls, connection::row::from_row, error::Error};

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
    /// Returns a host's archived icons in a scan, and the shards that may contain its name. This
    /// reads all rows of the scan, which takes minutes.
    pub async fn records_of_host(scan: i32, hostname: &str) -> Result<Vec<HostRecord>, Error>
        = operator_rows("select * from coordinator.records_of_host($1, $2)", scan, hostname);

    /// Deletes a host's captures, pages and icons, and returns their numbers. `None` if the scan is
    /// running or does not exist.
    pub async fn remove_host(scan: i32, hostname: &str) -> Result<Option<(i64, i64, i64)>, Error>
        = operator_row_if_any("select captures, tabs, fetched from coordinator.remove_host($1, $2)
                    where captures is not null", scan, hostname);
}
