//! Measures how long it takes to turn icons into bundles. `scripts/bench/bundle.sh` compares this
//! with other programs that do the same work on the same list.
//!
//!     make_bundles list CORPUS                      one line per icon: url, title, file
//!     make_bundles keep LIST FOLDER all|small       lines whose icon is in FOLDER's bundles
//!     make_bundles pack LIST ICONS                  LIST with offsets in ICONS instead of files
//!     make_bundles bundles LIST FOLDER MODE THREADS icons to bundles; MODE lossless|palette|auto
//!     make_bundles bundles LIST FOLDER MODE THREADS ICONS   the same from a packed list
//!     make_bundles sizes LIST                       bytes and microseconds by encoder and mode
//!     make_bundles parts LIST MODE                  microseconds by format and step
//!
//! `bundles` prints a summary and its duration as one line on stderr.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashSet},
    fs::File,
    io::{BufWriter, Read, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use everytab_bundler::bundle::{self, BundleIcon, Tab};
use everytab_icon::{
    Format, Pixels,
    convert::{TabIcon, to_tab_icon_with},
    decode::decode,
    limits::TAB_ICON_PIXELS,
    measure::measure,
    png::{Colours, encode_by, encode_with},
    scale::scale_down,
};
use libdeflater::{CompressionLvl, Compressor};
use serde_json::Value;

const TABS: usize = 120;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["list", corpus] => list(Path::new(corpus)),
        ["keep", list, folder, which] => keep(list, Path::new(folder), *which == "small"),
        ["pack", list, packed] => pack(list, packed),
        ["bundles", list, folder, colours, threads, packed @ ..] if packed.len() < 2 => {
            let packed = packed.first().map(|path| File::open(path).unwrap());
            let threads = threads.parse().unwrap();
            bundles(list, Path::new(folder), mode(colours), threads, packed.as_ref());
        }
        ["sizes", list] => sizes(list),
        ["parts", list, colours] => parts(list, mode(colours)),
        _ => {
            eprintln!("usage: see the first lines of make_bundles.rs");
            std::process::exit(2);
        }
    }
}

fn mode(name: &str) -> Colours {
    name.parse().unwrap()
}

fn list(corpus: &Path) {
    let pages = std::fs::read(corpus.join("expected/warc_pages.json")).unwrap();
    let pages: BTreeMap<String, Value> = serde_json::from_slice(&pages).unwrap();
    let plain = |title: &str| title.split_whitespace().collect::<Vec<_>>().join(" ");
    let titles: Vec<String> = pages
        .values()
        .filter_map(|page| page["title"].as_str().map(plain))
        .filter(|title| !title.is_empty())
        .collect();
    let hosts = std::fs::read_to_string(corpus.join("hosts/tranco10k.txt")).unwrap();
    let hosts = hosts.lines().map(|line| line.rsplit(',').next().unwrap_or_default().trim());
    let mut icons: Vec<PathBuf> = Vec::new();
    for format in std::fs::read_dir(corpus.join("icons")).unwrap() {
        let files = std::fs::read_dir(format.unwrap().path()).unwrap();
        icons.extend(files.map(|file| file.unwrap().path()));
    }
    icons.sort();
    // The corpus has a directory per format. Mix the icons, so that the neighbours in a bundle are
    // as varied as on the web.
    let mixed = |place: usize| place.wrapping_mul(0x9E37_79B1) % 1_000_003;
    let mut order: Vec<usize> = (0..icons.len()).collect();
    order.sort_by_key(|&place| (mixed(place), place));
    for ((place, host), title) in order.iter().zip(hosts).zip(titles.iter().cycle()) {
        println!("https://{host}\t{title}\t{}", icons[*place].display());
    }
}

