//! Tests the bucket and its bytes: a generated bucket must be reproducible, and a recorded one
//! complete.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use arrow_array::{
    cast::AsArray,
    types::{Int16Type, Int32Type},
};
use everytab_testbed::{Settings, SmallInternet};
use flate2::read::{GzDecoder, MultiGzDecoder};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use sha2::{Digest, Sha256};

use crate::client::get;

fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/corpus");
    let place = std::env::var_os("EVERYTAB_CORPUS").map_or(beside, PathBuf::from);
    if place.join("index").is_dir() {
        return Some(place);
    }
    println!("skipped: no corpus at {}", place.display());
    None
}

fn digests(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                let digest = Sha256::digest(fs::read(&path).unwrap());
                found.insert(name, format!("{digest:x?}"));
            }
        }
    }
    found
}

struct Row {
    surt: String,
    url: String,
    host: String,
    home: bool,
    file: String,
    offset: usize,
    length: usize,
}

fn rows(parquet: &Path) -> Vec<Row> {
    let file = File::open(parquet).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let mut rows = Vec::new();
    for batch in reader.map(Result::unwrap) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let text = |name: &str, at: usize| {
            let column = column(name).as_string::<i32>();
            arrow_array::Array::is_valid(column, at).then(|| column.value(at).to_owned())
        };
        for at in 0..batch.num_rows() {
            let number = |name: &str| column(name).as_primitive::<Int32Type>().value(at) as usize;
            rows.push(Row {
                surt: text("url_surtkey", at).unwrap(),
                url: text("url", at).unwrap(),
                host: text("url_host_name", at).unwrap(),
                home: text("url_path", at).as_deref() == Some("/")
                    && text("url_query", at).is_none()
                    && arrow_array::Array::is_null(column("url_port"), at)
                    && text("content_mime_type", at).as_deref() == Some("text/html")
                    && column("fetch_status").as_primitive::<Int16Type>().value(at) == 200,
                file: text("warc_filename", at).unwrap(),
                offset: number("warc_record_offset"),
                length: number("warc_record_length"),
            });
        }
    }
    rows
}

fn index_files(bucket: &Path, crawl: &str, subset: &str) -> Vec<PathBuf> {
    let list = bucket.join(format!("crawl-data/{crawl}/cc-index-table.paths.gz"));
    let mut names = String::new();
    GzDecoder::new(File::open(list).unwrap()).read_to_string(&mut names).unwrap();
    let part = format!("/subset={subset}/");
    names.lines().filter(|name| name.contains(&part)).map(|name| bucket.join(name)).collect()
}

/// Asserts that each row's byte range is exactly its record. Returns the hosts with a home page.
fn home_hosts(bucket: &Path, crawl: &str) -> BTreeSet<String> {
    let mut hosts = BTreeSet::new();
    let mut warcs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for subset in ["warc", "crawldiagnostics", "robotstxt"] {
        let files = index_files(bucket, crawl, subset);
        assert!(!files.is_empty(), "{subset}");
        for row in files.iter().flat_map(|file| rows(file)) {
            let warc = warcs
                .entry(row.file.clone())
                .or_insert_with(|| fs::read(bucket.join(&row.file)).unwrap());
            let mut member = GzDecoder::new(&warc[row.offset..row.offset + row.length]);
            let mut record = Vec::new();
            member.read_to_end(&mut record).unwrap();
            assert!(member.into_inner().is_empty(), "{}: more than a member", row.url);
            let named = record.windows(row.url.len()).any(|part| part == row.url.as_bytes());
            assert!(named, "{} is not in its record", row.url);
            if subset == "warc" && row.home {
                hosts.insert(row.host);
            }
        }
    }
    hosts
}

#[tokio::test]
async fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let mut found = Vec::new();
    for seed in [5, 5, 6] {
        let scratch = tempfile::tempdir().unwrap();
        let settings = Settings::generated(seed, 300, scratch.path());
        let running = SmallInternet::start(settings).await.unwrap();
        let mut all = digests(&running.client.bucket_dir);
        for host in running.hosts().take(20) {
            if let Ok([address, ..]) = crate::client::addresses(&running, &host).await.as_deref() {
                all.insert(format!("address of {host}"), address.to_string());
            }
        }
        found.push(all);
        running.stop().await;
    }
    assert!(found[0].len() > 15, "{:?}", found[0].keys());
    assert_eq!(found[0], found[1]);
    assert_ne!(found[0], found[2]);
}

