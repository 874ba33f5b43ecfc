//! All the icons of one shard: every candidate of every host to exactly one outcome.
//!
//! Results come back in canonical order (hosts as given, candidates by number) and are the same
//! whatever the order of fetching: it is shuffled by the seed so that nobody's hosts are asked in
//! a row. A URL that several hosts name is fetched once. At the end one bounded later pass tries
//! again what may have been passing. Dropping the future ends every request.
//! Must not know: jobs, leases, Postgres, WARC.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::Arc,
};

use chrono::{DateTime, Utc};
use everytab_webpage::candidates::CandidateSource;
use tokio::task::JoinSet;

use crate::{
    blocklist::Blocklist,
    meter::Meter,
    outcome::{Outcome, Retry, Trouble},
    request::{
        certificate::Certificate,
        content::{ImageFacts, data_bytes},
        fetcher::Fetcher,
        robots::RobotsCache,
        spool::{Payload, Spool},
        target::Target,
    },
    shard::{
        group::{Group, Work, keep},
        hand::SharedHand,
    },
};

/// One icon URL that a host named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its place in the host's canonical order.
    pub candidate_no: u32,
    /// http, https or data.
    pub url: String,
    /// Who named it.
    pub source: CandidateSource,
    /// The link's `type`.
    pub declared_type: Option<String>,
    /// The link's `sizes`.
    pub declared_sizes: Option<String>,
}

/// A host and its candidates, in canonical order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCandidates {
    /// The host's number in its shard.
    pub host_no: u32,
    /// For logs.
    pub hostname: String,
    /// In canonical order.
    pub candidates: Vec<Candidate>,
}

/// How a shard is fetched.
#[derive(Clone, Debug)]
pub struct ShardOptions {
    /// Shuffles the order of fetching, nothing else.
    pub seed: u64,
    /// Whether what may have been passing is tried once more at the end.
    pub later_pass: bool,
    /// Hosts that nothing is asked of, whoever names them.
    pub blocklist: Arc<Blocklist>,
    /// Is told of every URL before it is handled.
    pub hand: SharedHand,
}

impl Default for ShardOptions {
    fn default() -> ShardOptions {
        let (blocklist, hand) = (Arc::default(), SharedHand::default());
        ShardOptions { seed: 0, later_pass: true, blocklist, hand }
    }
}

/// What fetching one URL gave; shared by all hosts that name it.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub outcome: Outcome,
    /// Of an image.
    pub facts: Option<ImageFacts>,
    /// Of the decoded body of an image.
    pub sha256: Option<[u8; 32]>,
    /// Where the body of an image is in the spool.
    pub payload: Option<Payload>,
    /// Bytes of the decoded body, image or not.
    pub bytes: u32,
    /// Time on the wire and at the resolver, of the last try.
    pub duration_ms: u32,
    /// Of the last answer.
    pub status: Option<u16>,
    /// Of the last request, if redirects led elsewhere.
    pub final_url: Option<String>,
    /// Dialled last.
    pub address: Option<SocketAddr>,
    /// Of the last https connection.
    pub certificate: Option<Certificate>,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// Whether it was asked for at all, and not settled by what others found.
    pub was_tried: bool,
    pub(crate) retry_after: Option<std::time::Duration>,
    pub(crate) dead_origin: Option<(String, Outcome)>,
}

impl Ended {
    /// An end without a fetch.
    pub(crate) fn untried(outcome: Outcome) -> Ended {
        Ended {
            outcome,
            facts: None,
            sha256: None,
            payload: None,
            bytes: 0,
            duration_ms: 0,
            status: None,
            final_url: None,
            address: None,
            certificate: None,
            ended_at: Utc::now(),
            was_tried: false,
            retry_after: None,
            dead_origin: None,
        }
    }

