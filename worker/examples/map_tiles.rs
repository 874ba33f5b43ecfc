//! Draws the map of ICONS icons with the code of the jobs, and prints files, bytes, seconds and
//! peak memory.
//!
//!     map_tiles ICONS FOLDER [CORPUS]
//!
//! The icons are those of the small internet, or the recorded ones below CORPUS/icons in random
//! order. The hosts' top-level domains are distributed as in the web. The site remains in
//! FOLDER/site.

use std::{
    collections::BTreeMap,
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use everytab_bundler::{
    layout::spread,
    map::{BACKGROUND, MapLayout, part::write_part},
    map_order::{MapOrder, TABS_PER_FILE},
    object_names::{map_order_folder, map_part, scan_prefix, search_part},
    search::{SearchEntry, part::write_part as write_search_part, ranks::HostRanks},
};
use everytab_fetcher::Heartbeat;
use everytab_icon::{
    convert::to_tab_icon,
    thumbnail::{Thumbnail, thumbnail},
};
use everytab_jobs::map::{ScanMap, draw_coarse};
use everytab_storage::{PutOptions, Store, StoreSettings};
use everytab_testbed::{Dice, drawn_icon};
use uuid::Uuid;

/// Hosts per shard, as in a scan.
const HOSTS_PER_SHARD: usize = 1_200;
const BUNDLES_PER_SHARD: usize = 10;
/// Tabs in the fullest bundle of 30 million hosts, which determines the grid
/// (docs/decisions/0049-tiles-of-the-map.md). The bundles drawn here have the mean, 120.
const TABS_OF_THE_FULLEST_BUNDLE: u32 = 136;
/// Names of generated icons. Their sizes need no conversion to a tab icon, which would take most of
/// the time.
const NAMES: [&str; 3] = ["/icon-16.png", "/icon-32.png", "/icon-32.png"];

/// Top-level domains and their share of a crawl in percent. The rest is in [`SMALL_DOMAINS`]
/// others.
const DOMAINS: [(&str, u64); 12] = [
    ("com", 44),
    ("org", 6),
    ("de", 5),
    ("net", 4),
    ("ru", 4),
    ("uk", 3),
    ("nl", 3),
    ("fr", 3),
    ("it", 3),
    ("jp", 2),
    ("br", 2),
    ("pl", 2),
];
/// Number of other top-level domains.
const SMALL_DOMAINS: u64 = 1_000;
/// One in this many hosts has a rank.
const HOSTS_A_RANK: usize = 30;

enum Icons {
    Generated,
    Recorded(Vec<Thumbnail>),
}

impl Icons {
    fn recorded(corpus: &Path) -> Result<Self, Box<dyn Error>> {
        let mut files: Vec<PathBuf> = Vec::new();
        for format in std::fs::read_dir(corpus.join("icons"))? {
            for file in std::fs::read_dir(format?.path())? {
                files.push(file?.path());
            }
        }
        files.sort();
        let mut thumbnails = Vec::new();
        for file in files {
            if let Ok(icon) = to_tab_icon(&std::fs::read(file)?) {
                thumbnails.push(thumbnail(&icon.png, BACKGROUND));
            }
        }
        println!("{} of the recorded icons can be shown", thumbnails.len());
        Ok(Self::Recorded(thumbnails))
    }

    fn shown(&self, number: usize) -> Thumbnail {
        let mut dice = Dice::numbered(7, "icon of the map", number as u64);
        match self {
            Self::Recorded(icons) => icons[dice.below(icons.len() as u64) as usize],
            Self::Generated => {
                let host = format!("host-{number}.example");
                let name = NAMES[dice.below(NAMES.len() as u64) as usize];
                thumbnail(&drawn_icon(7, &host, name).unwrap_or_default(), BACKGROUND)
            }
        }
    }
}

async fn write_parts(
    archive: &dyn Store,
    icons: Arc<Icons>,
    count: usize,
) -> Result<usize, Box<dyn Error>> {
    let shards = count.div_ceil(HOSTS_PER_SHARD);
    let mut under_way = tokio::task::JoinSet::new();
    let threads = std::thread::available_parallelism()?.get();
    for shard in 0..shards {
        let icons = Arc::clone(&icons);
        under_way.spawn_blocking(move || {
            let tabs = shard * HOSTS_PER_SHARD..count.min((shard + 1) * HOSTS_PER_SHARD);
            let shown: Vec<Thumbnail> = tabs.map(|number| icons.shown(number)).collect();
            let bundles = spread(shown.len(), BUNDLES_PER_SHARD);
            (shard, write_part(bundles.into_iter().map(|tabs| &shown[tabs])))
        });
        if under_way.len() >= threads {
            put_part(archive, under_way.join_next().await).await?;
        }
    }
    while !under_way.is_empty() {
        put_part(archive, under_way.join_next().await).await?;
    }
    Ok(shards)
}

fn host_name(number: usize) -> String {
    let mut dice = Dice::numbered(7, "domain of the map", number as u64);
    let mut percent = dice.below(100);
    for (domain, share) in DOMAINS {
        match percent.checked_sub(share) {
            Some(rest) => percent = rest,
            None => return format!("host-{number}.{domain}"),
        }
    }
    // The quotient makes few domains common and most rare.
    let rare = SMALL_DOMAINS / (1 + dice.below(SMALL_DOMAINS));
    format!("host-{number}.rare{}", if rare < 20 { rare } else { dice.below(SMALL_DOMAINS) })
}

async fn write_names(archive: &dyn Store, count: usize) -> Result<(), Box<dyn Error>> {
    for shard in 0..count.div_ceil(HOSTS_PER_SHARD) {
        let first = shard * HOSTS_PER_SHARD;
        let tabs = first..count.min(first + HOSTS_PER_SHARD);
        let mut entries = Vec::new();
        for (bundle, of_bundle) in (shard * BUNDLES_PER_SHARD..).zip(spread(tabs.len(), 10)) {
            for (slot, tab) in (0..).zip(of_bundle) {
                let bundle = i32::try_from(bundle)?;
                entries.push(SearchEntry::new(host_name(first + tab), bundle, slot));
            }
        }
        let key = search_part(Uuid::nil(), i64::try_from(shard)?);
        let part = write_search_part(entries);
        archive.put(&key, part.into(), PutOptions::default()).await?;
    }
    Ok(())
}

/// Returns an order's files and bytes by level. Files without a level are separate entries.
fn of_order(folder: &Path) -> Result<BTreeMap<String, (u64, u64)>, Box<dyn Error>> {
    let mut all: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let files = if entry.file_type()?.is_dir() {
            std::fs::read_dir(entry.path())?.collect::<Result<Vec<_>, _>>()?
        } else {
            vec![entry]
        };
        let (count, bytes) = all.entry(name).or_default();
        for file in files {
            *count += 1;
            *bytes += file.metadata()?.len();
        }
    }
    Ok(all)
}

