//! Another reader can read an archive: warcio lists every record and checks every digest.
//!
//! It needs `python3` (or `EVERYTAB_PYTHON`) with warcio, and prints a line if there is none.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail and do I/O"
)]

use std::process::Command;

use everytab_commoncrawl::warc::write::{
    ArchiveInfo, ArchiveWriter, Resource, Response, Revisit, TruncatedBecause, http_head,
};

const DATE: i64 = 1_767_225_599_000_000;
const LIST: &str = r#"
import sys
from warcio.archiveiterator import ArchiveIterator
with open(sys.argv[1], "rb") as archive:
    for record in ArchiveIterator(archive, check_digests="raise"):
        body = record.content_stream().read()
        print(record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), len(body),
              record.digest_checker.passed)
"#;

fn archive() -> Vec<u8> {
    let info = ArchiveInfo {
        file_name: "7-1.warc.gz",
        date_micros: DATE,
        fields: &[("software", "everytab-worker/0.1.0"), ("format", "WARC File Format 1.1")],
    };
    let mut writer = ArchiveWriter::new(Vec::new(), &info).unwrap();
    let fields: [(&[u8], &[u8]); 3] = [
        (b"Content-Type", b"image/x-icon"),
        (b"Content-Encoding", b"gzip"),
        (b"Transfer-Encoding", b"chunked"),
    ];
    for (number, length) in [0, 1, 500, 70_000].into_iter().enumerate() {
        let body: Vec<u8> = (0..length).map(|n: u32| (n % 251 * 7) as u8).collect();
        let head = http_head(200, "OK", fields, u64::from(length));
        let uri = format!("https://h{number}.example/favicon.ico");
        let first = writer.response(&Response {
            target_uri: &uri,
            date_micros: DATE,
            ip_address: "2001:db8::1".parse().ok(),
            http_head: &head,
            body: &body,
            truncated: (number == 3).then_some(TruncatedBecause::Length),
        });
        let first = first.unwrap();
        let again = writer.revisit(&Revisit {
            target_uri: "https://again.example/favicon.ico",
            date_micros: DATE + 5_000_000,
            ip_address: None,
            http_head: &head,
            payload_digest: &first.payload_digest,
            refers_to_record_id: &first.record_id,
            refers_to_target_uri: &uri,
            refers_to_date_micros: DATE,
        });
        again.unwrap();
    }
    let data = Resource {
        target_uri: "urn:everytab:data:1",
        date_micros: DATE,
        content_type: "image/gif",
        body: b"GIF89a",
    };
    writer.resource(&data).unwrap();
    writer.finish().unwrap()
}

#[test]
fn warcio_lists_every_record_and_the_digests_pass() {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import warcio"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no warcio");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.warc.gz");
    std::fs::write(&path, archive()).unwrap();
    let output = Command::new(&python).args(["-c", LIST]).arg(&path).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let listed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = listed.lines().collect();
    let mut expected = vec!["warcinfo None 63 True".to_owned()];
    for (number, length) in [0, 1, 500, 70_000].into_iter().enumerate() {
        expected.push(format!("response https://h{number}.example/favicon.ico {length} True"));
        // warcio checks no digest of a revisit, whose content is in another record.
        expected.push("revisit https://again.example/favicon.ico 0 None".to_owned());
    }
    expected.push("resource urn:everytab:data:1 6 True".to_owned());
    assert_eq!(lines, expected, "{errors}");

    let check = Command::new(&python)
        .args(["-c", "import sys; from warcio.cli import main; main(sys.argv[1:])", "check"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
}
