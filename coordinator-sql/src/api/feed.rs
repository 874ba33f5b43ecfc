//! A crawl's feed, which contains each fetch once, in recording order.

use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        fetches::ApiFetch,
    },
    client::coordinator::Coordinator,
    connection::{
        bind::bind,
        call::run,
        row::{FromRow as _, flags},
    },
    crawl::crawl_fetches::FetchFilter,
    error::Error,
};

/// A reader's position: the reader has all rows from earlier epochs, and those that are visible in
/// `snapshot`. In a pass up to a `ceiling` it also has the rows up to (`xid`, `id`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPosition {
    /// The epoch to which the snapshot, the ceiling and the transaction id belong.
    pub epoch: i16,
    /// A `pg_snapshot` in which all rows that were read are visible.
    pub snapshot: String,
    /// A `pg_snapshot` up to which the current pass reads. `None` between two passes.
    pub ceiling: Option<String>,
    /// The last row's transaction.
    pub xid: i64,
    /// The last row's number.
    pub id: i64,
}

impl Default for FeedPosition {
    fn default() -> Self {
        Self { epoch: 0, snapshot: "1:1:".to_owned(), ceiling: None, xid: 0, id: 0 }
    }
}

/// A page in a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The fetches, in recording order.
    pub fetches: Vec<ApiFetch>,
    /// The position after each fetch. Empty in a page with the newest fetches.
    pub positions: Vec<FeedPosition>,
    /// The position after this page.
    pub next: FeedPosition,
    /// Whether more fetches may already follow this page.
    pub has_more: bool,
    /// The crawl's state: `running`, `paused` or `ended`. If it is `ended` and `has_more` is false,
    /// the feed is complete.
    pub crawl_state: String,
}

fn page_of(rows: &[Row]) -> Result<FeedPage, Error> {
    let (last, fetches) =
        rows.split_last().ok_or_else(|| Error::Unexpected("no position".into()))?;
    Ok(FeedPage {
        positions: positions_of(fetches)?,
        fetches: fetches.iter().map(ApiFetch::from_row).collect::<Result<_, _>>()?,
        next: FeedPosition {
            epoch: last.try_get("next_epoch")?,
            snapshot: last.try_get("next_snapshot")?,
            ceiling: last.try_get("next_ceiling")?,
            xid: last.try_get("next_xid")?,
            id: last.try_get("next_id")?,
        },
        has_more: last.try_get("has_more")?,
        crawl_state: last.try_get("crawl_state")?,
    })
}

fn positions_of(rows: &[Row]) -> Result<Vec<FeedPosition>, Error> {
    let mut positions: Vec<FeedPosition> = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(epoch) = row.try_get::<_, Option<i16>>("next_epoch")? else { break };
        let (snapshot, ceiling) = match (row.try_get("next_snapshot")?, positions.last()) {
            (Some(snapshot), _) => (snapshot, row.try_get("next_ceiling")?),
            (None, Some(last)) => (last.snapshot.clone(), last.ceiling.clone()),
            (None, None) => return Err(Error::Unexpected("no snapshot".into())),
        };
        let (xid, id) = (row.try_get("next_xid")?, row.try_get("next_id")?);
        positions.push(FeedPosition { epoch, snapshot, ceiling, xid, id });
    }
    Ok(positions)
}

impl Coordinator {
    /// Returns up to `limit` fetches in a key's crawl that match the filter, after a position.
    /// Charges `cost` requests, 0 if a waiting request repeats its query.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `invalid_cursor` (the
    /// position's epoch does not exist in this database).
    pub async fn api_feed(
        &self,
        caller: &ApiCaller,
        id: Uuid,
        after: &FeedPosition,
        (limit, filter): (i32, &FetchFilter),
        cost: i32,
    ) -> Result<FeedPage, ApiError> {
        let sql = "select next_epoch, next_snapshot, next_ceiling, next_xid, next_id, has_more,
                          crawl_state, (fetched).*
                     from api.feed($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
        let secret = caller.secret_sha256.as_slice();
        let host = filter.signed_host();
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&id),
            bind(&after.epoch),
            bind(&after.snapshot),
            bind(&after.ceiling),
            bind(&after.xid),
            bind(&after.id),
            bind(&limit),
            bind(&cost),
            bind(&filter.outcome),
            bind(&host),
            bind(&filter.status),
        ];
        Ok(page_of(&run(&self.work, sql, &parameters).await?)?)
    }

    /// Returns the newest `limit` fetches in a key's crawl, in recording order, and the position
    /// after them.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_feed_tail(
        &self,
        caller: &ApiCaller,
        id: Uuid,
        limit: i32,
    ) -> Result<FeedPage, ApiError> {
        let sql = "select next_epoch, next_snapshot, next_ceiling, next_xid, next_id, has_more,
                          crawl_state, (fetched).*
                     from api.feed_tail($1, $2, $3, $4)";
        let secret = caller.secret_sha256.as_slice();
        let parameters = [bind(&caller.key), bind(&secret), bind(&id), bind(&limit)];
        let mut page = page_of(&run(&self.work, sql, &parameters).await?)?;
        page.fetches.reverse();
        Ok(page)
    }

    /// Returns whether each feed has fetches after a position or its crawl has ended, and charges
    /// nothing. False if the key is invalid or does not own the crawl.
    pub async fn api_feed_news(
        &self,
        asked: &[(&ApiCaller, Uuid, &FeedPosition)],
    ) -> Result<Vec<bool>, Error> {
        let sql = "select number from api.feed_news($1, $2, $3, $4, $5)";
        let keys: Vec<&str> = asked.iter().map(|(caller, _, _)| caller.key.as_str()).collect();
        let secrets = asked.iter().map(|(caller, _, _)| caller.secret_sha256.as_slice());
        let snapshots = asked.iter().map(|(_, _, after)| after.snapshot.as_str());
        let rows = run(
            &self.work,
            sql,
            &[
                bind(&keys),
                bind(&secrets.collect::<Vec<_>>()),
                bind(&asked.iter().map(|(_, id, _)| *id).collect::<Vec<_>>()),
                bind(&asked.iter().map(|(_, _, after)| after.epoch).collect::<Vec<_>>()),
                bind(&snapshots.collect::<Vec<_>>()),
            ],
        )
        .await?;
        flags(&rows, asked.len())
    }
}
