//! Links on their way to the slots that merge them.

use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    frontier::{rows::LinksRow, slots::LinkCursors},
};

/// Rows of links that slots have not read yet.
#[derive(Debug, Clone)]
pub struct UnreadLinks {
    /// What the cursors of the slots become once all rows up to here are merged.
    pub ceiling: String,
    /// The rows, by their numbers.
    pub rows: Vec<UnreadRow>,
    /// Whether more rows may be there below the ceiling.
    pub has_more: bool,
}

/// A row of links, and who is to read it.
#[derive(Debug, Clone)]
pub struct UnreadRow {
    /// The row's number.
    pub id: i64,
    /// The slots of the caller that have not read it and that some of its links belong to.
    pub slots: Vec<i16>,
    /// The crawl.
    pub crawl: i32,
    /// Whether somebody waits for these links.
    pub is_urgent: bool,
    /// Number of links in the row, for all slots of its group.
    pub amount: i32,
    /// The links, packed.
    pub data: Vec<u8>,
}

/// Which links are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkLanes {
    /// All.
    All,
    /// Those that nobody waits for.
    Ordinary,
    /// Those that somebody waits for.
    Urgent,
}

impl Coordinator {
    /// Reads at most `limit` rows of links of some lanes that `slots` have not read yet. `from` is
    /// the ceiling and the last number of the rows that came before, where they were as many as the
    /// limit.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn read_links(
        &self,
        slots: &[(i16, LinkCursors)],
        lanes: LinkLanes,
        from: Option<(&str, i64)>,
        limit: u32,
    ) -> Result<UnreadLinks, Error> {
        let sql = "select * from coordinator.read_links($1, $2, $3, $4, $5, $6)";
        let numbers: Vec<i16> = slots.iter().map(|(slot, _)| *slot).collect();
        let (has_ordinary, has_urgent) = (lanes != LinkLanes::Urgent, lanes != LinkLanes::Ordinary);
        let ordinary = |at: &'_ LinkCursors| has_ordinary.then(|| at.ordinary.clone());
        let urgent = |at: &'_ LinkCursors| has_urgent.then(|| at.urgent.clone());
        let ordinary: Vec<Option<String>> = slots.iter().map(|(_, at)| ordinary(at)).collect();
        let urgent: Vec<Option<String>> = slots.iter().map(|(_, at)| urgent(at)).collect();
        let (ceiling, after) = from.map_or((None, 0), |(ceiling, after)| (Some(ceiling), after));
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let parameters = [
            bind(&numbers),
            bind(&ordinary),
            bind(&urgent),
            bind(&ceiling),
            bind(&after),
            bind(&limit),
        ];
        let mut read = UnreadLinks { ceiling: String::new(), rows: Vec::new(), has_more: false };
        for row in run(&self.work, sql, &parameters).await? {
            read.ceiling = row.try_get("ceiling")?;
            if let Some(id) = row.try_get("id")? {
                read.rows.push(UnreadRow {
                    id,
                    slots: row.try_get("slots")?,
                    crawl: row.try_get("crawl")?,
                    is_urgent: row.try_get("is_urgent")?,
                    amount: row.try_get("amount")?,
                    data: row.try_get("data")?,
                });
            }
        }
        read.has_more = i32::try_from(read.rows.len()).is_ok_and(|rows| rows >= limit);
        Ok(read)
    }

    /// Adds links that were submitted to a crawl. The last call of who started it says so, also
    /// without links: from then on the crawl may end, when these and what an operator adds later
    /// are read. False: the crawl has ended.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn add_links(
        &self,
        crawl: i32,
        links: &[LinksRow],
        is_last: bool,
    ) -> Result<bool, Error> {
        let sql = "select coordinator.add_links($1, $2, $3, $4, $5, $6, $7)";
        self.operator_value(
            sql,
            &[
                bind(&crawl),
                bind(&is_last),
                bind(&links.iter().map(|row| row.slot_group).collect::<Vec<_>>()),
                bind(&links.iter().map(|row| row.slot_mask).collect::<Vec<_>>()),
                bind(&links.iter().map(|row| row.is_urgent).collect::<Vec<_>>()),
                bind(&links.iter().map(|row| row.amount).collect::<Vec<_>>()),
                bind(&links.iter().map(|row| row.data.as_slice()).collect::<Vec<_>>()),
            ],
        )
        .await
    }

    /// Drops the partitions of links that every slot has read. Returns how many.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn drop_read_links(&self) -> Result<i32, Error> {
        self.value("select coordinator.drop_read_links()", &[]).await
    }
}
