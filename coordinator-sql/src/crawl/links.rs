//! Links in transit to the slots that merge them.

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::{bind, sql_row, sql_rows},
        call::run,
    },
    crawl::{rows::LinksRow, slots::LinkCursors},
    error::Error,
};

/// Link rows that slots have not read yet.
#[derive(Debug, Clone)]
pub struct UnreadLinks {
    /// The slots' new cursor once all rows below it are merged.
    pub ceiling: String,
    /// The rows.
    pub rows: Vec<UnreadRow>,
    /// The last row's position. `None` if there are no more rows below the ceiling.
    pub more_after: Option<String>,
}

/// A row of links, with the slots that must merge them.
#[derive(Debug, Clone)]
pub struct UnreadRow {
    /// The row's position in reading order.
    pub position: String,
    /// The caller's slots that have not read this row yet.
    pub slots: Vec<i16>,
    /// The crawl.
    pub crawl: i32,
    /// Number of links in the row, for all slots in its group.
    pub amount: i32,
    /// The links, packed.
    pub data: Vec<u8>,
}

/// A lane of links. Links for which a client is waiting have their own lane, so that others do not
/// delay them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkLane {
    /// Links for which a client is waiting.
    Urgent,
    /// All other links.
    Ordinary,
}

impl LinkLane {
    /// Both lanes.
    pub const ALL: [Self; 2] = [Self::Urgent, Self::Ordinary];

    /// Returns the lane's cursor.
    pub const fn cursor(self, cursors: &mut LinkCursors) -> &mut String {
        match self {
            Self::Urgent => &mut cursors.urgent,
            Self::Ordinary => &mut cursors.ordinary,
        }
    }
}

sql_row!("link_row": SqlLink from LinksRow as |row| {
    crawl: i32 = row.crawl,
    slot_group: i16 = row.slot_group,
    slot_mask: i32 = row.slot_mask,
    is_urgent: bool = row.is_urgent,
    amount: i32 = row.amount,
    data: &'a [u8] = &row.data,
});

sql_calls! {
    /// Adds submitted links to a crawl. The last call sets `is_last`, even without links, and from
    /// then on the crawl may end. Returns false if the crawl has ended.
    pub async fn add_links(crawl: i32, links: &[LinksRow], is_last: bool) -> Result<bool, Error>
        = operator_value(
            "select coordinator.add_links($1, $2, $3)",
            crawl, is_last, sql_rows::<_, SqlLink<'_>>(links),
        );

    /// Drops the link partitions that every slot has read. Returns how many were dropped.
    pub async fn drop_read_links() -> Result<i32, Error>
        = value("select coordinator.drop_read_links()");
}

impl Coordinator {
    /// Reads at most `limit` link rows from one lane. `from` is the previous batch's ceiling and
    /// last position, or `None` to start at each slot's cursor.
    pub async fn read_links(
        &self,
        slots: &[(i16, LinkCursors)],
        lane: LinkLane,
        from: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<UnreadLinks, Error> {
        let sql = "select * from coordinator.read_links($1, $2, $3, $4, $5, $6)";
        let numbers: Vec<i16> = slots.iter().map(|(slot, _)| *slot).collect();
        let cursors = slots.iter().map(|(_, cursors)| match lane {
            LinkLane::Urgent => cursors.urgent.as_str(),
            LinkLane::Ordinary => cursors.ordinary.as_str(),
        });
        let cursors: Vec<&str> = cursors.collect();
        let is_urgent = lane == LinkLane::Urgent;
        let (ceiling, position) = from.unzip();
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let parameters = [
            bind(&numbers),
            bind(&cursors),
            bind(&is_urgent),
            bind(&ceiling),
            bind(&position),
            bind(&limit),
        ];
        let mut read = UnreadLinks { ceiling: String::new(), rows: Vec::new(), more_after: None };
        for row in run(&self.work, sql, &parameters).await? {
            read.ceiling = row.try_get("ceiling")?;
            if let Some(position) = row.try_get("position")? {
                read.rows.push(UnreadRow {
                    position,
                    slots: row.try_get("slots")?,
                    crawl: row.try_get("crawl")?,
                    amount: row.try_get("amount")?,
                    data: row.try_get("data")?,
                });
            }
        }
        let is_full = i32::try_from(read.rows.len()).is_ok_and(|rows| rows >= limit);
        let last = read.rows.last().filter(|_| is_full);
        read.more_after = last.map(|row| row.position.clone());
        Ok(read)
    }
}
