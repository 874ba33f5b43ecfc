//! Measures the cost of a known URL over 100 checkpoints: bytes stored and written, and
//! microseconds per operation.
//!
//!     cargo run --release -p everytab-frontier --example frontier_bench -- [URLS [URLS_PER_HOST]]
//!
//! At each checkpoint every host learns a hundredth of its URLs, and sees up to three known links
//! for each new one.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_frontier::{
    Attributes, CanonicalUrl, ChunkKind, FinalState, HostState, Link, ParameterList, Rules,
    SiteBudget, SiteUsage, SuffixList, never_paused,
};

const CHECKPOINTS: u64 = 100;
const KNOWN_LINKS: u64 = 3;
const URLS_PER_REFERRER: u64 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut parsing, mut finding) = (Duration::ZERO, Duration::ZERO);
    let suffixes = timed(&mut parsing, SuffixList::default);
    let hosts: Vec<String> = (0..100_000).map(|n| format!("www.site-{n}.co.uk")).collect();
    let sites: Vec<&str> =
        timed(&mut finding, || hosts.iter().map(|host| suffixes.site_of(host)).collect());
    let micros = finding.as_secs_f64() * 1e6 / sites.len() as f64;
    println!("suffix list: {} ms; a site: {micros:.2} us", parsing.as_millis());
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let urls = numbers.next().transpose()?.unwrap_or(1_000_000);
    let of_host = numbers.next().transpose()?;
    println!(
        "URLs per host | finished | stored B/known | in snapshots | written B/known | snapshots | \
         us: parse | merge | known | take+finish | pack/known | unpack/known | memory B/known"
    );
    for urls_a_host in of_host.map_or(vec![3_000, 30_000, urls], |number| vec![number]) {
        for percent in [20, 90] {
            let hosts = urls.div_ceil(urls_a_host);
            let mut sum = Measured::default();
            for host in 0..hosts {
                run_host(host, urls_a_host, percent, &mut sum)?;
            }
            sum.print(urls_a_host, percent);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Measured {
    known: u64,
    links: u64,
    known_links: u64,
    fetches: u64,
    stored_bytes: u64,
    last_snapshot_bytes: u64,
    written_bytes: u64,
    snapshots: u64,
    memory_bytes: u64,
    parse: Duration,
    merge: Duration,
    merge_known: Duration,
    fetch: Duration,
    pack: Duration,
    unpack: Duration,
}

impl Measured {
    fn print(&self, urls_a_host: u64, percent: u64) {
        let each = |bytes: u64| bytes as f64 / self.known as f64;
        let micros = |time: Duration, count: u64| time.as_secs_f64() * 1e6 / count as f64;
        println!(
            "{urls_a_host:11} | {percent:6} % | {:14.1} | {:12.1} | {:15.1} | {:9.1} | {:9.2} | \
             {:5.2} | {:5.2} | {:10.2} | {:10.2} | {:12.2} | {:14.0}",
            each(self.stored_bytes),
            each(self.last_snapshot_bytes),
            each(self.written_bytes),
            self.snapshots as f64 * urls_a_host as f64 / self.known as f64,
            micros(self.parse, self.links),
            micros(self.merge, self.known),
            micros(self.merge_known, self.known_links),
            micros(self.fetch, self.fetches),
            micros(self.pack, self.known),
            micros(self.unpack, self.known),
            each(self.memory_bytes),
        );
    }
}

fn timed<T>(sum: &mut Duration, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    *sum += start.elapsed();
    result
}

fn run_host(
    host: u64,
    urls: u64,
    percent: u64,
    sum: &mut Measured,
) -> Result<(), Box<dyn std::error::Error>> {
    let parameters = ParameterList::default();
    let rules = Rules { site_budget: SiteBudget(1_000_000_000), ..Rules::default() };
    let name = format!("www.site-{host}.example");
    let mut state = HostState::new(&name);
    let mut site = SiteUsage::default();
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let (mut found, mut finished) = (0, 0);
    for checkpoint in 1..=CHECKPOINTS {
        let upto = urls * checkpoint / CHECKPOINTS;
        let known =
            (found..upto).flat_map(|n| (0..KNOWN_LINKS).map(move |m| mix(n ^ m << 40) % (n + 1)));
        let known: Vec<u64> = known.filter(|number| *number < found).collect();
        let new: Vec<u64> = (found..upto).collect();
        let links = |numbers: &[u64], sum: &mut Measured| {
            sum.links += numbers.len() as u64;
            let texts: Vec<String> = numbers.iter().map(|n| url(&name, host, *n)).collect();
            timed(&mut sum.parse, || {
                let parse = |text: &String| CanonicalUrl::parse(text, &parameters);
                texts.iter().map(parse).collect::<Result<Vec<_>, _>>()
            })
        };
        let depth = u16::try_from(checkpoint / 10)?;
        let attributes = Attributes { depth, ..Attributes::default() };
        let via = |number: u64| Arc::from(url(&name, host, number / URLS_PER_REFERRER));
        let link = |(url, number)| Link { url, attributes, via: Some(via(number)) };
        let with_via = |urls: Vec<CanonicalUrl>, numbers: Vec<u64>| {
            urls.into_iter().zip(numbers).map(link).collect::<Vec<_>>()
        };
        let new = with_via(links(&new, sum)?, new);
        let known = with_via(links(&known, sum)?, known);
        sum.known_links += known.len() as u64;
        timed(&mut sum.merge, || state.merge(new, &rules, &mut site));
        timed(&mut sum.merge_known, || state.merge(known, &rules, &mut site));
        found = upto;
        let wanted = urls * percent * checkpoint / CHECKPOINTS / 100;
        timed(&mut sum.fetch, || {
            for _ in finished..wanted {
                if let Some(pending) = state.next(0, never_paused) {
                    state.finish(pending.hash, FinalState::Captured);
                }
            }
        });
        sum.fetches += wanted - finished;
        finished = wanted;
        if let Some(packed) = timed(&mut sum.pack, || state.pack(never_paused)) {
            if packed.kind == ChunkKind::Snapshot {
                chunks.clear();
                sum.snapshots += 1;
            }
            sum.written_bytes += packed.bytes.len() as u64;
            chunks.push(packed.bytes);
        }
    }
    sum.known += state.sums().known;
    sum.memory_bytes += state.memory_bytes() as u64;
    sum.stored_bytes += chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
    let chunks = chunks.iter().map(Vec::as_slice);
    let unpacked = timed(&mut sum.unpack, || HostState::unpack(&name, chunks, &parameters))?.state;
    if unpacked != state {
        return Err("the unpacked state differs".into());
    }
    sum.last_snapshot_bytes += state.pack_snapshot(never_paused).bytes.len() as u64;
    Ok(())
}

/// splitmix64.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn url(name: &str, host: u64, number: u64) -> String {
    const WORDS: [&str; 16] = [
        "summer", "market", "review", "garden", "report", "winter", "design", "travel", "music",
        "health", "school", "energy", "kitchen", "history", "science", "weather",
    ];
    let seed = mix(number ^ host << 32);
    let word = |shift: u32| WORDS[(seed >> shift) as usize % WORDS.len()];
    let section = seed >> 48;
    if seed.is_multiple_of(8) {
        return format!("https://{name}/list-{}?page={number}&sort={}", section % 30, word(4));
    }
    let (one, two) = (word(8), word(12));
    format!("https://{name}/section-{}/{one}-{two}-{number}.html", section % 30)
}
