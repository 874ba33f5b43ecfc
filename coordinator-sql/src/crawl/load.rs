//! Loads a slot holder's input.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::bind,
        hash::{signed_hash, unsigned_hash},
        row::{FromRow, from_row},
    },
    crawl::rows::FrontierHostRow,
    error::Error,
};

/// A host with a due URL in a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueHost {
    /// The slot.
    pub slot: i16,
    /// The crawl.
    pub crawl: i32,
    /// Hash of the host's site.
    pub site_hash: u64,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// When its next URL is due.
    pub next_due: DateTime<Utc>,
    /// The host's known URLs in this crawl.
    pub known: i32,
    /// The pending URLs among these.
    pub pending: i32,
}

/// A chunk of a host's state in a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChunk {
    /// The slot.
    pub slot: i16,
    /// The crawl.
    pub crawl: i32,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Its sequence number, ascending per crawl and host.
    pub seq: i32,
    /// The chunk's packed data.
    pub data: Vec<u8>,
}

/// An open crawl's recorded sums for a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotSums {
    /// The slot.
    pub slot: i16,
    /// The crawl.
    pub crawl: i32,
    /// Pending URLs.
    pub pending: i64,
    /// Reserved pages that were not used yet.
    pub reserved: i64,
}

from_row!(SlotSums { slot, crawl, pending, reserved });

impl FromRow for DueHost {
    fn from_row(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            slot: row.try_get("slot")?,
            crawl: row.try_get("crawl")?,
            site_hash: unsigned_hash(row.try_get("site_hash")?),
            host_hash: unsigned_hash(row.try_get("host_hash")?),
            next_due: row.try_get("next_due")?,
            known: row.try_get("known")?,
            pending: row.try_get("pending")?,
        })
    }
}

impl FromRow for StoredChunk {
    fn from_row(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            slot: row.try_get("slot")?,
            crawl: row.try_get("crawl")?,
            host_hash: unsigned_hash(row.try_get("host_hash")?),
            seq: row.try_get("seq")?,
            data: row.try_get("data")?,
        })
    }
}

struct HostOfSlot(i16, FrontierHostRow);

impl FromRow for HostOfSlot {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let robots: (Option<Vec<u8>>, _) = (row.try_get("robots")?, row.try_get("robots_until")?);
        let addresses: (Option<Vec<String>>, _) =
            (row.try_get("addresses")?, row.try_get("addresses_until")?);
        Ok(Self(
            row.try_get("slot")?,
            FrontierHostRow {
                host_hash: unsigned_hash(row.try_get("host_hash")?),
                site_hash: unsigned_hash(row.try_get("site_hash")?),
                hostname: row.try_get("hostname")?,
                free_at: row.try_get("free_at")?,
                delay_ms: row.try_get("delay_ms")?,
                response_ms: row.try_get("response_ms")?,
                crawl_delay_ms: row.try_get("crawl_delay_ms")?,
                origins: row.try_get("origins")?,
                robots: robots.0.zip(robots.1),
                addresses: addresses.0.zip(addresses.1),
            },
        ))
    }
}

sql_calls! {
    /// Returns hosts in these slots with a URL due before `until`, ordered by due time.
    pub async fn load_due_hosts(
        slots: &[i16],
        until: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<DueHost>, Error>
        = load(
            "select * from coordinator.load_due_hosts($1, $2, $3)",
            slots.to_vec(), until, i32::try_from(limit).unwrap_or(i32::MAX),
        );

    /// Returns hosts' chunks in the order in which they were written. A host is given as slot,
    /// crawl and host hash.
    pub async fn load_host_chunks(hosts: &[(i16, i32, u64)]) -> Result<Vec<StoredChunk>, Error>
        = load(
            "select * from coordinator.load_host_chunks($1, $2, $3)",
            hosts.iter().map(|(slot, ..)| *slot).collect::<Vec<_>>(),
            hosts.iter().map(|(_, crawl, _)| *crawl).collect::<Vec<_>>(),
            hosts.iter().map(|(.., hash)| signed_hash(*hash)).collect::<Vec<_>>(),
        );

    /// Returns the recorded sums of all open crawls for these slots.
    pub async fn load_slot_sums(slots: &[i16]) -> Result<Vec<SlotSums>, Error>
        = load("select * from coordinator.load_slot_sums($1)", slots.to_vec());
}

impl Coordinator {
    /// Returns the host rows for these sites, given as slot and site hash.
    pub async fn load_site_hosts(
        &self,
        sites: &[(i16, u64)],
    ) -> Result<Vec<(i16, FrontierHostRow)>, Error> {
        let sql = "select * from coordinator.load_site_hosts($1, $2)";
        let slots: Vec<i16> = sites.iter().map(|(slot, _)| *slot).collect();
        let hashes: Vec<i64> = sites.iter().map(|(_, hash)| signed_hash(*hash)).collect();
        let rows: Vec<HostOfSlot> = self.load(sql, &[bind(&slots), bind(&hashes)]).await?;
        Ok(rows.into_iter().map(|HostOfSlot(slot, manners)| (slot, manners)).collect())
    }
}
