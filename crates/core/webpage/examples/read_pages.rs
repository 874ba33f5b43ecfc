//! Measures how long it takes to read home pages from archives on one thread.
//! `scripts/bench/pages.sh` compares it with other programs.
//!
//!     read_pages list CORPUS            the pages of CORPUS with known results: file, position
//!     read_pages pages LIST [REPEAT]    record to title, icon candidates, framing
//!     read_pages inflate LIST [REPEAT]  only decompression, which every program needs
//!
//! The last two print one line with counts and times on stderr.
// A benchmark reads files and a clock, and must stop at a broken list.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    time::Instant,
};

use everytab_commoncrawl::warc::{Limits, read_record};
use everytab_webpage::{candidates, iframe_ok, tab_title, understand};
use libdeflater::Decompressor;
use serde_json::Value;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["list", corpus] => list(Path::new(corpus)),
        ["pages", list] => timed(list, "1", &mut Pages::default()),
        ["pages", list, repeat] => timed(list, repeat, &mut Pages::default()),
        ["inflate", list] => timed(list, "1", &mut Inflating::new()),
        ["inflate", list, repeat] => timed(list, repeat, &mut Inflating::new()),
        _ => {
            eprintln!(
                "usage: read_pages list CORPUS | pages LIST [REPEAT] | inflate LIST [REPEAT]"
            );
            std::process::exit(2);
        }
    }
}

fn list(corpus: &Path) {
    let answers = std::fs::read(corpus.join("expected/warc_pages.json")).unwrap();
    let answers: BTreeMap<String, Value> = serde_json::from_slice(&answers).unwrap();
    for (key, page) in &answers {
        let (file, offset) = key.rsplit_once('@').unwrap();
        if let Some(length) = page["length"].as_u64() {
            println!("{}\t{offset}\t{length}", corpus.join(file).display());
        }
    }
}

trait Work {
    fn handle(&mut self, member: &[u8]);
    fn found(&self) -> String;
}

#[derive(Default)]
struct Pages {
    failed: usize,
    titles: usize,
    icons: usize,
    frameable: usize,
    title_bytes: usize,
}

impl Work for Pages {
    fn handle(&mut self, member: &[u8]) {
        let record = read_record(member, Limits::default());
        let Ok(record) = record else { return self.failed += 1 };
        let url = record.target_uri().unwrap_or_default();
        let Ok(response) = record.http_response() else { return self.failed += 1 };
        let page = understand(&url, response.headers.fields(), &response.body);
        let title = tab_title(&page.title.text);
        self.titles += usize::from(!title.is_empty());
        self.title_bytes += title.len();
        self.icons += candidates(&page).list.len();
        self.frameable += usize::from(iframe_ok("https", &page.framing, None));
    }

    fn found(&self) -> String {
        let Self { failed, titles, icons, frameable, title_bytes } = self;
        format!(
            "failed={failed} titles={titles} title_bytes={title_bytes} icons={icons} \
             frameable={frameable}"
        )
    }
}

struct Inflating {
    decompressor: Decompressor,
    inflated: Vec<u8>,
    bytes: usize,
}

impl Inflating {
    fn new() -> Self {
        Self { decompressor: Decompressor::new(), inflated: vec![0; 64 << 20], bytes: 0 }
    }
}

impl Work for Inflating {
    fn handle(&mut self, member: &[u8]) {
        self.bytes += self.decompressor.gzip_decompress(member, &mut self.inflated).unwrap();
    }

    fn found(&self) -> String {
        format!("bytes={}", self.bytes)
    }
}

fn timed(list: &str, repeat: &str, work: &mut impl Work) {
    let list = std::fs::read_to_string(list).unwrap();
    let places: Vec<(&str, u64, usize)> = list.lines().map(place).collect();
    let mut files = HashMap::new();
    for (path, _, _) in &places {
        files.entry(*path).or_insert_with(|| File::open(path).unwrap());
    }
    let repeat: usize = repeat.parse().unwrap();
    let start = Instant::now();
    for (path, offset, length) in places.iter().cycle().take(places.len() * repeat) {
        let mut member = vec![0; *length];
        files[path].read_exact_at(&mut member, *offset).unwrap();
        work.handle(&member);
    }
    let seconds = start.elapsed().as_secs_f64();
    let pages = places.len() * repeat;
    let rate = pages as f64 / seconds;
    let found = work.found();
    eprintln!("pages={pages} {found} seconds={seconds:.3} pages_per_s={rate:.0}");
}

fn place(line: &str) -> (&str, u64, usize) {
    let mut fields = line.split('\t');
    let mut next = || fields.next().unwrap();
    (next(), next().parse().unwrap(), next().parse().unwrap())
}