#[tokio::test]
async fn every_generated_host_has_a_home_page_in_the_sorted_index() {
    let scratch = tempfile::tempdir().unwrap();
    let running = SmallInternet::start(Settings::generated(8, 700, scratch.path())).await.unwrap();
    let bucket = &running.client.bucket_dir;
    let expected: BTreeSet<String> = running.hosts().collect();
    assert_eq!(expected.len(), 700);
    assert_eq!(home_hosts(bucket, &running.client.crawl), expected);
    let files = index_files(bucket, &running.client.crawl, "warc");
    let keys: Vec<_> = files.iter().flat_map(|file| rows(file)).map(|row| row.surt).collect();
    assert!(keys.is_sorted());
    assert!(keys.len() > 800, "{}", keys.len());
}

#[tokio::test]
async fn content_is_taken_again_when_it_fits_and_made_anew_when_not() {
    let scratch = tempfile::tempdir().unwrap();
    let start = |hosts| SmallInternet::start(Settings::generated(1, hosts, scratch.path()));
    let running = start(50).await.unwrap();
    let mark = running.client.bucket_dir.join("mark");
    fs::write(&mark, "").unwrap();
    drop(running);
    drop(start(50).await.unwrap());
    assert!(mark.exists(), "made anew although it fits");
    drop(start(51).await.unwrap());
    assert!(!mark.exists(), "taken again although it does not fit");
}

#[tokio::test]
async fn the_bucket_answers_ranges_over_http() {
    let scratch = tempfile::tempdir().unwrap();
    let running = SmallInternet::start(Settings::generated(1, 20, scratch.path())).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let name = format!("crawl-data/{}/cc-index-table.paths.gz", running.client.crawl);
    let whole = fs::read(running.client.bucket_dir.join(&name)).unwrap();
    let url = format!("{}{name}", running.client.bucket_url);
    let head = client.head(&url).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], whole.len().to_string().as_str());
    let part = client.get(&url).header("range", "bytes=3-12").send().await.unwrap();
    assert_eq!(part.status(), 206);
    assert_eq!(part.bytes().await.unwrap(), whole[3..13]);
    assert_eq!(client.get(&url).send().await.unwrap().bytes().await.unwrap(), whole);
    let beyond = client.get(&url).header("range", "bytes=999999-").send().await.unwrap();
    assert_eq!(beyond.status(), 416);
    let missing = format!("{}crawl-data/CC-MAIN-1999-01/x", running.client.bucket_url);
    assert_eq!(client.get(missing).send().await.unwrap().status(), 404);
    // Common Crawl's bucket does not contain the list of crawls.
    let crawls = client.get(format!("{}collinfo.json", running.client.bucket_url)).send().await;
    assert_eq!(crawls.unwrap().status(), 404);
    assert_eq!(running.counts().bucket_requests, 6);
}

#[tokio::test]
async fn every_recorded_home_page_is_in_the_bucket_and_its_host_has_icons() {
    let Some(corpus) = corpus() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let settings = Settings::recorded(1, &corpus, scratch.path());
    let running = SmallInternet::start(settings).await.unwrap();
    assert_eq!(running.client.crawl, "CC-MAIN-2099-11");
    let found = home_hosts(&running.client.bucket_dir, &running.client.crawl);
    let expected = fs::read_to_string(corpus.join("expected/home_hosts.json")).unwrap();
    let expected: BTreeMap<String, serde_json::Value> = serde_json::from_str(&expected).unwrap();
    for host in expected.keys() {
        assert!(found.contains(host), "{host} has no home page in the bucket");
        let answer = get(&running, "https", host, "/favicon.ico").await.unwrap();
        let status = answer.status().as_u16();
        assert!((200..400).contains(&status) || status == 404, "{host}: {status}");
    }
}

#[tokio::test]
async fn recorded_icons_are_served_as_they_were() {
    let Some(corpus) = corpus() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let settings = Settings::recorded(1, &corpus, scratch.path());
    let running = SmallInternet::start(settings).await.unwrap();
    let warc = File::open(corpus.join("warc/pywb-iana.warc.gz")).unwrap();
    let mut bytes = Vec::new();
    MultiGzDecoder::new(warc).read_to_end(&mut bytes).unwrap();
    let answer = get(&running, "http", "www.iana.org", "/_img/bookmark_icon.ico").await.unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.bytes().await.unwrap();
    assert!(body.len() > 100);
    let recorded = bytes.windows(body.len()).any(|window| window == &*body);
    assert!(recorded, "the icon is not the recorded one");
    // A host that was never recorded gets an icon from the directory, always the same one.
    for path in ["/favicon.ico", "/a.png", "/b.svg"] {
        let once = get(&running, "https", "unheard-of.example.org", path).await.unwrap();
        assert_eq!(once.status(), 200);
        let again = get(&running, "http", "unheard-of.example.org", path).await.unwrap();
        let (once, again) = (once.bytes().await.unwrap(), again.bytes().await.unwrap());
        assert!(!once.is_empty() && once == again);
    }
}
