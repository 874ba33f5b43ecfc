//! Counts a crawl's fetches in batches, each of which takes less than a second.

use tokio_postgres::Row;

use crate::{
    client::coordinator::Coordinator,
    connection::{
        bind::bind,
        hash::{signed_hash, unsigned_hash},
        row::FromRow,
    },
    crawl::fetch_position::FetchPosition,
    error::Error,
};

/// A count of fetches in a batch that share a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    /// The shared property: `outcome`, `status`, `type`, `depth`, `hour` or `host`.
    pub kind: String,
    /// The property's value, or a host's outcome. `None` if the fetches have no value.
    pub name: Option<String>,
    /// The host's hash if `kind` is `host`.
    pub host_hash: Option<u64>,
    /// `captured`, `failed`, `refused` or `left`.
    pub ending: String,
    /// Number of fetches.
    pub amount: u64,
}

enum AnsweredRow {
    Counted(ReportRow),
    Position(FetchPosition),
}

impl FromRow for AnsweredRow {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let (kind, name): (String, Option<String>) = (row.try_get("kind")?, row.try_get("name")?);
        if kind == "position" {
            return FetchPosition::answered(&name.unwrap_or_default()).map(Self::Position);
        }
        let host_hash: Option<i64> = row.try_get("host_hash")?;
        let host_hash = host_hash.map(unsigned_hash);
        let amount: i64 = row.try_get("amount")?;
        let ending = row.try_get("ending")?;
        let amount = amount.unsigned_abs();
        Ok(Self::Counted(ReportRow { kind, name, host_hash, ending, amount }))
    }
}

/// The counts for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPart {
    /// The counts.
    pub rows: Vec<ReportRow>,
    /// The position to continue from. `None` if there were no more fetches.
    pub next: Option<FetchPosition>,
}

impl Coordinator {
    /// Counts the next batch of a crawl's fetches after a position.
    pub async fn report_fetches(
        &self,
        crawl: i32,
        after: FetchPosition,
    ) -> Result<ReportPart, Error> {
        let sql = "select * from coordinator.report_fetches($1, $2, $3, $4)";
        let FetchPosition { epoch, xid, id } = after;
        let arguments = [bind(&crawl), bind(&epoch), bind(&xid), bind(&id)];
        let mut rows = Vec::new();
        let mut next = None;
        for row in self.operator_rows(sql, &arguments).await? {
            match row {
                AnsweredRow::Counted(row) => rows.push(row),
                AnsweredRow::Position(position) => next = Some(position),
            }
        }
        Ok(ReportPart { rows, next })
    }

    /// Returns the hostnames for these hashes, if the crawl has a fetch there.
    pub async fn hosts_of_fetches(
        &self,
        crawl: i32,
        host_hashes: &[u64],
    ) -> Result<Vec<(u64, String)>, Error> {
        let hashes: Vec<i64> = host_hashes.iter().copied().map(signed_hash).collect();
        let sql = "select * from coordinator.hosts_of_fetches($1, $2)";
        let names: Vec<(i64, String)> =
            self.operator_rows(sql, &[bind(&crawl), bind(&hashes)]).await?;
        Ok(names.into_iter().map(|(hash, name)| (unsigned_hash(hash), name)).collect())
    }
}