/// Prints LIST's lines whose tab has an icon in the bundles in `folder`. With `small`, prints only
/// SVG files and icons of at most 64x64 pixels.
fn keep(list: &str, folder: &Path, small: bool) {
    let mut with_icon = HashSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let bundle = std::fs::read(file.unwrap().path()).unwrap();
        let bundle: Value = serde_json::from_slice(&bundle).unwrap();
        for tab in bundle["entries"].as_array().unwrap() {
            if tab["icon"] != "" {
                with_icon.insert(tab["url"].as_str().unwrap().to_owned());
            }
        }
    }
    for line in std::fs::read_to_string(list).unwrap().lines() {
        let [url, _, file] = fields(line);
        let fits = |file: &str| {
            let measured = measure(&std::fs::read(file).unwrap()).unwrap();
            measured.format == Format::Svg || measured.width.max(measured.height) <= 64
        };
        if with_icon.contains(url) && (!small || fits(file)) {
            println!("{line}");
        }
    }
}

fn fields(line: &str) -> [&str; 3] {
    line.splitn(3, '\t').collect::<Vec<_>>().try_into().unwrap()
}

fn pack(list: &str, packed: &str) {
    let mut packed = BufWriter::new(File::create(packed).unwrap());
    let mut offset = 0;
    for line in std::fs::read_to_string(list).unwrap().lines() {
        let [url, title, file] = fields(line);
        let icon = std::fs::read(file).unwrap();
        packed.write_all(&icon).unwrap();
        println!("{url}\t{title}\t{offset}+{}", icon.len());
        offset += icon.len();
    }
    packed.flush().unwrap();
}

fn place(field: &str) -> (u64, usize) {
    let (offset, length) = field.split_once('+').unwrap();
    (offset.parse().unwrap(), length.parse().unwrap())
}

