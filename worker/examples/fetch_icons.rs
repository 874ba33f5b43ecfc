//! Fetches a list of icon URLs like icon jobs, and prints the resources used.
//!
//!     fetch_icons LIST.txt [name=value ...]
//!
//! Unlike an icon job, this program uses neither Postgres nor the archive. It requests no
//! robots.txt and has no limit per address, because the programs with which we compare it have
//! neither.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use everytab_fetcher::{
    FetchSettings, Fetcher, HostCandidates, RequestSigner, RobotsPolicy, ShardOptions, ShardResult,
    SigningKey, Spool, fetch_shard,
};
use everytab_webpage::{Candidate, CandidateSource};
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;
use url::Url;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Hosts per shard, as in a scan.
const SHARD_HOSTS: usize = 1_200;
/// Pause between two samples, and between two checks for a free permit.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

struct Options {
    list: String,
    in_flight: usize,
    threads: usize,
    spool: String,
    later_pass: bool,
    /// Whether to sign the requests, with a new key.
    signed: bool,
    body_budget_bytes: Option<usize>,
    /// Minutes in which to repeat the list.
    minutes: Option<u64>,
}

fn main() -> Result<(), AnyError> {
    everytab_worker::allocator::settle();
    let options = options()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads)
        .enable_all()
        .build()?;
    runtime.block_on(fetch(options))
}

fn options() -> Result<Options, AnyError> {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options {
        list: arguments.next().ok_or("usage: fetch_icons LIST.txt [name=value ...]")?,
        in_flight: 1_000,
        threads: std::thread::available_parallelism()?.get(),
        spool: "/tmp".to_owned(),
        later_pass: true,
        signed: false,
        body_budget_bytes: None,
        minutes: None,
    };
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or("name=value expected")?;
        match name {
            "in_flight" => options.in_flight = value.parse()?,
            "threads" => options.threads = value.parse()?,
            "spool" => value.clone_into(&mut options.spool),
            "later_pass" => options.later_pass = value.parse()?,
            "signed" => options.signed = value.parse()?,
            "body_budget_bytes" => options.body_budget_bytes = Some(value.parse()?),
            "minutes" => options.minutes = Some(value.parse()?),
            _ => return Err(format!("no option {name}").into()),
        }
    }
    Ok(options)
}

async fn fetch(options: Options) -> Result<(), AnyError> {
    let shards = shards(&std::fs::read_to_string(&options.list)?)?;
    let fetcher = Fetcher::new(settings(&options))?;
    let signer = if options.signed {
        Some(Arc::new(RequestSigner::new(
            SigningKey::generate()?.0.into(),
            "https://tabs.example/",
        )?))
    } else {
        None
    };
    let usage = Arc::new(Usage::default());
    let sampling = tokio::spawn(sample(fetcher.clone(), Arc::clone(&usage)));
    let mut totals = Totals::default();
    let mut running: JoinSet<Result<ShardResult, AnyError>> = JoinSet::new();
    let began = Instant::now();
    let until = options.minutes.map(|minutes| began + Duration::from_secs(minutes * 60));
    let repetitions = if until.is_some() { usize::MAX } else { 1 };
    let in_time = |_: &_| until.is_none_or(|until| Instant::now() < until);
    let again = (0..repetitions).flat_map(|_| shards.iter().cloned());
    let mut waiting = again.enumerate().take_while(in_time);
    let mut resources = ResourceSamples::default();
    let mut is_over = false;
    while !is_over || !running.is_empty() {
        let most = everytab_jobs::icon::concurrent_jobs(options.in_flight);
        let is_free = fetcher.has_room() && running.len() < most;
        if !is_over && (running.is_empty() || is_free) {
            match waiting.next() {
                Some((number, hosts)) => {
                    let later_pass = options.later_pass;
                    let signer = signer.clone();
                    let spool = Arc::new(Spool::create(options.spool.as_ref(), 2 << 30)?);
                    let fetcher = fetcher.clone();
                    running.spawn(async move {
                        let seed = number as u64;
                        let robots = RobotsPolicy::Ignore;
                        let options =
                            ShardOptions { seed, robots, later_pass, signer, ..Default::default() };
                        Ok(fetch_shard(&fetcher, hosts, spool, options).await?)
                    });
                }
                None => is_over = true,
            }
        }
        tokio::select! {
            Some(done) = running.join_next() => match done? {
                Ok(shard) => totals.add(&shard),
                // The servers were briefly unreachable. The next repetition fetches this shard
                // again.
                Err(_) if until.is_some() => totals.void += 1,
                Err(error) => return Err(error),
            },
            () = tokio::time::sleep(SAMPLE_INTERVAL) => {}
        }
        if until.is_some() {
            resources.sample(began.elapsed(), &totals)?;
        }
    }
    if until.is_some() {
        resources.check_growth()?;
    }
    let seconds = began.elapsed().as_secs_f64();
    sampling.abort();
    totals.print(seconds, &usage)?;
    Ok(())
}

