//! `bundle-shard`: selects each host's best icon that decodes, and writes the shard's bundles,
//! search part and map part.

mod live_tabs;

use std::{
    collections::{BTreeMap, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use everytab_bundler::{
    bundle::{self, BundleIcon, Tab},
    common_icons::common_icons,
    icon_list::{self, DigestPrefix, IconLine, hostname_prefix},
    layout::spread,
    map::{BACKGROUND, part::write_part as write_map_part},
    object_names::{self, icon_list_path, scan_prefix},
    search::{SearchEntry, part::write_part},
    stats_names::{CountFamily, CountName, InputName, OutcomeName},
    title_pattern::TitlePattern,
};
use everytab_commoncrawl::warc::{self, RecordType};
use everytab_coordinator::{BundleHost, BundleRow, Coordinator, Output};
use everytab_fetcher::Heartbeat;
use everytab_icon::{
    convert::TabIcon,
    png::Colours,
    thumbnail::{Thumbnail, empty_thumbnail},
};
use everytab_job_result::{JobError, PerformedJob, Stats, blocking};
use everytab_sandbox::{Sandbox, SandboxError};
use everytab_storage::Store;
use sha2::{Digest, Sha256};

use self::live_tabs::{ShardCounts, check_loss};
use crate::{
    context::Context,
    icon_processes::{self, CRASHED, ConvertedIcon, Reason},
    job::{Job, ScanAssignment},
    site_objects::{put_all, put_object},
    warc::home_url,
};

/// Hosts per batch. Hosts are batched, because passing work to a blocking thread and back takes a
/// third as long as converting an icon.
const HOSTS_PER_BATCH: usize = 16;
/// A host gets no icon after this many failed conversions, which bounds the cost per host.
const MAX_FAILED_CONVERSIONS: usize = 4;
/// Maximum size of an archive that is read at once. A typical shard's archive has about 5 MB.
const ARCHIVE_BYTES_IN_MEMORY: u64 = 64 << 20;

pub(crate) struct BundleShard;

impl Job for BundleShard {
    type Input = Vec<BundleHost>;

    async fn load(
        coordinator: &Coordinator,
        job: &ScanAssignment,
    ) -> Result<Self::Input, JobError> {
        let mut hosts = coordinator.load_bundle_shard(job.scan, job.part).await?;
        let titles = coordinator.load_title_patterns(job.scan).await?;
        block_titles(&mut hosts, &titles);
        Ok(hosts)
    }

    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        hosts: Vec<BundleHost>,
    ) -> Result<PerformedJob, JobError> {
        let bundles = job.info.bundles_per_shard.unwrap_or(1);
        let first_bundle = job.part.saturating_mul(bundles);
        let blocked = hosts.iter().filter(|host| host.blocked).count();
        let archive = ShardArchive::open(context, job, &hosts).await?;
        let converter = Converter {
            archive,
            colours: job.settings.icon_colours,
            sandbox: &context.sandbox,
            heartbeat: &job.heartbeat,
            converted: HashMap::new(),
        };
        let ShardTabs { tabs, hostnames, icons, thumbnails, mut stats } =
            tabs(hosts, converter).await?;
        for (icon, hosts) in common_icons(&tabs) {
            stats.count_member(CountFamily::CommonIcon, icon, hosts);
        }
        let with_icon = tabs.iter().filter(|tab| tab.icon.is_some()).count();
        let tab_count = tabs.len();
        let written = blocking(move || write_bundles(&tabs, bundles, &hostnames, first_bundle));
        let (objects, entries) = written.await?;
        let mut digest = Sha256::new();
        let mut bytes = 0;
        for bundle in &objects {
            digest.update(bundle);
            bytes += bundle.len() as u64;
        }
        stats.count(CountName::Bundles, objects.len() as u64);
        stats.count(CountName::BundleBytes, bytes);
        let site = context.store(&job.settings.site).await?;
        let scan_id = job.info.scan_id;
        let left = [tab_count, with_icon].map(|count| (count + blocked) as u64);
        let left = ShardCounts { tabs: left[0], with_icon: left[1] };
        check_loss(&*site, job, left).await?;
        let named = (first_bundle..)
            .zip(objects)
            .map(|(number, bundle)| (object_names::bundle(scan_id, number), bundle));
        put_all(&*site, named, &job.heartbeat).await?;
        let list = scan_prefix(scan_id) + &icon_list_path(first_bundle);
        put_object(&*site, &list, icon_list::write(icons)).await?;
        let part = object_names::search_part(job.info.scan_id, job.part);
        let archive = context.store(&job.settings.archive).await?;
        put_object(&*archive, &part, write_part(entries)).await?;
        let part = object_names::map_part(job.info.scan_id, job.part);
        let thumbnails = blocking(move || write_thumbnails(&thumbnails, bundles)).await?;
        put_object(&*archive, &part, thumbnails).await?;
        let row = BundleRow {
            first_bundle,
            bundles,
            tabs: i32::try_from(tab_count).unwrap_or(i32::MAX),
            with_icon: i32::try_from(with_icon).unwrap_or(i32::MAX),
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
            digest: digest.finalize().into(),
        };
        Ok(PerformedJob { output: Output::Bundles(row), stats })
    }
}

fn block_titles(hosts: &mut [BundleHost], patterns: &[String]) {
    let patterns: Vec<TitlePattern> =
        patterns.iter().map(|pattern| TitlePattern::new(pattern)).collect();
    for host in hosts {
        if let Some(title) = &host.title {
            host.blocked |= patterns.iter().any(|pattern| pattern.matches(title));
        }
    }
}

enum ShardArchive {
    Absent,
    Whole(Bytes),
    Remote(Arc<dyn Store>, String),
}

impl ShardArchive {
    async fn open(
        context: &Context,
        job: &ScanAssignment,
        hosts: &[BundleHost],
    ) -> Result<Self, JobError> {
        let first = hosts.first();
        let lease_number = first.and_then(|host| host.archive_lease_number);
        let token = first.and_then(|host| host.archive_token);
        let is_needed = hosts.iter().any(|host| !host.archive_offsets.is_empty());
        let (Some(lease_number), Some(token), true) = (lease_number, token, is_needed) else {
            return Ok(Self::Absent);
        };
        let store = context.store(&job.settings.archive).await?;
        let key = object_names::archive(job.info.scan_id, job.part, lease_number, token);
        let info = store.head(&key).await?.ok_or_else(|| {
            JobError::Discard(format!(
                "the archive {key} is not in {}; `scan retry --kind icon` fetches it again",
                store.url()
            ))
        })?;
        if info.size <= ARCHIVE_BYTES_IN_MEMORY {
            return Ok(Self::Whole(store.get(&key).await?));
        }
        Ok(Self::Remote(store, key))
    }

    async fn record(&self, offset: i64, length: i64) -> Result<Option<Bytes>, JobError> {
        let start = offset.unsigned_abs();
        let end = start.saturating_add(length.unsigned_abs());
        match self {
            Self::Absent => Ok(None),
            Self::Whole(bytes) => {
                let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
                Ok(range
                    .filter(|(start, end)| start <= end && *end <= bytes.len())
                    .map(|(start, end)| bytes.slice(start..end)))
            }
            Self::Remote(store, key) => Ok(Some(store.get_range(key, start..end).await?)),
        }
    }
}

struct ShardTabs {
    tabs: Vec<Tab>,
    hostnames: Vec<String>,
    icons: Vec<IconLine>,
    thumbnails: Vec<Thumbnail>,
    stats: Stats,
}

async fn tabs(hosts: Vec<BundleHost>, mut converter: Converter<'_>) -> Result<ShardTabs, JobError> {
    let mut stats = Stats::default();
    stats.input(InputName::Pages, hosts.len() as u64);
    let mut shown = Vec::with_capacity(hosts.len());
    for mut host in hosts {
        if host.blocked {
            stats.outcome(OutcomeName::OptedOut.as_str(), 1);
        } else if let Some(title) = host.title.take() {
            shown.push((host, title));
        } else {
            stats.outcome(OutcomeName::ExcludedNoTitle.as_str(), 1);
        }
    }
    let mut tabs = Vec::with_capacity(shown.len());
    let mut hostnames = Vec::with_capacity(shown.len());
    let mut icons = Vec::with_capacity(shown.len());
    let mut thumbnails = Vec::with_capacity(shown.len());
    while !shown.is_empty() {
        let some: Vec<_> = shown.drain(..HOSTS_PER_BATCH.min(shown.len())).collect();
        converter.convert_for(&some, &mut stats).await?;
        for (host, title) in some {
            let best = converter.best_icon(&host).cloned();
            let thumbnail = best.as_ref().map(|best| best.thumbnail);
            thumbnails.push(thumbnail.unwrap_or_else(|| empty_thumbnail(BACKGROUND)));
            if let Some(ShardIcon { icon, source, .. }) = &best {
                let hostname = hostname_prefix(&host.hostname);
                icons.push(IconLine { icon: *source, hostname });
                stats.count_member(CountFamily::Selected, icon.source.format.name(), 1);
                stats.count(CountName::Blank, u64::from(icon.blank));
            }
            let outcome = match best {
                Some(_) => OutcomeName::TabWithIcon,
                None => OutcomeName::TabWithoutIcon,
            };
            stats.outcome(outcome.as_str(), 1);
            let url = home_url(&host.hostname, host.https);
            let icon = best.map(|ShardIcon { icon, .. }| {
                let TabIcon { png, width, height, .. } = icon;
                BundleIcon { png, width, height }
            });
            tabs.push(Tab { url, title, icon, iframe_ok: host.frameable });
            hostnames.push(host.hostname);
        }
    }
    Ok(ShardTabs { tabs, hostnames, icons, thumbnails, stats })
}

struct Converter<'a> {
    archive: ShardArchive,
    colours: Colours,
    sandbox: &'a Arc<Sandbox>,
    heartbeat: &'a Heartbeat,
    /// Results by record offset, so that hosts with the same record share the conversion.
    converted: HashMap<i64, Option<ShardIcon>>,
}

