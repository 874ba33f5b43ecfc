//! warcio reads every record of a written archive and checks its digests, if `python3` (or
//! `EVERYTAB_PYTHON`) has it.

use std::process::Command;

use everytab_commoncrawl::warc::write::{
    ArchiveInfo, ArchiveWriter, ArchivedFetch, CrawlInfo, FetchFacts, KeptAnswer, Resource,
    Response, Revisit, TruncatedBecause, http_head, record_id,
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

const READ_CRAWL: &str = r#"
import json, sys
from warcio.archiveiterator import ArchiveIterator
with open(sys.argv[1], "rb") as archive:
    for record in ArchiveIterator(archive, check_digests="raise"):
        fields = {name.lower(): value for name, value in record.rec_headers.headers}
        http = record.http_headers
        print(json.dumps({
            "type": record.rec_type, "fields": fields,
            "status": http.get_statuscode() if http and record.rec_type != "request" else None,
            "agent": http.get_header("User-Agent") if http else None,
            "body": record.content_stream().read().decode("utf-8"),
            "passed": record.digest_checker.passed}))
"#;

/// Runs warcio's command-line program.
const CLI: &str = "import sys; from warcio.cli import main; main(sys.argv[1:])";

fn crawl_archive() -> Vec<u8> {
    let about = CrawlInfo {
        software: "everytab-worker/0.1.0",
        operator: "Ann Example <ann@example.org>",
        user_agent: "EveryTabBot/0.1 (+https://example.org/bot)",
        robots: "obey",
        crawl: "LIVE-20251231235959-0a1b2c3d",
    };
    let fields = about.fields();
    let info = ArchiveInfo { file_name: "c.warc.gz", date_micros: DATE, fields: &fields };
    let mut writer = ArchiveWriter::new(Vec::new(), &info).unwrap();
    let request_head: &[u8] =
        b"GET /a HTTP/1.1\r\nHost: a.example\r\nUser-Agent: EveryTabBot/0.1\r\n\r\n";
    let body = b"<title>a page</title>";
    let fields: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/html")];
    let (ok, unchanged) = (http_head(200, "OK", fields, 21), http_head(304, "Not Modified", [], 0));
    let facts = FetchFacts {
        fetch_time_ms: Some(120),
        delay_ms: Some(1_000),
        depth: Some(3),
        via: Some("https://a.example/"),
        certificate: Some("self_signed"),
        charset: Some("UTF-8"),
        language: Some("eng"),
    };
    let response = |target_uri, truncated| {
        let date_micros = DATE;
        let ip_address = "192.0.2.1".parse().ok();
        let http_head = &ok[..];
        Response { target_uri, date_micros, ip_address, http_head, body, truncated }
    };
    let uri = "https://a.example/a";
    let mut write =
        |answer| writer.exchange(&ArchivedFetch { request_head, answer, facts }).unwrap();
    let first = write(KeptAnswer::Response(response(uri, None)));
    let id = record_id("response", uri, DATE, &first.payload_digest);
    assert_eq!(id, first.record_id, "another process can compute it");
    let revisit = |target_uri, http_head| Revisit {
        target_uri,
        date_micros: DATE + 5_000_000,
        ip_address: None,
        http_head,
        payload_digest: &first.payload_digest,
        refers_to_record_id: &id,
        refers_to_target_uri: uri,
        refers_to_date_micros: DATE,
    };
    write(KeptAnswer::Identical(revisit("https://a.example/b", &ok)));
    write(KeptAnswer::NotModified(revisit(uri, &unchanged)));
    let cut = Some(TruncatedBecause::Length);
    write(KeptAnswer::Response(response("https://a.example/c", cut)));
    writer.finish().unwrap()
}

fn run_on(archive: &[u8], program: &[&str]) -> Option<String> {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import warcio"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no warcio");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.warc.gz");
    std::fs::write(&path, archive).unwrap();
    let output =
        Command::new(&python).arg("-c").arg(program[0]).args(&program[1..]).arg(&path).output();
    let output = output.unwrap();
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn warcio_reads_the_records_of_a_crawl_and_the_check_passes() {
    let archive = crawl_archive();
    let Some(read) = run_on(&archive, &[READ_CRAWL]) else { return };
    let records: Vec<serde_json::Value> =
        read.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = records.iter().map(|record| record["type"].as_str().unwrap()).collect();
    let exchange = |kind| ["request", kind, "metadata"];
    let kinds = ["response", "revisit", "revisit", "response"].map(exchange).concat();
    assert_eq!(types, [&["warcinfo"], &kinds[..]].concat());
    let about = records[0]["body"].as_str().unwrap();
    assert!(about.contains("isPartOf: LIVE-20251231235959-0a1b2c3d\r\n"), "{about}");
    assert!(about.contains("operator: Ann Example <ann@example.org>\r\n"), "{about}");
    for exchange in records[1..].chunks(3) {
        let [request, answer, metadata] = exchange else { panic!("three records") };
        assert_eq!(request["agent"], "EveryTabBot/0.1");
        let id = &answer["fields"]["warc-record-id"];
        for beside in [request, metadata] {
            assert_eq!(&beside["fields"]["warc-concurrent-to"], id);
            let (of_beside, of_answer) = (&beside["fields"], &answer["fields"]);
            assert_eq!(of_beside["warc-target-uri"], of_answer["warc-target-uri"]);
            assert_eq!(of_beside["warc-date"], of_answer["warc-date"]);
            assert_eq!(beside["passed"], true);
        }
        let known = "fetchTimeMs: 120\r\ndelayMs: 1000\r\ndepth: 3\r\nvia: https://a.example/\r\n\
            certificate-fault: self_signed\r\ncharset-detected: UTF-8\r\nlanguage: eng\r\n";
        assert_eq!(metadata["body"], known);
    }
    let [first, same, unchanged, cut] = [2, 5, 8, 11].map(|at| &records[at]);
    assert_eq!((&first["body"], &first["passed"]), (&"<title>a page</title>".into(), &true.into()));
    assert_eq!(cut["fields"]["warc-truncated"], "length");
    for (revisit, profile, status) in
        [(same, "identical-payload-digest", "200"), (unchanged, "server-not-modified", "304")]
    {
        let fields = &revisit["fields"];
        let profile = format!("http://netpreserve.org/warc/1.1/revisit/{profile}");
        assert_eq!(
            (&fields["warc-profile"], &revisit["status"]),
            (&profile.into(), &status.into())
        );
        assert_eq!(fields["warc-refers-to"], first["fields"]["warc-record-id"]);
        assert_eq!(fields["warc-refers-to-target-uri"], "https://a.example/a");
        assert_eq!(fields["warc-refers-to-date"], first["fields"]["warc-date"]);
        assert_eq!(fields["warc-payload-digest"], first["fields"]["warc-payload-digest"]);
        assert_eq!(revisit["body"], "");
    }
    run_on(&archive, &[CLI, "check"]);
}

#[test]
fn warcio_lists_every_record_and_the_digests_pass() {
    let Some(listed) = run_on(&archive(), &[LIST]) else { return };
    let lines: Vec<&str> = listed.lines().collect();
    let mut expected = vec!["warcinfo None 63 True".to_owned()];
    for (number, length) in [0, 1, 500, 70_000].into_iter().enumerate() {
        expected.push(format!("response https://h{number}.example/favicon.ico {length} True"));
        // warcio does not check a revisit's digest, because its content is in another record.
        expected.push("revisit https://again.example/favicon.ico 0 None".to_owned());
    }
    expected.push("resource urn:everytab:data:1 6 True".to_owned());
    assert_eq!(lines, expected);

    run_on(&archive(), &[CLI, "check"]);
}
