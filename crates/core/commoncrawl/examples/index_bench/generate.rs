//! Generates an index file with the columns, order, compression and page sizes of a real one. Pages
//! per host follow a power law.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    sync::Arc,
};

use arrow_array::{
    ArrayRef, Int16Array, Int32Array, RecordBatch, TimestampMicrosecondArray,
    builder::{BinaryBuilder, StringBuilder},
};
use flate2::read::MultiGzDecoder;
use parquet::{
    arrow::{ArrowWriter, arrow_writer::ArrowWriterOptions},
    basic::{Compression, GzipLevel},
    file::properties::WriterProperties,
};

const BATCH_ROWS: usize = 1 << 16;
const ROW_GROUP_ROWS: usize = 1_500_000;
const SEGMENTS: u64 = 100;
const FILES_PER_SEGMENT: u64 = 900;
const CRAWL_START_MICROS: i64 = 1_768_000_000_000_000;
const SEGMENT_MICROS: i64 = 3 * 3_600 * 1_000_000;

const TEXTS: usize = 25;

pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// splitmix64 (Steele, Lea, Flood 2014).
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

struct Site {
    surt: String,
    host: String,
}

fn site(name: &str) -> Site {
    let bare = name.strip_prefix("www.").unwrap_or(name);
    let labels: Vec<&str> = bare.rsplit('.').collect();
    Site { surt: labels.join(","), host: name.to_owned() }
}

fn sites(list: Option<&Path>, dice: &mut Dice) -> Vec<Site> {
    let mut sites: Vec<Site> = match list {
        Some(list) => {
            let lines = BufReader::new(MultiGzDecoder::new(File::open(list).unwrap())).lines();
            let lines: Vec<String> = lines.map(Result::unwrap).collect();
            lines.iter().filter(|name| name.contains('.')).map(|name| site(name)).collect()
        }
        None => (0..330_000)
            .map(|_| {
                let www = if dice.one_in(2) { "www." } else { "" };
                let tail = if dice.one_in(3) { word(dice) } else { "" };
                site(&format!("{www}{}{tail}{}.com", word(dice), dice.below(1_000)))
            })
            .collect(),
    };
    sites.sort_by(|a, b| a.surt.cmp(&b.surt).then_with(|| a.host.cmp(&b.host)));
    sites.dedup_by(|a, b| a.host == b.host);
    sites
}

const SYLLABLES: [&str; 16] = [
    "news", "blog", "shop", "item", "tag", "about", "user", "page", "art", "post", "cat", "list",
    "view", "old", "week", "home",
];

fn word(dice: &mut Dice) -> &'static str {
    SYLLABLES[dice.below(16) as usize]
}

fn address(dice: &mut Dice) -> (String, Option<String>) {
    let mut path = String::new();
    for _ in 0..=dice.below(3) {
        path.push('/');
        path.push_str(word(dice));
        for _ in 0..dice.below(5) {
            path.push('-');
            path.push_str(word(dice));
        }
    }
    match dice.below(4) {
        0 => path.push('/'),
        1 => path.push_str(&format!("/{}", dice.below(10_000_000))),
        2 => path.push_str(&format!("-{}.html", dice.below(100_000))),
        _ => {}
    }
    let query =
        dice.one_in(5).then(|| format!("{}={}&p={}", word(dice), dice.next(), dice.below(99)));
    (path, query)
}

struct Row {
    host: String,
    surt: String,
    https: bool,
    path: String,
    query: Option<String>,
}

fn rows_of(site: &Site, left: u64, dice: &mut Dice) -> Vec<Row> {
    let pages = (5.0 * dice.unit().powf(-0.95)).min(60_000.0) as u64;
    let mut rows = Vec::new();
    let https = !dice.one_in(6);
    let mut add = |path: String, query: Option<String>, https: bool| {
        let search = query.as_deref().map(|query| format!("?{query}")).unwrap_or_default();
        let surt = format!("{}){}{}", site.surt, path.to_ascii_lowercase(), search);
        rows.push(Row { host: site.host.clone(), surt, https, path, query });
    };
    if !dice.one_in(12) {
        for _ in 0..=u64::from(dice.one_in(4)) {
            add("/".to_owned(), None, https && !dice.one_in(20));
        }
    }
    for _ in 0..pages.min(left) {
        let (path, query) = if dice.one_in(60) {
            ("/".to_owned(), Some(format!("p={}", dice.below(100_000))))
        } else {
            address(dice)
        };
        add(path, query, https);
    }
    rows.sort_by(|a, b| a.surt.cmp(&b.surt));
    rows
}

fn random_text(dice: &mut Dice, alphabet: &[u8], length: usize) -> String {
    (0..length).map(|_| char::from(alphabet[dice.below(alphabet.len() as u64) as usize])).collect()
}

struct Columns {
    texts: Vec<StringBuilder>,
    record_ids: BinaryBuilder,
    ports: Vec<Option<i32>>,
    times: Vec<i64>,
    statuses: Vec<i16>,
    offsets: Vec<i32>,
    lengths: Vec<i32>,
}

impl Columns {
    fn new() -> Self {
        Self {
            texts: (0..TEXTS).map(|_| StringBuilder::new()).collect(),
            record_ids: BinaryBuilder::new(),
            ports: Vec::new(),
            times: Vec::new(),
            statuses: Vec::new(),
            offsets: Vec::new(),
            lengths: Vec::new(),
        }
    }

