//! `icon`: fetches a shard's icon candidates and archives the responses.

mod archive;
mod fetch_counts;

use std::sync::Arc;

use everytab_bundler::{
    object_names,
    stats_names::{CountFamily, CountName, InputName},
};
use everytab_coordinator::{Coordinator, ExclusionRow, IconHost, Output};
use everytab_fetcher::{
    Blocklist, CandidateFetch, Fetcher, HostCandidates, Outcome, RequestSigner, Robot,
    RobotsPolicy, ShardOptions, Spool, fetch_shard,
};
use everytab_job_result::{JobError, PerformedJob, Stats, blocking};
use everytab_storage::PutOptions;

pub use self::fetch_counts::counts_by_name;
use crate::{
    context::Context,
    job::{Job, ScanAssignment},
    live_exclusions::add_rows,
    request_table,
    scan_settings::{Internet, ScanSettings},
};

/// Maximum disk bytes for one shard's icons. 1,200 hosts with 30 KB per icon take about 90 MB.
pub const SPOOL_BYTES: u64 = 2 << 30;

/// Returns the maximum concurrent icon jobs in a worker with this many requests in flight. In its
/// slow tail of half a minute, a shard needs few of these requests, so that other shards can use
/// the rest.
pub const fn concurrent_jobs(in_flight: usize) -> usize {
    match in_flight / 25 {
        ..8 => 8,
        128.. => 128,
        jobs => jobs,
    }
}

pub(crate) struct Icon;

impl Job for Icon {
    type Input = (Vec<IconHost>, Blocklist, Vec<ExclusionRow>);

    async fn load(
        coordinator: &Coordinator,
        job: &ScanAssignment,
    ) -> Result<Self::Input, JobError> {
        let mut blocklist = Blocklist::default();
        for host in coordinator.load_blocklist(job.scan).await? {
            match host.kind.as_str() {
                "suffix" => blocklist.suffixes.insert(host.pattern),
                _ => blocklist.hostnames.insert(host.pattern),
            };
        }
        let hosts = coordinator.load_icon(job.scan, job.part).await?;
        // Load the exclusions last, because the worker polls for those added after this query.
        let exclusions = coordinator.load_exclusions(job.scan, 0).await?;
        Ok((hosts, blocklist, exclusions))
    }

    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        (hosts, blocklist, excluded): Self::Input,
    ) -> Result<PerformedJob, JobError> {
        let exclusions = context.exclusions.of_scan(job.scan);
        add_rows(&exclusions, excluded);
        let hosts = blocking(move || host_candidates(hosts)).await??;
        let spool = Spool::create(&context.temporary, SPOOL_BYTES).map_err(|error| {
            JobError::NoRoom(format!(
                "cannot create a spool in {}: {error}",
                context.temporary.display()
            ))
        })?;
        let spool = Arc::new(spool);
        let robots =
            if job.settings.obey_robots { RobotsPolicy::Obey } else { RobotsPolicy::Ignore };
        let seed = job.settings.seed ^ job.part.unsigned_abs() as u64;
        let options = ShardOptions {
            seed,
            robots,
            later_pass: true,
            blocklist: Arc::new(blocklist),
            signer: signer(context, job.settings.site_url.as_deref()),
            exclusions,
            robot: Some(robot(&job.settings, &context.fetcher)?),
            heartbeat: job.heartbeat.clone(),
            isolation: job.isolation.clone(),
        };
        let shard = fetch_shard(&context.fetcher, hosts, Arc::clone(&spool), options)
            .await
            .map_err(|failure| JobError::LocalFailure(context.fetcher.describe(failure)))?;
        let mut stats = stats(&shard.results);
        stats.count(CountName::DistinctUrls, shard.distinct_urls as u64);
        stats.count(CountName::DedupHits, shard.dedup_hits as u64);
        stats.count(CountName::Retried, shard.retried as u64);
        stats.count(CountName::BytesDownloaded, shard.bytes_downloaded);
        stats.count_all(counts_by_name(&shard.counts));
        let key =
            object_names::archive(job.info.scan_id, job.part, job.lease_number, job.lease_token);
        let file = context.temporary.join(key.replace('/', "-"));
        let requests = request_table::table(&shard.requests);
        let write = move || archive::write(file, &spool, &shard.results, &requests);
        let written = blocking(write).await?;
        let archive = written
            .map_err(|error| JobError::NoRoom(format!("the archive cannot be written: {error}")))?;
        stats.count(CountName::UniqueIconsStored, archive.distinct);
        stats.count(CountName::ArchiveBytes, archive.bytes);
        let options =
            PutOptions { content_type: Some("application/warc"), ..PutOptions::default() };
        let store = context.store(&job.settings.archive).await?;
        store.put_file(&key, archive.file(), options).await?;
        Ok(PerformedJob { output: Output::Icons(archive.rows), stats })
    }
}

fn signer(context: &Context, site_url: Option<&str>) -> Option<Arc<RequestSigner>> {
    let key = context.fetcher.signing_key()?;
    let Some(site_url) = site_url else {
        tracing::warn!("requests are not signed: the scan has no --site-url, which names the key");
        return None;
    };
    let signer = RequestSigner::new(Arc::clone(key), site_url)
        .inspect_err(|error| tracing::warn!("requests are not signed: --site-url {error}"));
    signer.ok().map(Arc::new)
}

/// The robot is confined to the worker's `--allow-range` addresses, unless the scan is of the
/// public internet and has a User-Agent.
fn robot(settings: &ScanSettings, fetcher: &Fetcher) -> Result<Robot, JobError> {
    let robot = match &settings.user_agent {
        Some(agent) => Robot::new(agent).map_err(|error| {
            JobError::Discard(format!("cannot parse the scan's settings: {error}"))
        })?,
        None => fetcher.robot().clone(),
    };
    Ok(match (settings.internet, &settings.user_agent) {
        (Internet::Public, Some(_)) => robot,
        (Internet::Public, None) | (Internet::Small, _) => robot.confined(),
    })
}

fn host_candidates(hosts: Vec<IconHost>) -> Result<Vec<HostCandidates>, JobError> {
    let parse = |host: IconHost| {
        let candidates = serde_json::from_str(&host.candidates).map_err(|error| {
            JobError::Discard(format!("cannot parse the candidates of {}: {error}", host.hostname))
        })?;
        let host_no = host.host_no.unsigned_abs();
        Ok(HostCandidates { host_no, hostname: host.hostname, candidates })
    };
    hosts.into_iter().map(parse).collect()
}

fn stats(results: &[CandidateFetch]) -> Stats {
    let mut stats = Stats::default();
    stats.input(InputName::Candidates, results.len() as u64);
    for result in results {
        stats.outcome(result.url_fetch.outcome.as_str(), 1);
        if result.url_fetch.outcome == Outcome::Ok {
            stats.count_member(CountFamily::Source, result.candidate.source.as_str(), 1);
            if let Some(facts) = &result.url_fetch.facts {
                stats.count_member(CountFamily::Type, facts.content_type, 1);
            }
            let caching = result.url_fetch.caching.unwrap_or_default();
            for (name, is_so) in [
                (CountName::WithValidator, caching.has_validator),
                (CountName::FreshFor30Days, caching.is_fresh_after(30)),
                (CountName::FreshFor90Days, caching.is_fresh_after(90)),
            ] {
                stats.count(name, u64::from(is_so));
            }
        }
        if let Some(certificate) = &result.url_fetch.certificate {
            stats.count_member(CountFamily::Certificate, certificate.as_str(), 1);
        }
    }
    stats
}
