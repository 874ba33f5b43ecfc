//! Reads links and sites for held slots from Postgres, and unpacks them in separate threads.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use everytab_coordinator::{
    Coordinator, Error, FrontierHostRow, LinkCursors, LinkLane, SlotFence, StoredChunk,
    UnreadLinks, UnreadRow,
};
use everytab_frontier::{
    ChunkError, HostState, Link, ParameterList, Unpacked, slot_of_site, unpack_links,
};

use crate::{fetch::FetchContext, host::SiteKey};

/// Maximum rows that one call reads. Each may hold some thousands of links.
pub(crate) const ROWS_PER_CALL: u32 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassKind {
    Urgent,
    Ordinary,
    /// Ordinary links that arrived after the start of a long ordinary pass.
    Newer,
}

impl PassKind {
    pub(crate) const ALL: [Self; 3] = [Self::Urgent, Self::Ordinary, Self::Newer];

    pub(crate) fn lane(self) -> LinkLane {
        match self {
            Self::Urgent => LinkLane::Urgent,
            Self::Ordinary | Self::Newer => LinkLane::Ordinary,
        }
    }
}

pub(crate) type Readers = Vec<(SlotFence, LinkCursors)>;

pub(crate) struct LinksRead {
    pub kind: PassKind,
    pub pass: u64,
    /// The position up to which links are read once the pass is done.
    pub ceiling: String,
    pub more_after: Option<String>,
    pub links: VecDeque<ReadLink>,
    pub crawls: HashSet<i32>,
}

pub(crate) type ReadLink = (SlotFence, i32, Link);

pub(crate) async fn read_links(
    coordinator: &Coordinator,
    context: &Arc<FetchContext>,
    (kind, pass, readers): (PassKind, u64, &Readers),
    from: Option<(String, String)>,
) -> Result<LinksRead, Error> {
    let slots: Vec<(i16, LinkCursors)> =
        readers.iter().map(|(fence, cursors)| (fence.slot, cursors.clone())).collect();
    let from = from.as_ref().map(|(ceiling, after)| (ceiling.as_str(), after.as_str()));
    let mut unread = coordinator.read_links(&slots, kind.lane(), from, ROWS_PER_CALL).await?;
    let rows = std::mem::take(&mut unread.rows);
    let UnreadLinks { ceiling, more_after, .. } = unread;
    let crawls = rows.iter().map(|row| row.crawl).collect();
    let fences: HashMap<i16, SlotFence> =
        readers.iter().map(|(fence, _)| (fence.slot, *fence)).collect();
    let context = Arc::clone(context);
    let links = unpacked_by(move || links_of(&rows, &fences, &context)).await??;
    Ok(LinksRead { kind, pass, ceiling, more_after, links, crawls })
}

/// Unpacks data in a separate thread, because users and sites control its size.
async fn unpacked_by<T: Send + 'static>(
    unpack: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let unpacked = tokio::task::spawn_blocking(unpack).await;
    unpacked.map_err(|error| Error::Unexpected(format!("cannot unpack stored data: {error}")))
}

fn links_of(
    rows: &[UnreadRow],
    fences: &HashMap<i16, SlotFence>,
    context: &FetchContext,
) -> Result<VecDeque<ReadLink>, Error> {
    let mut links = VecDeque::new();
    for UnreadRow { slots, crawl, data, position, .. } in rows {
        let found = unpack_links(data, &context.parameters).map_err(|error| {
            Error::Unexpected(format!("cannot unpack the links at {position}: {error}"))
        })?;
        for link in found.links {
            let slot = i16::from(slot_of_site(context.suffixes.site_of(link.url.host())));
            if let Some(fence) = fences.get(&slot).filter(|_| slots.contains(&slot)) {
                links.push_back((*fence, *crawl, link));
            }
        }
    }
    Ok(links)
}

pub(crate) struct LoadedSite {
    pub key: SiteKey,
    pub hosts: Vec<FrontierHostRow>,
    pub states: Vec<(u64, Unpacked)>,
}

pub(crate) async fn load_sites(
    coordinator: &Coordinator,
    context: &Arc<FetchContext>,
    sites: Vec<(SlotFence, SiteKey)>,
) -> Result<Vec<(SlotFence, LoadedSite)>, Error> {
    let wanted: Vec<(i16, u64)> =
        sites.iter().map(|(fence, key)| (fence.slot, key.site_hash)).collect();
    let mut by_site: HashMap<u64, Vec<FrontierHostRow>> = HashMap::new();
    for (_, manners) in coordinator.load_site_hosts(&wanted).await? {
        let hosts = by_site.entry(manners.site_hash).or_default();
        if hosts.iter().all(|host| host.host_hash != manners.host_hash) {
            hosts.push(manners);
        }
    }
    let hosts_of = |key: &SiteKey| by_site.get(&key.site_hash).map_or(&[][..], Vec::as_slice);
    let wanted: Vec<(i16, i32, u64)> = sites
        .iter()
        .flat_map(|(fence, key)| {
            let hosts = hosts_of(key).iter();
            hosts.map(|host| (fence.slot, key.crawl, host.host_hash))
        })
        .collect();
    let mut chunks: HashMap<(i32, u64), Vec<StoredChunk>> = HashMap::new();
    if !wanted.is_empty() {
        for chunk in coordinator.load_host_chunks(&wanted).await? {
            chunks.entry((chunk.crawl, chunk.host_hash)).or_default().push(chunk);
        }
    }
    let context = Arc::clone(context);
    unpacked_by(move || sites_of(sites, &by_site, &chunks, &context.parameters)).await?
}

fn sites_of(
    sites: Vec<(SlotFence, SiteKey)>,
    hosts: &HashMap<u64, Vec<FrontierHostRow>>,
    chunks: &HashMap<(i32, u64), Vec<StoredChunk>>,
    parameters: &ParameterList,
) -> Result<Vec<(SlotFence, LoadedSite)>, Error> {
    let mut loaded = Vec::with_capacity(sites.len());
    for (fence, key) in sites {
        let hosts = hosts.get(&key.site_hash).cloned().unwrap_or_default();
        let mut states = Vec::new();
        for host in &hosts {
            if let Some(chunks) = chunks.get(&(key.crawl, host.host_hash)) {
                let unpacked = unpack(&host.hostname, chunks, parameters).map_err(|error| {
                    Error::Unexpected(format!("cannot unpack host {}: {error}", host.hostname))
                })?;
                states.push((host.host_hash, unpacked));
            }
        }
        loaded.push((fence, LoadedSite { key, hosts, states }));
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