fn settings(options: &Options) -> FetchSettings {
    let defaults = FetchSettings::default();
    FetchSettings {
        allow_ranges: "127.0.0.0/8".parse().into_iter().collect(),
        in_flight: options.in_flight,
        per_address: options.in_flight,
        body_budget_bytes: options.body_budget_bytes.unwrap_or(defaults.body_budget_bytes),
        ..defaults
    }
}

/// Splits the URLs into shards, after sorting the hosts by the hash of their names.
fn shards(list: &str) -> Result<Vec<Vec<HostCandidates>>, AnyError> {
    let mut hosts: HashMap<String, Vec<String>> = HashMap::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let url = Url::parse(line)?;
        let host = url.host_str().ok_or("a URL without a host")?;
        hosts.entry(host.to_owned()).or_default().push(line.to_owned());
    }
    let mut hosts: Vec<(String, Vec<String>)> = hosts.into_iter().collect();
    hosts.sort_by_cached_key(|(name, _)| Sha256::digest(name.as_bytes()).to_vec());
    let in_shard = |(number, (hostname, mut urls)): (usize, (String, Vec<String>))| {
        urls.sort();
        let candidate = |url| Candidate {
            url,
            source: CandidateSource::LinkRel,
            apple_touch: false,
            declared_type: None,
            declared_sizes: None,
        };
        let candidates = urls.into_iter().map(candidate).collect();
        HostCandidates { host_no: (number % SHARD_HOSTS) as u32, hostname, candidates }
    };
    let hosts: Vec<HostCandidates> = hosts.into_iter().enumerate().map(in_shard).collect();
    Ok(hosts.chunks(SHARD_HOSTS).map(<[HostCandidates]>::to_vec).collect())
}

#[derive(Default)]
struct Usage {
    samples: AtomicU64,
    permits: AtomicU64,
    most_files: AtomicU64,
}

async fn sample(fetcher: Fetcher, usage: Arc<Usage>) {
    loop {
        tokio::time::sleep(SAMPLE_INTERVAL).await;
        let samples = usage.samples.fetch_add(1, Ordering::Relaxed);
        usage.permits.fetch_add(fetcher.in_flight().requests as u64, Ordering::Relaxed);
        // Counting files takes time, so do it once a second.
        if samples.is_multiple_of(20) {
            let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
            usage.most_files.fetch_max(files as u64, Ordering::Relaxed);
        }
    }
}

/// Samples of ten minutes, after which caches are full.
const MIN_SAMPLES_JUDGED: usize = 60;

/// Memory, open files and tasks of the process, sampled every ten seconds.
#[derive(Default)]
struct ResourceSamples {
    samples: Vec<[u64; 3]>,
    next: Duration,
}

impl ResourceSamples {
    const NAMES: [&str; 3] = ["memory_kib", "open_files", "tasks"];