    /// Whether the later pass tries again, under this longest wait.
    pub(crate) fn is_worth_a_retry(&self, retry_after_max: std::time::Duration) -> bool {
        match self.outcome.retry() {
            Retry::Never => false,
            Retry::LaterPass => true,
            Retry::AfterRetryAfter => {
                matches!(self.status, Some(429 | 503))
                    && self.retry_after.unwrap_or_default() <= retry_after_max
            }
        }
    }
}

/// One candidate and how it ended.
#[derive(Clone, Debug)]
pub struct IconResult {
    /// The host's number.
    pub host_no: u32,
    /// The candidate as given.
    pub candidate: Candidate,
    /// How its URL ended.
    pub ended: Arc<Ended>,
}

/// A whole shard.
#[derive(Clone, Debug, Default)]
pub struct ShardOutcome {
    /// One for each candidate, in canonical order.
    pub results: Vec<IconResult>,
    /// Different URLs, `data:` included.
    pub distinct_urls: usize,
    /// Candidates that needed no fetch because another had the same URL.
    pub dedup_hits: usize,
    /// URLs that the later pass tried again.
    pub retried: usize,
    /// Of decoded bodies, icons or not.
    pub bytes_downloaded: u64,
    /// What it took, by name; counts of several shards add up.
    pub counts: BTreeMap<String, u64>,
}

/// Fetches every candidate of a shard; bodies of images go to `spool`.
///
/// # Errors
/// [`Trouble`] of our own: the shard is void and is to be released.
pub async fn fetch_shard(
    fetcher: &Fetcher,
    hosts: Vec<HostCandidates>,
    spool: Arc<Spool>,
    options: ShardOptions,
) -> Result<ShardOutcome, Trouble> {
    let plan = Plan::new(&hosts);
    let mut ended: Vec<Option<Ended>> = plan.urls.iter().map(|_| None).collect();
    let work = Arc::new(Work {
        shared: Arc::clone(&fetcher.shared),
        robots: RobotsCache::new(),
        urls: plan.urls,
        spool,
        has_later_pass: options.later_pass,
        blocklist: options.blocklist,
        hand: Arc::clone(&options.hand.0),
        meter: Meter::default(),
    });
    for (url_no, outcome) in plan.settled {
        ended[url_no] = Some(match outcome {
            Some(outcome) => Ended::untried(outcome),
            None => decode_in_place(&work, url_no).await?,
        });
    }
    let mut groups = plan.groups;
    shuffle(&mut groups, options.seed);
    run(&work, groups, &mut ended).await?;
    let mut outcome = ShardOutcome { distinct_urls: ended.len(), ..ShardOutcome::default() };
    if options.later_pass {
        work.robots.forget_passing_failures();
        let mut again = Group::for_later_pass(&work, &ended);
        outcome.retried = again.iter().map(|group| group.url_nos.len()).sum();
        shuffle(&mut again, options.seed);
        run(&work, again, &mut ended).await?;
    }
    outcome.bytes_downloaded = ended.iter().flatten().map(|end| u64::from(end.bytes)).sum();
    let ended: Vec<Arc<Ended>> = ended
        .into_iter()
        // Every URL is settled, or in a group that ran; the fallback can only be too careful.
        .map(|end| Arc::new(end.unwrap_or_else(|| Ended::untried(Outcome::Crashed))))
        .collect();
    let mut at = 0;
    for host in hosts {
        for candidate in host.candidates {
            let ended = Arc::clone(&ended[plan.url_no_of_candidate[at]]);
            outcome.results.push(IconResult { host_no: host.host_no, candidate, ended });
            at += 1;
        }
    }
    outcome.dedup_hits = at - outcome.distinct_urls;
    outcome.counts = work.meter.counts();
    Ok(outcome)
}

/// The distinct URLs of a shard, by origin.
struct Plan {
    urls: Vec<String>,
    /// In canonical order of the candidates.
    url_no_of_candidate: Vec<usize>,
    /// URLs that need no network: an outcome, or a `data:` URL to decode.
    settled: Vec<(usize, Option<Outcome>)>,
    groups: Vec<Group>,
}