/// Draws an order and prints its files. Returns their number and bytes.
async fn draw_order(
    map: &ScanMap,
    order: MapOrder,
    count: usize,
    folder: &Path,
) -> Result<(u64, u64), Box<dyn Error>> {
    let ranked = (0..count).step_by(HOSTS_A_RANK).map(host_name).collect::<Vec<_>>();
    let ranks = HostRanks::read(HostRanks::write(&ranked).as_bytes(), |_| true);
    let begun = Instant::now();
    map.draw_order(order, ranks, folder, &Heartbeat::default()).await?;
    let name = order.name();
    println!("{name}: {:.1} s, peak memory {} MiB", begun.elapsed().as_secs_f64(), peak_memory()?);
    let site = folder.join("site").join(scan_prefix(map.scan_id) + &map_order_folder(name));
    let mut sum = (0, 0);
    for (part, (files, bytes)) in of_order(&site)? {
        let an_icon = bytes as f64 / count as f64;
        println!("{name} {part}\t{files} files\t{bytes} bytes\t{an_icon:.2} an icon");
        sum = (sum.0 + files, sum.1 + bytes);
    }
    let an_icon = sum.1 as f64 / count as f64;
    println!("{name}\t{} files\t{} bytes\t{an_icon:.2} an icon", sum.0, sum.1);
    println!("places per file: {TABS_PER_FILE}; of 30 million: {:.0} MB", an_icon * 30.0);
    Ok(sum)
}