thread_local! {
    static FILE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn bundles(list: &str, folder: &Path, colours: Colours, threads: usize, packed: Option<&File>) {
    let text = std::fs::read_to_string(list).unwrap();
    std::fs::create_dir_all(folder).unwrap();
    let started = Instant::now();
    let lines: Vec<&str> = text.lines().collect();
    let parts: Vec<&[&str]> = lines.chunks(TABS).collect();
    let (next, bytes, refused) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let tab = |line: &str, icon: &[u8]| {
        let [url, title, _] = fields(line);
        let icon = to_tab_icon_with(icon, colours);
        refused.fetch_add(usize::from(icon.is_err()), Ordering::Relaxed);
        let icon =
            icon.ok().map(|TabIcon { png, width, height, .. }| BundleIcon { png, width, height });
        Tab { url: url.to_owned(), title: title.to_owned(), icon, iframe_ok: true }
    };
    let from_file = |line: &&str| {
        FILE.with_borrow_mut(|bytes| {
            bytes.clear();
            File::open(fields(line)[2]).unwrap().read_to_end(bytes).unwrap();
            tab(line, bytes)
        })
    };
    let from_packed = |lines: &[&str], packed: &File| -> Vec<Tab> {
        let places: Vec<(u64, usize)> = lines.iter().map(|line| place(fields(line)[2])).collect();
        let first = places[0].0;
        FILE.with_borrow_mut(|bytes| {
            bytes.resize(places.iter().map(|(_, length)| length).sum(), 0);
            packed.read_exact_at(bytes, first).unwrap();
            let icon =
                |(offset, length): (u64, usize)| &bytes[(offset - first) as usize..][..length];
            lines.iter().zip(places).map(|(line, place)| tab(line, icon(place))).collect()
        })
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(lines) = parts.get(number) else { break };
                    let tabs = match packed {
                        Some(packed) => from_packed(lines, packed),
                        None => lines.iter().map(from_file).collect(),
                    };
                    let bundle = bundle::write(&tabs);
                    bytes.fetch_add(bundle.len(), Ordering::Relaxed);
                    std::fs::write(folder.join(format!("{number:04}.json")), bundle).unwrap();
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    eprintln!(
        "hosts={} bundles={} bytes={} refused={} seconds={seconds:.3} hosts_per_s={:.0}",
        lines.len(),
        parts.len(),
        bytes.load(Ordering::Relaxed),
        refused.load(Ordering::Relaxed),
        lines.len() as f64 / seconds,
    );
}

fn sizes(list: &str) {
    let text = std::fs::read_to_string(list).unwrap();
    let files = text.lines().map(|line| std::fs::read(fields(line)[2]).unwrap());
    let files: Vec<Vec<u8>> =
        files.filter(|file| to_tab_icon_with(file, Colours::Lossless).is_ok()).collect();
    let icons: Vec<Pixels> =
        files.iter().map(|file| scale_down(decode(file).unwrap().1, TAB_ICON_PIXELS)).collect();
    let images: Vec<image::RgbaImage> = icons
        .iter()
        .map(|p| image::RgbaImage::from_raw(p.width(), p.height(), p.rgba().to_vec()).unwrap())
        .collect();
    let by_image = |place: usize| {
        let mut file = std::io::Cursor::new(Vec::new());
        images[place].write_to(&mut file, image::ImageFormat::Png).unwrap();
        file.into_inner().len()
    };
    let line = |name: &str, encode: &dyn Fn(usize) -> usize, most: usize| {
        let started = Instant::now();
        let bytes: usize = (0..icons.len()).map(encode).sum();
        let each = started.elapsed().as_secs_f64() * 1e6 / icons.len() as f64;
        let mean = bytes as f64 / icons.len() as f64;
        let share = if most == 0 { 100.0 } else { bytes as f64 * 100.0 / most as f64 };
        println!("{name:>22} {mean:8.1} bytes {share:6.2} % {each:8.1} us");
        bytes
    };
    println!("{} icons", icons.len());
    let most = line("image crate, default", &by_image, 0);
    for colours in Colours::ALL {
        let stored = |place: usize| to_tab_icon_with(&files[place], colours).unwrap().png.len();
        line(colours.name(), &stored, most);
    }
    for level in [1, 2, 4, 5, 6, 7, 8, 9, 10, 12] {
        let compressor = RefCell::new(Compressor::new(CompressionLvl::new(level).unwrap()));
        for colours in [Colours::Lossless, Colours::Auto] {
            let by = |place: usize| {
                encode_by(&mut compressor.borrow_mut(), &icons[place], colours).len()
            };
            line(&format!("{}, effort {level}", colours.name()), &by, most);
        }
    }
}

#[derive(Default, Clone)]
struct Steps {
    icons: u32,
    refused: u32,
    decoding: Duration,
    scaling: Duration,
    encoding: Duration,
    bytes: usize,
}

impl Steps {
    fn total(&self) -> Duration {
        self.decoding + self.scaling + self.encoding
    }
}

const PASSES: usize = 7;

fn parts(list: &str, colours: Colours) {
    let text = std::fs::read_to_string(list).unwrap();
    let mut formats: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
    for line in text.lines() {
        let bytes = std::fs::read(fields(line)[2]).unwrap();
        let name = measure(&bytes).map_or("none", |measured| measured.format.name());
        formats.entry("all").or_default().push(bytes.clone());
        formats.entry(name).or_default().push(bytes);
    }
    println!("format   icons refused  decode us  scale us  encode us   total us  bytes");
    for (name, icons) in &formats {
        let passes = (0..PASSES).map(|_| pass(icons, colours));
        let steps = passes.min_by_key(Steps::total).unwrap();
        let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(steps.icons.max(1));
        println!(
            "{name:8} {:5} {:7} {:10.1} {:9.1} {:10.1} {:10.1} {:6}",
            steps.icons,
            steps.refused,
            each(steps.decoding),
            each(steps.scaling),
            each(steps.encoding),
            each(steps.total()),
            steps.bytes / steps.icons.max(1) as usize,
        );
    }
}

fn pass(icons: &[Vec<u8>], colours: Colours) -> Steps {
    let mut steps = Steps::default();
    for bytes in icons {
        let mut last = Instant::now();
        let mut lap = || {
            let now = Instant::now();
            now - std::mem::replace(&mut last, now)
        };
        let decoded = decode(bytes);
        steps.decoding += lap();
        let Ok((_, pixels)) = decoded else {
            steps.refused += 1;
            continue;
        };
        let small = scale_down(pixels, TAB_ICON_PIXELS);
        steps.scaling += lap();
        steps.bytes += encode_with(&small, colours).len();
        steps.encoding += lap();
        steps.icons += 1;
    }
    steps
}
