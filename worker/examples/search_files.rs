//! Writes the search files of NAMES generated hostnames with the code of the jobs, and prints
//! seconds, counts and peak memory.
//!
//!     search_files NAMES FOLDER [TOP]
//!
//! TOP is a JSON array of objects with a `rootDomain`, the names with the best ranks. The site
//! remains in FOLDER/site, and FOLDER/names.txt lists all names, with rank and title if they have a
//! rank.

use std::{
    error::Error,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    sync::Arc,
    time::Instant,
};

use everytab_bundler::{
    object_names::search_part,
    search::{
        RANGES, SearchEntry,
        part::write_part,
        ranks::{HostRanks, RANKED_HOSTS},
    },
};
use everytab_fetcher::Heartbeat;
use everytab_jobs::search::{merge_range, merge_words};
use everytab_storage::{PutOptions, Store, StoreSettings};
use everytab_testbed::Dice;
use uuid::Uuid;

/// Hosts per shard, as in a scan.
const HOSTS_PER_SHARD: u64 = 1_200;
/// Public suffixes, and their shares of a crawl's home pages in thousandths.
const SUFFIXES: [(&str, u64); 16] = [
    ("com", 455),
    ("org", 62),
    ("net", 44),
    ("de", 62),
    ("ru", 38),
    ("co.uk", 34),
    ("nl", 28),
    ("com.br", 26),
    ("fr", 26),
    ("it", 25),
    ("pl", 22),
    ("jp", 28),
    ("com.au", 18),
    ("info", 14),
    ("xn--p1ai", 6),
    ("eu", 112),
];
const SYLLABLES: [&str; 64] = [
    "al", "an", "ar", "as", "at", "ba", "be", "bo", "ca", "ce", "ch", "co", "da", "de", "di", "do",
    "el", "en", "er", "es", "fa", "fi", "fo", "ga", "go", "ha", "he", "ho", "in", "is", "ka", "ko",
    "la", "le", "li", "lo", "ma", "me", "mi", "mo", "na", "ne", "no", "on", "pa", "pe", "po", "ra",
    "re", "ri", "ro", "sa", "se", "si", "so", "st", "ta", "te", "ti", "to", "tr", "un", "va", "wi",
];
const WORDS: [&str; 24] = [
    "shop", "web", "design", "house", "hotel", "travel", "studio", "media", "group", "service",
    "online", "blog", "school", "art", "photo", "music", "auto", "tech", "law", "dental", "garden",
    "sport", "center", "bau",
];

/// Returns a hostname that looks like a registered one. `index` makes it unique.
fn hostname(index: u64) -> String {
    let mut random = Dice::numbered(0, "hostname", index);
    let prefix = match random.below(100) {
        0..45 => "www.",
        45..48 => "blog.",
        48..51 => "shop.",
        51..53 => "m.",
        _ => "",
    };
    let mut name = String::new();
    for _ in 0..2 + random.below(3) {
        name.push_str(SYLLABLES[random.below(64) as usize]);
    }
    if random.below(3) == 0 {
        name.push_str(if random.below(2) == 0 { "-" } else { "" });
        name.push_str(WORDS[random.below(24) as usize]);
    }
    let mut left = random.below(1_000);
    let suffix = SUFFIXES.iter().find(|(_, share)| {
        let here = left < *share;
        left = left.saturating_sub(*share);
        here
    });
    let suffix = suffix.map_or("com", |(suffix, _)| suffix);
    if suffix == "xn--p1ai" || random.below(400) == 0 {
        // An internationalized label of eight Cyrillic letters.
        return format!("{prefix}xn--{}.{suffix}", cyrillic(index));
    }
    format!("{prefix}{name}{}.{suffix}", base36(index))
}

fn base36(mut number: u64) -> String {
    let mut text = String::new();
    while number > 0 {
        text.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]));
        number /= 36;
    }
    text
}

fn cyrillic(mut number: u64) -> String {
    let mut label = String::new();
    for _ in 0..8 {
        label.extend(char::from_u32(0x430 + (number % 32) as u32));
        number /= 32;
    }
    idna::punycode::encode_str(&label).unwrap_or_default()
}

/// Returns a title of two to six words. The first one is common.
fn title(index: u64) -> String {
    let mut random = Dice::numbered(1, "title", index);
    let common = WORDS[random.below(24) as usize].to_owned();
    let mut words = vec![common];
    for _ in 0..1 + random.below(5) {
        let syllables = (0..2 + random.below(2)).map(|_| SYLLABLES[random.below(64) as usize]);
        words.push(syllables.collect());
    }
    words.join(" ")
}

/// Hostnames: the given ones, then generated ones.
struct Names {
    top: Vec<String>,
    count: u64,
}