#[derive(Debug, Clone)]
struct ShardIcon {
    icon: TabIcon,
    source: DigestPrefix,
    thumbnail: Thumbnail,
}

impl Converter<'_> {
    /// Yields the icons in the order that SQL selected, until [`MAX_FAILED_CONVERSIONS`] have
    /// failed.
    fn looked_at(
        &self,
        host: &BundleHost,
    ) -> impl Iterator<Item = (usize, Option<&Option<ShardIcon>>)> {
        until_failed(host.archive_offsets.iter().map(|offset| self.converted.get(offset)))
    }

    fn best_icon(&self, host: &BundleHost) -> Option<&ShardIcon> {
        self.looked_at(host).find_map(|(_, icon)| icon?.as_ref())
    }

    /// Returns `None` if one of the host's icons decodes, or if no record remains.
    fn next_record(&self, host: &BundleHost) -> Option<(i64, i64)> {
        let mut icons = self.looked_at(host);
        let (number, icon) = icons.find(|(_, icon)| !matches!(icon, Some(None)))?;
        let record = host.archive_offsets.get(number).zip(host.archive_lengths.get(number));
        record.filter(|_| icon.is_none()).map(|(offset, length)| (*offset, *length))
    }

    async fn convert_for(
        &mut self,
        hosts: &[(BundleHost, String)],
        stats: &mut Stats,
    ) -> Result<(), JobError> {
        loop {
            let next = hosts.iter().filter_map(|(host, _)| self.next_record(host));
            let wanted = next.collect::<BTreeMap<i64, i64>>();
            if wanted.is_empty() {
                return Ok(());
            }
            self.convert(wanted, stats).await?;
        }
    }

    async fn convert(
        &mut self,
        wanted: BTreeMap<i64, i64>,
        stats: &mut Stats,
    ) -> Result<(), JobError> {
        let mut records = Vec::with_capacity(wanted.len());
        for (offset, length) in wanted {
            let record = self.archive.record(offset, length).await?;
            records.push((offset, record.ok_or("archive_short")));
        }
        let colours = self.colours;
        let sandbox = Arc::clone(self.sandbox);
        let heartbeat = self.heartbeat.clone();
        let converted =
            blocking(move || convert_all(records, &sandbox, colours, &heartbeat)).await?;
        for (offset, icon) in converted.map_err(void)? {
            if let Err(reason) = &icon {
                stats.count_member(CountFamily::ConversionFailed, reason, 1);
            }
            self.converted.insert(offset, icon.ok());
        }
        Ok(())
    }
}

