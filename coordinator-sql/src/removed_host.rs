//! Removes a host's rows from finished scans, and finds its archived icons.

use crate::{bind::bind, coordinator::Coordinator, error::Error, row::from_row};

/// An archived icon of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRecord {
    /// The shard whose archive holds it.
    pub shard: i32,
    /// The lease number in the archive's name.
    pub lease_number: i32,
    /// Offset of the record in the archive. `None` if only the shard is known.
    pub archive_offset: Option<i64>,
    /// Whether the record is also another host's icon.
    pub shared: bool,
}

from_row!(HostRecord { shard, lease_number, archive_offset, shared });

impl Coordinator {
    /// Returns the archived icons of a host in a scan, and the shards that may name it. Reads all
    /// rows of the scan, which takes minutes.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn records_of_host(
        &self,
        scan: i32,
        hostname: &str,
    ) -> Result<Vec<HostRecord>, Error> {
        let sql = "select * from coordinator.records_of_host($1, $2)";
        self.operator_rows(sql, &[bind(&scan), bind(&hostname)]).await
    }

    /// Deletes the rows of a host from a scan. Returns their numbers: (captures, pages, icons).
    /// `None` if the scan is running.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn remove_host(
        &self,
        scan: i32,
        hostname: &str,
    ) -> Result<Option<(i64, i64, i64)>, Error> {
        let sql = "select captures, tabs, fetched from coordinator.remove_host($1, $2)
                    where captures is not null";
        Ok(self.operator_rows(sql, &[bind(&scan), bind(&hostname)]).await?.pop())
    }
}