async fn put_part(
    archive: &dyn Store,
    part: Option<Result<(usize, Vec<u8>), tokio::task::JoinError>>,
) -> Result<(), Box<dyn Error>> {
    let Some(part) = part else { return Ok(()) };
    let (shard, bytes) = part?;
    let key = map_part(Uuid::nil(), i64::try_from(shard)?);
    Ok(archive.put(&key, bytes.into(), PutOptions::default()).await?)
}

fn levels(folder: &Path) -> Result<BTreeMap<u32, (u64, u64)>, Box<dyn Error>> {
    let mut levels = BTreeMap::new();
    for level in std::fs::read_dir(folder)? {
        let level = level?;
        // The other directories contain orders.
        let Ok(number) = level.file_name().to_string_lossy().parse() else { continue };
        let (files, bytes): &mut (u64, u64) = levels.entry(number).or_default();
        for file in std::fs::read_dir(level.path())? {
            *files += 1;
            *bytes += file?.metadata()?.len();
        }
    }
    Ok(levels)
}

/// Returns this process's peak memory in MiB (proc(5)).
fn peak_memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(peak.unwrap_or_default().trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (count, folder, corpus) = match arguments.as_slice() {
        [count, folder] => (count, folder, None),
        [count, folder, corpus] => (count, folder, Some(corpus)),
        _ => return Err("usage: map_tiles ICONS FOLDER [CORPUS]".into()),
    };
    let count: usize = count.parse()?;
    let folder = std::path::absolute(folder)?;
    std::fs::create_dir_all(&folder)?;
    let open = |name: &str| format!("file://{}", folder.join(name).display());
    let archive = everytab_storage::open(&open("archive"), &StoreSettings::default()).await?;
    let site = everytab_storage::open(&open("site"), &StoreSettings::default()).await?;
    let icons = match corpus {
        Some(corpus) => Icons::recorded(Path::new(corpus))?,
        None => Icons::Generated,
    };
    let begun = Instant::now();
    let shards = write_parts(&*archive, Arc::new(icons), count).await?;
    println!("{shards} parts in {:.1} s (icons included)", begun.elapsed().as_secs_f64());
    let bundles = u32::try_from(shards * BUNDLES_PER_SHARD)?;
    let layout =
        MapLayout::new(bundles.into(), TABS_OF_THE_FULLEST_BUNDLE).ok_or("there is no icon")?;
    let map = ScanMap {
        archive,
        site,
        scan_id: Uuid::nil(),
        shards: (0..i32::try_from(shards)?).collect(),
        bundles,
        bundles_per_shard: u32::try_from(BUNDLES_PER_SHARD)?,
        layout,
    };
    let begun = Instant::now();
    let heartbeat = Heartbeat::default();
    let mut regions = 0;
    while layout.region(regions).is_some() {
        map.draw_region(regions, &heartbeat).await?;
        regions += 1;
    }
    let drawn = begun.elapsed().as_secs_f64();
    let prefix = scan_prefix(map.scan_id);
    draw_coarse(&*map.site, &prefix, layout, &heartbeat).await?;
    let joined = begun.elapsed().as_secs_f64() - drawn;
    println!("{regions} regions in {drawn:.1} s, coarse levels in {joined:.1} s");
    println!("peak memory {} MiB", peak_memory()?);
    write_names(&*map.archive, count).await?;
    let mut of_orders = (0, 0);
    for order in MapOrder::ALL {
        let (files, bytes) = draw_order(&map, order, count, &folder).await?;
        of_orders = (of_orders.0 + files, of_orders.1 + bytes);
    }
    let (mut files, mut bytes) = (0, 0);
    for (level, (of_level, bytes_of_level)) in levels(&folder.join("site").join(prefix + "map"))? {
        let an_icon = bytes_of_level as f64 / count as f64;
        println!("level {level}\t{of_level} files\t{bytes_of_level} bytes\t{an_icon:.2} an icon");
        files += of_level;
        bytes += bytes_of_level;
    }
    let an_icon = bytes as f64 / count as f64;
    println!("all\t{files} files\t{bytes} bytes\t{an_icon:.2} an icon");
    println!("of 30 million icons: {:.2} GB", an_icon * 30e6 / 1e9);
    let with_orders = (bytes + of_orders.1) as f64 / count as f64;
    println!("with {} files of orders: {:.2} GB", of_orders.0, with_orders * 30e6 / 1e9);
    Ok(())
}