    fn sample(&mut self, elapsed: Duration, totals: &Totals) -> Result<(), AnyError> {
        if elapsed < self.next {
            return Ok(());
        }
        self.next = elapsed + Duration::from_secs(10);
        let files = std::fs::read_dir("/proc/self/fd")?.count() as u64;
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks() as u64;
        let sample = [memory_kib("VmRSS")?, files, tasks];
        if self.samples.len().is_multiple_of(6) {
            let [memory, files, tasks] = sample;
            let seconds = elapsed.as_secs();
            let urls = totals.urls;
            let void = totals.void;
            eprintln!(
                "{seconds} s: {urls} URLs, {void} shards void, {memory} KiB, {files} open files, \
                 {tasks} tasks"
            );
        }
        self.samples.push(sample);
        Ok(())
    }

    /// Compares the last third of the samples with the second one, because caches fill in the
    /// first.
    ///
    /// # Errors
    /// Returns an error if a maximum grew by more than a fifth.
    fn check_growth(&self) -> Result<(), AnyError> {
        if self.samples.len() < MIN_SAMPLES_JUDGED {
            println!("too short to judge growth");
            return Ok(());
        }
        let third = self.samples.len() / 3;
        for (at, name) in Self::NAMES.iter().enumerate() {
            let most =
                |samples: &[[u64; 3]]| samples.iter().map(|sample| sample[at]).max().unwrap_or(0);
            let before = most(&self.samples[third..2 * third]);
            let last = most(&self.samples[2 * third..]);
            println!("{name}: {before} at most in the second third, {last} in the last");
            if last > before + before / 5 {
                return Err(format!("{name} grew").into());
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Totals {
    void: usize,
    urls: usize,
    retried: usize,
    bytes: u64,
    outcomes: BTreeMap<&'static str, usize>,
    counts: BTreeMap<String, u64>,
}

impl Totals {
    fn add(&mut self, shard: &ShardResult) {
        self.urls += shard.results.len();
        self.retried += shard.retried;
        self.bytes += shard.bytes_downloaded;
        for (name, amount) in everytab_jobs::icon::counts_by_name(&shard.counts) {
            // These names end in a maximum, which must not be added.
            let (name, value) = match name.rsplit_once('_') {
                Some((most, value)) if most.starts_with("at_once_per") => {
                    (most, value.parse().ok())
                }
                _ => (name.as_str(), None),
            };
            let count = self.counts.entry(name.to_owned()).or_default();
            *count = value.map_or(*count + amount, |value: u64| value.max(*count));
        }
        for result in &shard.results {
            *self.outcomes.entry(result.url_fetch.outcome.as_str()).or_default() += 1;
        }
    }

    fn print(&self, seconds: f64, usage: &Usage) -> Result<(), AnyError> {
        let samples = usage.samples.load(Ordering::Relaxed).max(1);
        let permits = usage.permits.load(Ordering::Relaxed);
        let document = serde_json::json!({
            "urls": self.urls,
            "seconds": seconds,
            "urls_per_second": self.urls as f64 / seconds,
            "cpu_seconds": cpu_seconds()?,
            "bytes": self.bytes,
            "retried": self.retried,
            "outcomes": self.outcomes,
            "counts": self.counts,
            "slot_seconds": permits as f64 * seconds / samples as f64,
            "mean_slots_in_use": permits / samples,
            "most_open_files": usage.most_files.load(Ordering::Relaxed),
            "peak_memory_kib": memory_kib("VmHWM")?,
        });
        writeln!(std::io::stdout(), "{document}")?;
        Ok(())
    }
}

/// User and system time of this process in seconds. proc(5): fields 14 and 15, in ticks of 10 ms.
fn cpu_seconds() -> Result<f64, AnyError> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, after_name) = stat.rsplit_once(')').ok_or("/proc/self/stat")?;
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<Result<u64, _>>()?;
    Ok(ticks as f64 / 100.0)
}

/// Reads a size in KiB from /proc/self/status.
fn memory_kib(name: &str) -> Result<u64, AnyError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
    Ok(line.trim_start_matches(':').trim().trim_end_matches(" kB").parse()?)
}
