//! The feed of a crawl: each fetch once, in the order of recording.

use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        fetches::ApiFetch,
    },
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    frontier::crawl_fetches::FetchFilter,
    row::FromRow as _,
};

/// How far a reader of a feed has come. It has read the rows of earlier epochs, those that are
/// visible in `snapshot`, and, while `ceiling` says up to where it is reading on, those before
/// (`xid`, `id`) of the others that are visible there. A transaction that commits late is not
/// visible in a snapshot that was taken before, and so its rows are not passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPosition {
    /// The epoch that snapshot, ceiling and transaction ids belong to.
    pub epoch: i16,
    /// A `pg_snapshot`: the rows that are visible in it were read.
    pub snapshot: String,
    /// A `pg_snapshot`: the rows that are visible in it are being read.
    pub ceiling: Option<String>,
    /// The transaction of the last row that was read.
    pub xid: i64,
    /// The number of the last row that was read.
    pub id: i64,
}

impl Default for FeedPosition {
    /// Before the first row.
    fn default() -> Self {
        Self { epoch: 0, snapshot: "1:1:".to_owned(), ceiling: None, xid: 0, id: 0 }
    }
}

/// A part of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The fetches, in the order of recording.
    pub fetches: Vec<ApiFetch>,
    /// The position behind each of them, where a reader goes on that takes no more of the page.
    /// Empty in a page of the newest fetches.
    pub positions: Vec<FeedPosition>,
    /// Where to go on.
    pub next: FeedPosition,
    /// Whether more may be there already.
    pub has_more: bool,
    /// The crawl's state: running, paused or ended. Of a crawl that had ended nothing comes after a
    /// page without more.
    pub crawl_state: String,
}

/// A part of a feed from its rows, of which the last is the position.
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

/// The position behind each row. Rows name snapshot and ceiling where they differ from those of the
/// row before.
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
    /// At most `limit` fetches of a key's crawl after a position that the filter asks for; a page
    /// may have fewer, or none, though there is more. Takes `cost` requests: 1, or 0 where the same
    /// request had waited and asks again.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`, `not_found`, `invalid_cursor` (no position of this
    /// database).
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

    /// The newest `limit` fetches of a key's crawl, in the order of recording, and the position
    /// behind them. Takes one request.
    ///
    /// # Errors
    /// Refused: `unauthorized`, `throttled`, `not_found`.
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

    /// Whether feeds have something after a position, or their crawl has ended, for all requests
    /// that wait: takes no request from any bucket. In the order in which they are asked; false
    /// also where the key is not valid or the crawl is not its.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn api_feed_news(
        &self,
        asked: &[(&ApiCaller, Uuid, &FeedPosition)],
    ) -> Result<Vec<bool>, Error> {
        let sql = "select number from api.feed_news($1, $2, $3, $4, $5)";
        let keys: Vec<&str> = asked.iter().map(|(caller, _, _)| caller.key.as_str()).collect();
        let secrets = asked.iter().map(|(caller, _, _)| caller.secret_sha256.as_slice());
        let snapshots = asked.iter().map(|(_, _, after)| after.snapshot.as_str());
        let mut news = vec![false; asked.len()];
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
        for row in &rows {
            let number: i64 = row.try_get("number")?;
            if let Some(one) = usize::try_from(number - 1).ok().and_then(|n| news.get_mut(n)) {
                *one = true;
            }
        }
        Ok(news)
    }
}
