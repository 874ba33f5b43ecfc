//! `icon`: fetches every candidate of a shard and archives what came back.

use std::{collections::HashMap, sync::Arc};

use everytab_bundler::{
    object_names,
    stats_names::{CountFamily, CountName, InputName},
};
use everytab_coordinator::{Coordinator, IconHost, Output};
use everytab_fetcher::{
    Blocklist, Candidate, Hand, HostCandidates, IconResult, Outcome, ShardOptions, SharedHand,
    Spool, fetch_shard,
};
use everytab_storage::PutOptions;
use everytab_webpage::CandidateSource;
use futures_util::future::BoxFuture;

use super::{
    icon_archive::{self, Touch},
    job::{Assignment, Done, Job, JobError, blocking},
    stats::Stats,
    warc::StoredCandidate,
};
use crate::{context::Context, limits, pulse::Pulse};

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
        let (hosts, touch) = blocking(move || host_candidates(hosts)).await??;
        let canaries = hosts.iter().take(50).map(|host| host.hostname.clone()).collect();
        let spool = Spool::create(&context.temporary, limits::SPOOL_BYTES).map_err(|error| {
            JobError::NoRoom(format!("no spool in {}: {error}", context.temporary.display()))
        })?;
        let spool = Arc::new(spool);
        let fetcher = context.fetchers.for_scan(job.settings.obey_robots);
        let seed = job.settings.seed ^ job.part.unsigned_abs() as u64;
        let hand = SharedHand(Arc::new(job.pulse.clone()));
        let options = ShardOptions { seed, later_pass: true, blocklist: Arc::new(blocklist), hand };
        let shard = fetch_shard(fetcher, hosts, Arc::clone(&spool), options)
            .await
            .map_err(|trouble| JobError::Trouble { trouble, canaries })?;
        let mut stats = stats(&shard.results);
        stats.count(CountName::DistinctUrls, shard.distinct_urls as u64);
        stats.count(CountName::DedupHits, shard.dedup_hits as u64);
        stats.count(CountName::Retried, shard.retried as u64);
        stats.count(CountName::BytesDownloaded, shard.bytes_downloaded);
        stats.count_all(&shard.counts);
        let file = context
            .temporary
            .join(format!("{}-{}-{}.warc.gz", job.info.scan_id, job.part, job.lease_number));
        let written =
            blocking(move || icon_archive::write(file, &spool, &shard.results, &touch)).await?;
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

/// The items of an icon job are its URLs.
impl Hand for Pulse {
    fn is_careful(&self) -> bool {
        Pulse::is_careful(self)
    }

    fn is_suspect(&self, url_no: usize) -> bool {
        Pulse::is_suspect(self, item(url_no))
    }

    fn has_crashed(&self, url_no: usize) -> bool {
        Pulse::has_crashed(self, item(url_no))
    }

    fn take(&self, url_no: usize) -> BoxFuture<'_, ()> {
        Box::pin(Pulse::take(self, item(url_no)))
    }

    fn ended(&self) {
        self.beat();
    }
}

fn item(url_no: usize) -> i64 {
    i64::try_from(url_no).unwrap_or(i64::MAX)
}

fn host_candidates(hosts: Vec<IconHost>) -> Result<(Vec<HostCandidates>, Touch), JobError> {
    let mut touch: Touch = HashMap::new();
    let mut shard = Vec::with_capacity(hosts.len());
    for host in hosts {
        let stored: Vec<StoredCandidate> =
            serde_json::from_str(&host.candidates).map_err(|error| {
                JobError::Discard(format!("the candidates of {}: {error}", host.hostname))
            })?;
        let host_no = host.host_no.unsigned_abs();
        let candidates = (0..).zip(stored).map(|(candidate_no, stored)| {
            touch.insert((host_no, candidate_no), stored.a);
            let source =
                if stored.f { CandidateSource::FaviconIco } else { CandidateSource::LinkRel };
            Candidate {
                candidate_no,
                url: stored.u,
                source,
                declared_type: stored.t,
                declared_sizes: stored.s,
            }
        });
        let candidates = candidates.collect();
        shard.push(HostCandidates { host_no, hostname: host.hostname, candidates });
    }
    Ok((shard, touch))
}

fn stats(results: &[IconResult]) -> Stats {
    let mut stats = Stats::default();
    stats.input(InputName::Candidates, results.len() as u64);
    for result in results {
        stats.outcome(result.ended.outcome.as_str(), 1);
        if result.ended.outcome == Outcome::Ok {
            stats.count_member(CountFamily::Source, icon_archive::source(result), 1);
            if let Some(facts) = &result.ended.facts {
                stats.count_member(CountFamily::Type, facts.content_type, 1);
            }
        }
        if let Some(certificate) = &result.ended.certificate {
            stats.count_member(CountFamily::Certificate, certificate.as_str(), 1);
        }
    }
    stats
}