impl Names {
    fn read(count: u64, top: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let Some(top) = top else { return Ok(Self { top: Vec::new(), count }) };
        let sites: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(top)?)?;
        let hosts = sites.iter().filter_map(|site| site["rootDomain"].as_str());
        Ok(Self { top: hosts.map(str::to_owned).collect(), count })
    }

    fn name(&self, index: u64) -> String {
        let given = usize::try_from(index).ok().and_then(|index| self.top.get(index));
        given.cloned().unwrap_or_else(|| hostname(index))
    }

    fn has_rank(&self, index: u64) -> bool {
        let every = self.count.div_ceil(RANKED_HOSTS as u64 - self.top.len() as u64).max(1);
        index < self.top.len() as u64 || index.is_multiple_of(every)
    }

    fn ranks(&self) -> HostRanks {
        let ranked = (0..self.count).filter(|index| self.has_rank(*index));
        let hosts: Vec<String> = ranked.map(|index| self.name(index)).collect();
        HostRanks::read(HostRanks::write(&hosts).as_bytes(), |_| true)
    }
}

async fn write_parts(
    store: &dyn Store,
    names: &Names,
    ranks: &HostRanks,
    list: &Path,
) -> Result<i32, Box<dyn Error>> {
    let mut list = BufWriter::new(File::create(list)?);
    let mut shard = 0;
    let mut first = 0;
    while first < names.count {
        let count = HOSTS_PER_SHARD.min(names.count - first);
        let mut entries = Vec::with_capacity(usize::try_from(count)?);
        for i in 0..count {
            let hostname = names.name(first + i);
            let (bundle, slot) = (shard * 10 + i32::try_from(i / 120)?, i32::try_from(i % 120)?);
            let title = title(first + i);
            match ranks.of(&hostname) {
                Some(rank) => writeln!(list, "{hostname}\t{rank}\t{title}")?,
                None => writeln!(list, "{hostname}")?,
            }
            entries.push(SearchEntry::new(hostname, bundle, slot).with_title(&title));
        }
        let key = search_part(Uuid::nil(), shard);
        store.put(&key, write_part(entries).into(), PutOptions::default()).await?;
        shard += 1;
        first += count;
    }
    list.flush()?;
    Ok(shard)
}

/// Returns this process's CPU time in seconds, and its peak memory in MiB (proc(5)).
fn resources_used() -> Result<(f64, u64), Box<dyn Error>> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 =
        after_name.split(' ').skip(11).take(2).map(|number| number.parse().unwrap_or(0_u64)).sum();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak.unwrap_or_default().trim().trim_end_matches(" kB").parse()?;
    Ok((ticks as f64 / TICKS_PER_SECOND, kib / 1024))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(names), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: search_files NAMES FOLDER [TOP]".into());
    };
    let names = Names::read(names.parse()?, arguments.next().as_deref())?;
    let ranks = names.ranks();
    let folder = std::path::absolute(folder)?;
    std::fs::create_dir_all(&folder)?;
    let open = |name: &str| format!("file://{}", folder.join(name).display());
    let archive = everytab_storage::open(&open("archive"), &StoreSettings::default()).await?;
    let site = everytab_storage::open(&open("site"), &StoreSettings::default()).await?;
    let begun = Instant::now();
    let shards = write_parts(&*archive, &names, &ranks, &folder.join("names.txt")).await?;
    let (parts_cpu, parts_peak) = resources_used()?;
    println!(
        "{shards} parts written in {:.1} s, {parts_cpu:.1} s of the processor, {parts_peak} MiB",
        begun.elapsed().as_secs_f64()
    );
    let begun = Instant::now();
    let (mut hostnames, mut files, mut slowest) = (0, 0, 0.0_f64);
    for range in 0..RANGES {
        let one = Instant::now();
        let archive = Arc::clone(&archive);
        let all = (0..shards).collect();
        let heartbeat = Heartbeat::default();
        let merged =
            merge_range(archive, &*site, Uuid::nil(), all, range, &ranks, &heartbeat).await?;
        hostnames += merged.hostnames;
        files += merged.files + 1;
        slowest = slowest.max(one.elapsed().as_secs_f64());
    }
    let (cpu, peak) = resources_used()?;
    println!(
        "{hostnames} names in {files} files, merged in {:.1} s, {:.1} s of the processor, \
         {peak} MiB; slowest range {slowest:.1} s",
        begun.elapsed().as_secs_f64(),
        cpu - parts_cpu
    );
    let one = Instant::now();
    let all = (0..shards).collect();
    let heartbeat = Heartbeat::default();
    let words = merge_words(archive, &*site, Uuid::nil(), all, &ranks, &heartbeat).await?;
    let (words_cpu, peak) = resources_used()?;
    println!(
        "{} words of {} ranked hosts in {} files, in {:.1} s, {:.1} s of the processor, {peak} MiB",
        words.lines,
        words.hosts,
        words.files,
        one.elapsed().as_secs_f64(),
        words_cpu - cpu
    );
    Ok(())
}
