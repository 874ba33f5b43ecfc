//! Reads links and sites of held slots, in tasks of their own.
//!
//! Must not know: what is done with them.

use std::collections::HashMap;

use everytab_coordinator::{
    Coordinator, Error, HostManners, LinkCursors, LinkLane, SlotFence, StoredChunk, UnreadLinks,
    UnreadRow,
};
use everytab_frontier::{ChunkError, HostState, Link, ParameterList, Unpacked, unpack_links};

use crate::known::SiteKey;

/// Rows of links that one call reads: each may hold some thousands of links.
pub(crate) const ROWS_A_CALL: u32 = 64;

/// A pass over links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassKind {
    /// Over the urgent ones.
    Urgent,
    /// Over the others.
    Ordinary,
    /// Over the others that came after those of an ordinary pass that takes long.
    Newer,
}

impl PassKind {
    /// All.
    pub(crate) const ALL: [Self; 3] = [Self::Urgent, Self::Ordinary, Self::Newer];

    /// Whose links they are.
    pub(crate) fn lane(self) -> LinkLane {
        match self {
            Self::Urgent => LinkLane::Urgent,
            Self::Ordinary | Self::Newer => LinkLane::Ordinary,
        }
    }
}

/// Slots, with the cursors from which their links are read.
pub(crate) type Readers = Vec<(SlotFence, LinkCursors)>;

/// Links that were read.
pub(crate) struct LinksRead {
    /// Which links.
    pub kind: PassKind,
    /// The pass for which they were read.
    pub pass: u64,
    /// How far is read when all are merged.
    pub ceiling: String,
    /// The position of the last row, where more rows are to be read.
    pub more_after: Option<String>,
    /// The links, each row with its crawl.
    pub links: Vec<(UnreadRow, Vec<Link>)>,
}

/// Reads the next links of a lane of some slots, after `from`.
pub(crate) async fn read_links(
    coordinator: &Coordinator,
    parameters: &ParameterList,
    (kind, pass, readers): (PassKind, u64, &Readers),
    from: Option<(String, String)>,
) -> Result<LinksRead, Error> {
    let slots: Vec<(i16, LinkCursors)> =
        readers.iter().map(|(fence, cursors)| (fence.slot, cursors.clone())).collect();
    let from = from.as_ref().map(|(ceiling, after)| (ceiling.as_str(), after.as_str()));
    let mut unread = coordinator.read_links(&slots, kind.lane(), from, ROWS_A_CALL).await?;
    let mut links = Vec::with_capacity(unread.rows.len());
    for mut row in std::mem::take(&mut unread.rows) {
        let data = std::mem::take(&mut row.data);
        let found = unpack_links(&data, parameters)
            .map_err(|error| Error::Unexpected(format!("links at {}: {error}", row.position)))?;
        links.push((row, found.links));
    }
    let UnreadLinks { ceiling, more_after, .. } = unread;
    Ok(LinksRead { kind, pass, ceiling, more_after, links })
}

/// A site that was loaded.
pub(crate) struct LoadedSite {
    /// Which.
    pub key: SiteKey,
    /// Its hosts.
    pub hosts: Vec<HostManners>,
    /// The state of each host that the crawl knows of.
    pub states: Vec<(u64, Unpacked)>,
}

/// Loads sites, each with the fence of its slot.
pub(crate) async fn load_sites(
    coordinator: &Coordinator,
    parameters: &ParameterList,
    sites: &[(SlotFence, SiteKey)],
) -> Result<Vec<(SlotFence, LoadedSite)>, Error> {
    let asked: Vec<(i16, u64)> =
        sites.iter().map(|(fence, key)| (fence.slot, key.site_hash)).collect();
    let mut by_site: HashMap<u64, Vec<HostManners>> = HashMap::new();
    for (_, manners) in coordinator.load_site_hosts(&asked).await? {
        let hosts = by_site.entry(manners.site_hash).or_default();
        if hosts.iter().all(|host| host.host_hash != manners.host_hash) {
            hosts.push(manners);
        }
    }
    let hosts_of = |key: &SiteKey| by_site.get(&key.site_hash).map_or(&[][..], Vec::as_slice);
    let asked: Vec<(i16, i32, u64)> = sites
        .iter()
        .flat_map(|(fence, key)| {
            let hosts = hosts_of(key).iter();
            hosts.map(|host| (fence.slot, key.crawl, host.host_hash))
        })
        .collect();
    let mut chunks: HashMap<(i32, u64), Vec<StoredChunk>> = HashMap::new();
    if !asked.is_empty() {
        for chunk in coordinator.load_host_chunks(&asked).await? {
            chunks.entry((chunk.crawl, chunk.host_hash)).or_default().push(chunk);
        }
    }
    let mut loaded = Vec::with_capacity(sites.len());
    for (fence, key) in sites {
        let hosts = hosts_of(key).to_vec();
        let mut states = Vec::new();
        for host in &hosts {
            if let Some(chunks) = chunks.get(&(key.crawl, host.host_hash)) {
                let unpacked = unpack(&host.hostname, chunks, parameters)
                    .map_err(|error| Error::Unexpected(format!("{}: {error}", host.hostname)))?;
                states.push((host.host_hash, unpacked));
            }
        }
        loaded.push((*fence, LoadedSite { key: *key, hosts, states }));
    }
    Ok(loaded)
}

fn unpack(
    host: &str,
    chunks: &[StoredChunk],
    parameters: &ParameterList,
) -> Result<Unpacked, ChunkError> {
    HostState::unpack(host, chunks.iter().map(|chunk| chunk.data.as_slice()), parameters)
}
