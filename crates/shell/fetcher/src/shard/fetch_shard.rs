//! Fetches all icons of one shard, so that every candidate of every host gets exactly one outcome.
//!
//! Results are in the order of the input. The order of fetching is shuffled, so that hosts with the
//! same owner are not requested in a row. Dropping the future cancels every request.

use std::sync::Arc;

use everytab_webpage::Candidate;
use tokio::task::JoinSet;

use crate::{
    blocklist::Blocklist,
    counts::FetchCounts,
    exclusions::Exclusions,
    heartbeat::Heartbeat,
    isolation::ItemIsolation,
    local_failure::LocalFailure,
    meter::FetchMeter,
    outcome::Outcome,
    request::{content::data_bytes, fetcher::Fetcher, robots::RobotsCache, spool::Spool},
    request_log::{LoggedRequests, RequestLog},
    robot::Robot,
    settings::RobotsPolicy,
    shard::{
        host_candidates::HostCandidates,
        inspect_body::inspect_and_keep,
        origin_group::OriginGroup,
        plan::UrlPlan,
        url_fetch::UrlFetch,
        work::{ShardWork, item},
    },
    signing::RequestSigner,
};

/// Options for fetching a shard.
#[derive(Clone, Debug)]
pub struct ShardOptions {
    /// Seed for shuffling the order of fetching.
    pub seed: u64,
    /// Whether robots.txt is obeyed.
    pub robots: RobotsPolicy,
    /// Whether a later pass retries failures that may be temporary.
    pub later_pass: bool,
    /// Hosts that must not be requested, even if another host names an icon on them.
    pub blocklist: Arc<Blocklist>,
    /// Signs every request, including those for robots.txt and redirects.
    pub signer: Option<Arc<RequestSigner>>,
    /// Hosts and networks that must no longer be requested. More may be added during the fetch.
    pub exclusions: Exclusions,
    /// The robot that sends the requests. If `None`, the fetcher's own robot does.
    pub robot: Option<Robot>,
    /// Counts finished URLs, so that a watchdog can see progress.
    pub heartbeat: Heartbeat,
    /// If isolation is on, URLs are fetched one at a time and the current one is recorded. The
    /// items are the distinct URLs, numbered in canonical order.
    pub isolation: ItemIsolation,
}

impl Default for ShardOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            robots: RobotsPolicy::default(),
            later_pass: true,
            blocklist: Arc::default(),
            signer: None,
            exclusions: Exclusions::default(),
            robot: None,
            heartbeat: Heartbeat::default(),
            isolation: ItemIsolation::default(),
        }
    }
}

/// A candidate with the result for its URL.
#[derive(Clone, Debug)]
pub struct CandidateFetch {
    /// The host's number in its shard.
    pub host_no: u32,
    /// The candidate's index in the host's canonical order.
    pub candidate_no: u32,
    /// The candidate, as in the input.
    pub candidate: Candidate,
    /// The result for its URL.
    pub url_fetch: Arc<UrlFetch>,
}

/// The result of fetching a shard.
#[derive(Clone, Debug, Default)]
pub struct ShardResult {
    /// One result per candidate, in canonical order.
    pub results: Vec<CandidateFetch>,
    /// Number of distinct URLs, including `data:` URLs.
    pub distinct_urls: usize,
    /// Number of candidates whose URL an earlier candidate has.
    pub dedup_hits: usize,
    /// Number of URLs that the later pass retried.
    pub retried: usize,
    /// Total size of the decoded bodies in bytes, whether or not they are icons.
    pub bytes_downloaded: u64,
    /// Counters for lookups, connections and time.
    pub counts: FetchCounts,
    /// The log of all requests.
    pub requests: LoggedRequests,
}