fn until_failed<'a>(
    icons: impl Iterator<Item = Option<&'a Option<ShardIcon>>>,
) -> impl Iterator<Item = (usize, Option<&'a Option<ShardIcon>>)> {
    let mut failed = 0;
    icons.enumerate().take_while(move |(_, icon)| {
        let is_looked_at = failed < MAX_FAILED_CONVERSIONS;
        failed += usize::from(matches!(icon, Some(None)));
        is_looked_at
    })
}

type Conversions = Vec<(i64, Result<ShardIcon, Reason>)>;

/// No icon is at fault, so the job runs again.
fn void(error: SandboxError) -> JobError {
    match error {
        SandboxError::Start(_) => JobError::NoRoom(error.to_string()),
        SandboxError::Ended(_) | SandboxError::TooLarge(_) => JobError::Retry(error.to_string()),
    }
}

fn convert_all(
    records: Vec<(i64, Result<Bytes, Reason>)>,
    sandbox: &Sandbox,
    colours: Colours,
    heartbeat: &Heartbeat,
) -> Result<Conversions, SandboxError> {
    let mut converted = Vec::with_capacity(records.len());
    let mut icons = Vec::with_capacity(records.len());
    for (offset, record) in records {
        match record.and_then(|record| body_of(&record)) {
            Ok(body) => icons.push((offset, body)),
            Err(reason) => converted.push((offset, Err(reason))),
        }
    }
    let bodies: Vec<&[u8]> = icons.iter().map(|(_, body)| body.as_slice()).collect();
    icon_processes::convert(sandbox, &bodies, colours, |number, icon| {
        heartbeat.beat();
        let Some((offset, body)) = icons.get(number) else { return };
        let source = icon_list::prefix_of(&Sha256::digest(body).into());
        let whole = |ConvertedIcon { icon, thumbnail }| ShardIcon { icon, source, thumbnail };
        converted.push((*offset, icon.map(whole)));
    })?;
    Ok(converted)
}