impl Plan {
    fn new(hosts: &[HostCandidates]) -> Plan {
        let mut plan = Plan {
            urls: Vec::new(),
            url_no_of_candidate: Vec::new(),
            settled: Vec::new(),
            groups: Vec::new(),
        };
        let mut url_nos: HashMap<String, usize> = HashMap::new();
        let mut group_nos: HashMap<String, usize> = HashMap::new();
        for candidate in hosts.iter().flat_map(|host| &host.candidates) {
            let is_data = candidate.url.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("data:"));
            let target = if is_data { None } else { Some(Target::first(&candidate.url)) };
            // Two spellings of one URL are one URL.
            let key = match &target {
                Some(Ok(target)) => target.url.to_string(),
                _ => candidate.url.clone(),
            };
            let next = plan.urls.len();
            let url_no = *url_nos.entry(key.clone()).or_insert(next);
            plan.url_no_of_candidate.push(url_no);
            if url_no != next {
                continue;
            }
            plan.urls.push(key);
            match target {
                None => plan.settled.push((url_no, None)),
                Some(Err(outcome)) => plan.settled.push((url_no, Some(outcome))),
                Some(Ok(target)) => {
                    let groups = &mut plan.groups;
                    let group_no = *group_nos.entry(target.origin.clone()).or_insert_with(|| {
                        groups.push(Group::new(target.origin));
                        groups.len() - 1
                    });
                    plan.groups[group_no].url_nos.push(url_no);
                }
            }
        }
        plan
    }
}

async fn decode_in_place(work: &Arc<Work>, url_no: usize) -> Result<Ended, Trouble> {
    if work.hand.has_crashed(url_no) {
        return Ok(Ended::untried(Outcome::Crashed));
    }
    work.hand.take(url_no).await;
    match data_bytes(&work.urls[url_no]) {
        Ok(bytes) => keep(work, Ended::untried(Outcome::Ok), Vec::new(), bytes.into()).await,
        Err(outcome) => Ok(Ended::untried(outcome)),
    }
}

/// Runs groups at once, not more than there are slots, and writes down how their URLs ended. Those
/// that are not begun take next to no memory.
async fn run(
    work: &Arc<Work>,
    groups: Vec<Group>,
    ended: &mut [Option<Ended>],
) -> Result<(), Trouble> {
    let is_careful = work.hand.is_careful();
    let at_once = if is_careful { 1 } else { work.shared.settings.in_flight.max(1) };
    let (suspect, innocent): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| group.holds_suspect(&*work.hand));
    let mut running = JoinSet::new();
    let mut waiting = suspect.into_iter().chain(innocent).peekable();
    loop {
        let has_more = waiting.peek().is_some() && running.len() < at_once;
        let done = tokio::select! {
            biased;
            place = Arc::clone(&work.shared.groups).acquire_owned(), if has_more => {
                let place = place.map_err(|_closed| Trouble::Memory)?;
                if let Some(group) = waiting.next() {
                    let work = Arc::clone(work);
                    running.spawn(async move {
                        let _place = place;
                        group.run(work).await
                    });
                }
                continue;
            }
            Some(done) = running.join_next() => done,
            else => return Ok(()),
        };
        match done {
            Ok(ends) => {
                for (url_no, end) in ends? {
                    ended[url_no] = Some(end);
                }
            }
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is shutting down.
            Err(_) => return Err(Trouble::Stalled),
        }
        if work.shared.breaker.is_open() {
            return Err(Trouble::MostOriginsFail);
        }
    }
}

/// Fisher and Yates, by splitmix64.
fn shuffle<T>(items: &mut [T], mut seed: u64) {
    for last in (1..items.len()).rev() {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut random = seed;
        random = (random ^ (random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        random ^= random >> 31;
        // The remainder is at most `last`, which is an index.
        items.swap(last, (random % (last as u64 + 1)) as usize);
    }
}