    fn push(&mut self, row: &Row, dice: &mut Dice) {
        let labels: Vec<&str> = row.host.rsplit('.').collect();
        let label = |at: usize| labels.get(at).copied();
        let domain = label(1).map(|second| format!("{second}.{}", labels[0]));
        let scheme = if row.https { "https" } else { "http" };
        let search = row.query.as_deref().map(|query| format!("?{query}")).unwrap_or_default();
        let url = format!("{scheme}://{}{}{search}", row.host, row.path);
        let segment = dice.below(SEGMENTS);
        let moment = dice.below(SEGMENT_MICROS as u64 / 1_000_000) as i64 * 1_000_000;
        self.times.push(CRAWL_START_MICROS + segment as i64 * SEGMENT_MICROS + moment);
        let segment_name = format!("{}.{}", 1_768_000_000_000 + segment * 10_800_123, segment % 90);
        let file = warc_filename(&segment_name, segment, dice.below(FILES_PER_SEGMENT));
        self.statuses.push(200);
        self.ports.push(dice.one_in(3_000).then_some(8_080));
        self.offsets.push(dice.below(1_200_000_000) as i32);
        self.lengths.push((4_000.0 * dice.unit().powf(-0.6)).min(1_000_000.0) as i32);
        let record_id = [dice.next().to_le_bytes(), dice.next().to_le_bytes()].concat();
        self.record_ids.append_value(record_id);
        let mime = if dice.one_in(10) { "application/xhtml+xml" } else { "text/html" };
        let digest = random_text(dice, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32);
        let language = ["eng", "deu", "rus", "eng,spa", "fra", "jpn"][dice.below(6) as usize];
        let values: [Option<&str>; TEXTS] = [
            Some(&row.surt),
            Some(&url),
            Some(&row.host),
            label(0),
            label(1),
            label(2),
            label(3),
            label(4),
            label(0),
            domain.as_deref(),
            label(0),
            domain.as_deref(),
            Some(&labels.join(".")),
            Some(scheme),
            Some(&row.path),
            row.query.as_deref(),
            None,
            Some(&digest),
            Some(mime),
            Some(mime),
            Some("UTF-8").filter(|_| !dice.one_in(9)),
            Some(language),
            Some("length").filter(|_| dice.one_in(100)),
            Some(&file),
            Some(&segment_name),
        ];
        for (builder, value) in self.texts.iter_mut().zip(values) {
            builder.append_option(value);
        }
    }

    fn finish(mut self) -> RecordBatch {
        let mut texts =
            self.texts.into_iter().map(|mut builder| Arc::new(builder.finish()) as ArrayRef);
        let mut text = || texts.next().unwrap();
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            ("url_surtkey", text(), false),
            ("url", text(), false),
            ("url_host_name", text(), false),
            ("url_host_tld", text(), true),
            ("url_host_2nd_last_part", text(), true),
            ("url_host_3rd_last_part", text(), true),
            ("url_host_4th_last_part", text(), true),
            ("url_host_5th_last_part", text(), true),
            ("url_host_registry_suffix", text(), true),
            ("url_host_registered_domain", text(), true),
            ("url_host_private_suffix", text(), true),
            ("url_host_private_domain", text(), true),
            ("url_host_name_reversed", text(), true),
            ("url_protocol", text(), false),
            ("url_port", Arc::new(Int32Array::from(self.ports)), true),
            ("url_path", text(), false),
            ("url_query", text(), true),
            (
                "fetch_time",
                Arc::new(TimestampMicrosecondArray::from(self.times).with_timezone("UTC")),
                false,
            ),
            ("fetch_status", Arc::new(Int16Array::from(self.statuses)), false),
            ("fetch_redirect", text(), true),
            ("content_digest", text(), true),
            ("content_mime_type", text(), true),
            ("content_mime_detected", text(), true),
            ("content_charset", text(), true),
            ("content_languages", text(), true),
            ("content_truncated", text(), true),
            ("warc_record_id", Arc::new(self.record_ids.finish()), false),
            ("warc_filename", text(), false),
            ("warc_record_offset", Arc::new(Int32Array::from(self.offsets)), false),
            ("warc_record_length", Arc::new(Int32Array::from(self.lengths)), false),
            ("warc_segment", text(), false),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }
}

fn warc_filename(segment_name: &str, segment: u64, number: u64) -> String {
    format!(
        "crawl-data/CC-MAIN-2026-05/segments/{segment_name}/warc/\
         CC-MAIN-202601{:02}{:02}0000-202601{:02}{:02}0000-{number:05}.warc.gz",
        10 + segment / 8,
        segment % 8 * 3,
        10 + (segment + 1) / 8,
        (segment + 1) % 8 * 3,
    )
}

fn batch(rows: &[Row], dice: &mut Dice) -> RecordBatch {
    let mut columns = Columns::new();
    for row in rows {
        columns.push(row, dice);
    }
    columns.finish()
}

pub(crate) fn generate(path: &Path, rows: u64, hosts: Option<&Path>) {
    let mut dice = Dice::new(20_260_105);
    let sites = sites(hosts, &mut dice);
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer: Option<ArrowWriter<File>> = None;
    let mut options = Some(options);
    let mut pending = Vec::new();
    let mut written = 0;
    for (number, site) in sites.iter().enumerate() {
        let left = if number == sites.len() / 3 { 200_000 } else { rows };
        pending.extend(rows_of(site, left, &mut dice));
        let is_last = number + 1 == sites.len() || written + pending.len() as u64 >= rows;
        while pending.len() >= BATCH_ROWS || (is_last && !pending.is_empty()) {
            let rest = pending.split_off(pending.len().min(BATCH_ROWS));
            let batch = batch(&pending, &mut dice);
            let writer = writer.get_or_insert_with(|| {
                let options = options.take().unwrap();
                let file = File::create(path).unwrap();
                ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap()
            });
            writer.write(&batch).unwrap();
            written += pending.len() as u64;
            pending = rest;
        }
        if is_last {
            break;
        }
    }
    writer.unwrap().close().unwrap();
    println!("{written} rows");
}
