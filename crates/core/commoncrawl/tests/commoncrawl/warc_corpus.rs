//! Counts, digests and errors for every archive in the corpus.

use std::{collections::BTreeMap, path::Path};

use everytab_commoncrawl::warc::{
    Limits, Record, RecordType, Records, Truncation, WarcError, read_record,
};
use sha2::{Digest, Sha256};

use crate::support::{corpus, files_below};

type Items = Vec<(u64, Result<Record, WarcError>)>;

fn items(path: &Path) -> (Vec<u8>, Items) {
    let archive = std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let items = Records::new(&archive, Limits::default()).collect();
    (archive, items)
}

fn errors(items: &Items) -> Vec<WarcError> {
    items.iter().filter_map(|(_, item)| item.as_ref().err().cloned()).collect()
}

fn records(items: &Items) -> Vec<&Record> {
    items.iter().filter_map(|(_, item)| item.as_ref().ok()).collect()
}

#[derive(serde::Deserialize)]
struct Page {
    url: String,
    length: Option<u64>,
    body_sha256: String,
}

#[test]
fn every_recorded_page_has_the_expected_body() {
    let Some(corpus) = corpus() else { return };
    let answers = std::fs::read(corpus.join("expected/warc_pages.json")).unwrap();
    let pages: BTreeMap<String, Page> = serde_json::from_slice(&answers).unwrap();
    assert!(pages.len() > 600);
    let mut archives = BTreeMap::new();
    let mut wrong = Vec::new();
    for (key, page) in &pages {
        let (name, offset) = key.rsplit_once('@').unwrap();
        let (archive, items) =
            archives.entry(name.to_owned()).or_insert_with(|| items(&corpus.join(name)));
        let offset: u64 = offset.parse().unwrap();
        let iterated = items.iter().find(|(at, _)| *at == offset).unwrap().1.clone();
        let end = page.length.map_or(archive.len() as u64, |length| offset + length);
        let ranged = read_record(&archive[offset as usize..end as usize], Limits::default());
        assert_eq!(ranged, iterated, "{key}");
        let record = ranged.unwrap();
        assert_eq!(record.target_uri().as_ref(), Some(&page.url), "{key}");
        let response = record.http_response().unwrap();
        assert_eq!(response.remaining_coding, None, "{key}");
        let digest = Sha256::digest(&response.body);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if digest != page.body_sha256 {
            wrong.push((key, response.headers, response.body.len()));
        }
    }
    assert!(wrong.is_empty(), "{} of {} bodies differ: {wrong:?}", wrong.len(), pages.len());
}

#[test]
fn every_archive_is_read_without_loss() {
    let Some(corpus) = corpus() else { return };
    let mut seen = 0;
    for path in files_below(&corpus.join("warc")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (archive, items) = items(&path);
        assert!(!items.is_empty(), "{name}");
        let errors = errors(&items);
        match name.as_str() {
            // `Content-Length` in its fourth record is three bytes too small.
            "pywb-example.warc" => assert_eq!(errors, [WarcError::NotWarc("m".into())]),
            name if name.contains(".arc") => assert_eq!(errors, [WarcError::Arc], "{name}"),
            _ => assert_eq!(errors, [], "{name}"),
        }
        if name.ends_with(".warc.gz") {
            let mut starts: Vec<u64> = items.iter().map(|(offset, _)| *offset).collect();
            starts.dedup();
            starts.push(archive.len() as u64);
            for pair in starts.windows(2) {
                let member = &archive[pair[0] as usize..pair[1] as usize];
                let expected = items.iter().find(|(offset, _)| *offset == pair[0]).unwrap();
                assert_eq!(read_record(member, Limits::default()), expected.1, "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 1_000, "{seen}");
}

#[test]
fn record_counts_equal_another_readers() {
    let Some(corpus) = corpus() else { return };
    // warcio 1.8.1: len(list(ArchiveIterator(open(path, "rb")))), and the number of responses.
    for (name, all, responses) in [
        ("aut-example.warc.gz", 771, 282),
        ("besticon-flows.warc.gz", 126, 125),
        ("cc-resiliparse-sample.warc.gz", 28, 9),
        ("cc-whirlwind.warc.gz", 4, 1),
        ("derived/formasaurus-home.warc.gz", 140, 139),
        ("derived/formasaurus-legacy-charset.warc.gz", 88, 87),
        ("derived/formasaurus-other-pages.warc.gz", 191, 190),
        ("dolma-sample-0000.warc.gz", 48, 22),
        ("odd/block-sized-records.warc", 3, 0),
        ("odd/pywb-example.warc", 6, 2),
        ("odd/pywb-missing-status-text.warc", 1, 1),
        ("odd/warc2zim-content-resource-types.warc.gz", 28, 12),
        ("pywb-dupes.warc.gz", 25, 3),
        ("pywb-example-wget.warc.gz", 6, 1),
        ("pywb-example-wpull.warc.gz", 4, 1),
        ("pywb-example.warc.gz", 6, 2),
        ("pywb-iana.warc.gz", 329, 41),
        ("servo-Baidu.warc.gz", 30, 15),
        ("servo-Facebook.warc.gz", 50, 25),
        ("servo-Google.warc.gz", 26, 13),
        ("servo-GoogleDE.warc.gz", 16, 8),
        ("servo-GoogleUK.warc.gz", 18, 9),
        ("servo-JD.warc.gz", 166, 83),
        ("servo-Reddit.warc.gz", 114, 57),
        ("servo-Sina.warc.gz", 356, 178),
        ("servo-Taobao.warc.gz", 182, 91),
        ("servo-Twitter.warc.gz", 20, 10),
        ("servo-VK.warc.gz", 36, 18),
        ("servo-Wikipedia.warc.gz", 12, 6),
        ("servo-Yahoo.warc.gz", 288, 144),
        ("ukwa-blackbook-trunc.warc.gz", 23, 8),
        ("ukwa-iah-urls-wget.warc.gz", 36, 16),
        ("warc2zim-bad-redirections.warc.gz", 91, 42),
        ("warc2zim-http-codes.warc.gz", 98, 31),
        ("warc2zim-main-entry-403.warc.gz", 27, 12),
    ] {
        let (_, items) = items(&corpus.join("warc").join(name));
        let records = records(&items);
        let found = records.iter().filter(|r| r.record_type == RecordType::Response).count();
        assert_eq!((records.len(), found), (all, responses), "{name}");
    }
}

#[test]
fn unusual_files_give_their_readable_records() {
    let Some(corpus) = corpus() else { return };
    let (_, odd) = items(&corpus.join("warc/odd/pywb-missing-status-text.warc"));
    let response = records(&odd)[0].http_response().unwrap();
    assert_eq!(response.status, 302);
    assert_eq!(response.headers.get("location"), Some(b"http://www.iana.org/badst".as_slice()));

    let (_, sized) = items(&corpus.join("warc/odd/block-sized-records.warc"));
    for record in records(&sized) {
        assert_eq!(record.record_type, RecordType::Other("unknown".into()));
        assert_eq!(record.truncation, None::<Truncation>);
    }
}
