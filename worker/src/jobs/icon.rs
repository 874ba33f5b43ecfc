//! `icon`: fetches every candidate of a shard and archives what came back.

use std::sync::Arc;

use everytab_bundler::{
    object_names,
    stats_names::{CountFamily, CountName, InputName},
};
use everytab_coordinator::{Coordinator, IconHost, Output};
use everytab_fetcher::{
    Blocklist, HostCandidates, IconResult, Outcome, RobotsPolicy, ShardOptions, Spool, fetch_shard,
};
use everytab_storage::PutOptions;

use super::{
    icon_archive,
    job::{Assignment, Done, Job, JobError, blocking},
    stats::Stats,
};
use crate::{context::Context, limits};

pub(super) struct Icon;

impl Job for Icon {
    type Input = (Vec<IconHost>, Blocklist);

    async fn load(coordinator: &Coordinator, job: &Assignment) -> Result<Self::Input, JobError> {
        let mut blocklist = Blocklist::default();
        for host in coordinator.load_blocklist(job.scan).await? {
            match host.kind.as_str() {
                "suffix" => blocklist.suffixes.insert(host.pattern),
                _ => blocklist.hostnames.insert(host.pattern),
            };
        }
        Ok((coordinator.load_icon(job.scan, job.part).await?, blocklist))
    }

    async fn run(
        context: &Context,
        job: &Assignment,
        (hosts, blocklist): Self::Input,
    ) -> Result<Done, JobError> {
        let hosts = blocking(move || host_candidates(hosts)).await??;
        let canaries = hosts.iter().take(50).map(|host| host.hostname.clone()).collect();
        let spool = Spool::create(&context.temporary, limits::SPOOL_BYTES).map_err(|error| {
            JobError::NoRoom(format!("no spool in {}: {error}", context.temporary.display()))
        })?;
        let spool = Arc::new(spool);
        let robots = match job.settings.obey_robots {
            true => RobotsPolicy::Obey,
            false => RobotsPolicy::Ignore,
        };
        let seed = job.settings.seed ^ job.part.unsigned_abs() as u64;
        let options = ShardOptions {
            seed,
            robots,
            later_pass: true,
            blocklist: Arc::new(blocklist),
            heartbeat: job.heartbeat.clone(),
            isolation: job.isolation.clone(),
        };
        let shard = fetch_shard(&context.fetcher, hosts, Arc::clone(&spool), options)
            .await
            .map_err(|trouble| JobError::Trouble { trouble, canaries })?;
        let mut stats = stats(&shard.results);
        stats.count(CountName::DistinctUrls, shard.distinct_urls as u64);
        stats.count(CountName::DedupHits, shard.dedup_hits as u64);
        stats.count(CountName::Retried, shard.retried as u64);
        stats.count(CountName::BytesDownloaded, shard.bytes_downloaded);
        stats.count_all(shard.counts.by_name());
        let file = context
            .temporary
            .join(format!("{}-{}-{}.warc.gz", job.info.scan_id, job.part, job.lease_number));
        let written = blocking(move || icon_archive::write(file, &spool, &shard.results)).await?;
        let archive = written
            .map_err(|error| JobError::NoRoom(format!("the archive cannot be written: {error}")))?;
        stats.count(CountName::UniqueIconsStored, archive.distinct);
        stats.count(CountName::ArchiveBytes, archive.bytes);
        if archive.distinct > 0 {
            let key = object_names::archive(job.info.scan_id, job.part, job.lease_number);
            let options =
                PutOptions { content_type: Some("application/warc"), ..PutOptions::default() };
            let store = context.store(&job.settings.archive).await?;
            store.put_file(&key, archive.file(), options).await?;
        }
        Ok(Done { output: Output::Icons(archive.rows), stats })
    }
}

fn host_candidates(hosts: Vec<IconHost>) -> Result<Vec<HostCandidates>, JobError> {
    let parse = |host: IconHost| {
        let candidates = serde_json::from_str(&host.candidates).map_err(|error| {
            JobError::Discard(format!("the candidates of {}: {error}", host.hostname))
        })?;
        let host_no = host.host_no.unsigned_abs();
        Ok(HostCandidates { host_no, hostname: host.hostname, candidates })
    };
    hosts.into_iter().map(parse).collect()
}

fn stats(results: &[IconResult]) -> Stats {
    let mut stats = Stats::default();
    stats.input(InputName::Candidates, results.len() as u64);
    for result in results {
        stats.outcome(result.url_result.outcome.as_str(), 1);
        if result.url_result.outcome == Outcome::Ok {
            stats.count_member(CountFamily::Source, result.candidate.source.as_str(), 1);
            if let Some(facts) = &result.url_result.facts {
                stats.count_member(CountFamily::Type, facts.content_type, 1);
            }
        }
        if let Some(certificate) = &result.url_result.certificate {
            stats.count_member(CountFamily::Certificate, certificate.as_str(), 1);
        }
    }
    stats
}