/// Fetches every candidate of a shard, and adds the bodies of images to `spool`.
///
/// # Errors
/// Returns the [`LocalFailure`] that voided the shard. The caller must then fetch the whole shard
/// again.
pub async fn fetch_shard(
    fetcher: &Fetcher,
    hosts: Vec<HostCandidates>,
    spool: Arc<Spool>,
    options: ShardOptions,
) -> Result<ShardResult, LocalFailure> {
    let plan = UrlPlan::new(&hosts, &fetcher.shared.settings.ports);
    let mut results: Vec<Option<UrlFetch>> = plan.urls.iter().map(|_| None).collect();
    let work = Arc::new(ShardWork {
        shared: Arc::clone(&fetcher.shared),
        robots_policy: options.robots,
        robots: RobotsCache::new(),
        urls: plan.urls,
        spool,
        has_later_pass: options.later_pass,
        blocklist: options.blocklist,
        signer: options.signer,
        exclusions: options.exclusions,
        robot: options.robot.unwrap_or_else(|| fetcher.shared.robot.clone()),
        heartbeat: options.heartbeat,
        isolation: options.isolation,
        meter: FetchMeter::default(),
        requests: RequestLog::default(),
        false_checks: fetcher.shared.resolver.false_checks(),
    });
    for (url_no, outcome) in plan.settled {
        results[url_no] = Some(match outcome {
            Some(outcome) => UrlFetch::untried(outcome),
            None => decode_data_url(&work, url_no).await?,
        });
    }
    let mut groups = plan.groups;
    let sends_requests = !groups.is_empty();
    if sends_requests {
        work.shared.resolver.check().await?;
    }
    shuffle(&mut groups, options.seed);
    run(&work, groups, &mut results).await?;
    let mut shard = ShardResult { distinct_urls: results.len(), ..ShardResult::default() };
    if options.later_pass {
        work.robots.forget_passing_failures();
        let mut again = OriginGroup::for_later_pass(&work, &results);
        shard.retried = again.iter().map(|group| group.url_nos.len()).sum();
        shuffle(&mut again, options.seed);
        run(&work, again, &mut results).await?;
    }
    if sends_requests {
        work.shared.resolver.check().await?;
        work.check_names_since_begin()?;
    }
    shard.bytes_downloaded = results.iter().flatten().map(|end| u64::from(end.bytes)).sum();
    let candidates = plan.url_no_of_candidate.len();
    shard.dedup_hits = candidates - shard.distinct_urls;
    shard.counts = work.meter.counts();
    shard.requests = work.requests.take();
    shard.results = by_candidate(hosts, &plan.url_no_of_candidate, results);
    Ok(shard)
}

fn by_candidate(
    hosts: Vec<HostCandidates>,
    url_no_of_candidate: &[usize],
    results: Vec<Option<UrlFetch>>,
) -> Vec<CandidateFetch> {
    let results: Vec<Arc<UrlFetch>> = results
        .into_iter()
        .map(|end| Arc::new(end.unwrap_or_else(|| UrlFetch::untried(Outcome::Crashed))))
        .collect();
    let mut url_nos = url_no_of_candidate.iter();
    let mut by_candidate = Vec::with_capacity(url_no_of_candidate.len());
    for host in hosts {
        for ((candidate_no, candidate), url_no) in (0..).zip(host.candidates).zip(&mut url_nos) {
            let url_fetch = Arc::clone(&results[*url_no]);
            let host_no = host.host_no;
            by_candidate.push(CandidateFetch { host_no, candidate_no, candidate, url_fetch });
        }
    }
    by_candidate
}

async fn decode_data_url(work: &Arc<ShardWork>, url_no: usize) -> Result<UrlFetch, LocalFailure> {
    if work.isolation.has_crashed(item(url_no)) {
        return Ok(UrlFetch::untried(Outcome::Crashed));
    }
    work.isolation.checkpoint_item(item(url_no)).await;
    match data_bytes(&work.urls[url_no]) {
        Ok(bytes) => {
            let result = UrlFetch::untried(Outcome::Ok);
            inspect_and_keep(work, result, Vec::new(), bytes.into()).await
        }
        Err(outcome) => Ok(UrlFetch::untried(outcome)),
    }
}

async fn run(
    work: &Arc<ShardWork>,
    groups: Vec<OriginGroup>,
    results: &mut [Option<UrlFetch>],
) -> Result<(), LocalFailure> {
    let in_flight = work.shared.settings.in_flight.max(1);
    let max_running = if work.isolation.is_on() { 1 } else { in_flight };
    let (suspect, others): (Vec<OriginGroup>, Vec<OriginGroup>) =
        groups.into_iter().partition(|group| group.holds_suspect(work));
    let mut running = JoinSet::new();
    let mut waiting = suspect.into_iter().chain(others).peekable();
    loop {
        let has_more = waiting.peek().is_some() && running.len() < max_running;
        let done = tokio::select! {
            biased;
            permit = Arc::clone(&work.shared.origins).acquire_owned(), if has_more => {
                let permit = permit.map_err(|_closed| LocalFailure::Memory)?;
                if let Some(group) = waiting.next() {
                    let work = Arc::clone(work);
                    running.spawn(async move {
                        let _permit = permit;
                        group.run(work).await
                    });
                }
                continue;
            }
            Some(done) = running.join_next() => done,
            else => return Ok(()),
        };
        match done {
            Ok(ended) => {
                for (url_no, result) in ended? {
                    results[url_no] = Some(result);
                }
            }
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The task was cancelled, because the runtime is shutting down.
            Err(_) => return Err(LocalFailure::Stalled),
        }
        work.check_names_since_begin()?;
        if work.shared.breaker.is_open() {
            return Err(LocalFailure::MostOriginsFail);
        }
    }
}

fn shuffle<T>(items: &mut [T], mut seed: u64) {
    for last in (1..items.len()).rev() {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut random = seed;
        random = (random ^ (random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        random ^= random >> 31;
        // The cast is safe because the remainder is at most `last`, which is a `usize`.
        items.swap(last, (random % (last as u64 + 1)) as usize);
    }
}