fn body_of(record: &[u8]) -> Result<Vec<u8>, Reason> {
    let read = catch_unwind(AssertUnwindSafe(|| {
        let record =
            warc::read_record(record, warc::Limits::default()).map_err(|_| "archive_corrupt")?;
        match record.http_response() {
            Ok(response) => Ok(response.body),
            Err(_) if record.record_type == RecordType::Resource => Ok(record.block),
            Err(_) => Err("archive_corrupt"),
        }
    }));
    read.unwrap_or(Err(CRASHED))
}

fn write_thumbnails(thumbnails: &[Thumbnail], bundles: i32) -> Vec<u8> {
    let bundles = usize::try_from(bundles).unwrap_or(1).max(1);
    let of_bundles = spread(thumbnails.len(), bundles).into_iter().map(|tabs| &thumbnails[tabs]);
    write_map_part(of_bundles)
}

fn write_bundles(
    tabs: &[Tab],
    bundles: i32,
    hostnames: &[String],
    first_bundle: i32,
) -> (Vec<Bytes>, Vec<SearchEntry>) {
    let bundles = usize::try_from(bundles).unwrap_or(1).max(1);
    let mut objects = Vec::with_capacity(bundles);
    let mut entries = Vec::with_capacity(tabs.len());
    for (number, range) in (first_bundle..).zip(spread(tabs.len(), bundles)) {
        let of_bundle = hostnames[range.clone()].iter().zip(&tabs[range.clone()]);
        for (slot, (hostname, tab)) in (0..).zip(of_bundle) {
            let entry = SearchEntry::new(hostname.clone(), number, slot);
            entries.push(entry.with_title(&tab.title));
        }
        objects.push(Bytes::from(bundle::write(&tabs[range])));
    }
    (objects, entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_looked_at_up_to_its_fourth_failed_conversion() {
        let failed = None;
        let looked_at = |icons: &[Option<&Option<ShardIcon>>]| {
            until_failed(icons.iter().copied()).map(|(number, _)| number).collect::<Vec<_>>()
        };
        let (unknown, broken) = (None, Some(&failed));
        assert_eq!(looked_at(&[broken; 50]), [0, 1, 2, 3]);
        assert_eq!(looked_at(&[broken, broken, broken, unknown, unknown]), [0, 1, 2, 3, 4]);
        assert_eq!(looked_at(&[]), [0; 0]);
    }
}
