//! Captures that own their strings, for testing written indexes.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test program uses a part of it, and tests may fail"
)]

use everytab_commoncrawl::{
    index::write::{CaptureRow, HostDomains},
    warc::write::Position,
};
use parquet::record::{Field, Row};
use proptest::prelude::*;

#[derive(Debug, Clone)]
pub struct OwnCapture {
    pub url: String,
    pub domains: [Option<String>; 4],
    pub fetch_time_micros: i64,
    pub status: u16,
    pub redirect: Option<String>,
    pub digest: Option<String>,
    pub mime_type: Option<String>,
    pub mime_detected: Option<String>,
    pub charset: Option<String>,
    pub languages: Option<String>,
    pub truncated: Option<String>,
    pub record_id: String,
    pub warc_filename: String,
    pub position: Position,
    pub segment: String,
}

impl OwnCapture {
    pub fn row(&self) -> CaptureRow<'_> {
        let [registry_suffix, registered_domain, private_suffix, private_domain] =
            self.domains.each_ref().map(Option::as_deref);
        CaptureRow {
            url: &self.url,
            domains: HostDomains {
                registry_suffix,
                registered_domain,
                private_suffix,
                private_domain,
            },
            fetch_time_micros: self.fetch_time_micros,
            status: self.status,
            redirect: self.redirect.as_deref(),
            digest: self.digest.as_deref(),
            mime_type: self.mime_type.as_deref(),
            mime_detected: self.mime_detected.as_deref(),
            charset: self.charset.as_deref(),
            languages: self.languages.as_deref(),
            truncated: self.truncated.as_deref(),
            record_id: &self.record_id,
            warc_filename: &self.warc_filename,
            position: self.position,
            segment: &self.segment,
        }
    }
}

pub fn capture(url: &str) -> OwnCapture {
    OwnCapture {
        url: url.to_owned(),
        domains: [None, None, None, None],
        fetch_time_micros: 1_767_225_599_000_000,
        status: 200,
        redirect: None,
        digest: Some(format!("sha256:{}", "0".repeat(64))),
        mime_type: Some("text/html".into()),
        mime_detected: Some("text/html".into()),
        charset: Some("UTF-8".into()),
        languages: Some("eng".into()),
        truncated: None,
        record_id: "urn:uuid:00010203-0405-8607-8809-0a0b0c0d0e0f".into(),
        warc_filename: "crawl-data/LIVE-20251231235959-0a1b2c3d/segments/4/warc/a.warc.gz".into(),
        position: Position { offset: 1_000, length: 500 },
        segment: "4".into(),
    }
}

pub fn sorted(captures: &[OwnCapture]) -> Vec<CaptureRow<'_>> {
    let mut rows: Vec<CaptureRow<'_>> = captures.iter().map(OwnCapture::row).collect();
    rows.sort_by_cached_key(|row| row.order().unwrap());
    rows
}

/// Converts a recorded row to a capture. `value` returns its columns as strings.
pub fn recorded(value: impl Fn(&str) -> Option<String>) -> OwnCapture {
    let number = |name| value(name).unwrap();
    let id = value("warc_record_id").unwrap();
    let group = |from: usize, to: usize| id[from..to].to_owned();
    let groups = [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)];
    OwnCapture {
        url: value("url").unwrap(),
        domains: [
            "url_host_registry_suffix",
            "url_host_registered_domain",
            "url_host_private_suffix",
            "url_host_private_domain",
        ]
        .map(&value),
        fetch_time_micros: number("fetch_time").parse().unwrap(),
        status: number("fetch_status").parse().unwrap(),
        redirect: value("fetch_redirect"),
        digest: value("content_digest"),
        mime_type: value("content_mime_type"),
        mime_detected: value("content_mime_detected"),
        charset: value("content_charset"),
        languages: value("content_languages"),
        truncated: value("content_truncated"),
        record_id: format!("urn:uuid:{}", groups.join("-")),
        warc_filename: value("warc_filename").unwrap(),
        position: Position {
            offset: number("warc_record_offset").parse().unwrap(),
            length: number("warc_record_length").parse().unwrap(),
        },
        segment: value("warc_segment").unwrap(),
    }
}

pub fn value(row: &Row, name: &str) -> Option<String> {
    let (_, field) = row.get_column_iter().find(|(column, _)| *column == name).unwrap();
    match field {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        Field::Int(number) => Some(number.to_string()),
        Field::Short(number) => Some(number.to_string()),
        Field::TimestampMicros(micros) => Some(micros.to_string()),
        Field::Bytes(bytes) => Some(hex::encode(bytes.data())),
        other => panic!("{name}: {other:?}"),
    }
}

/// Generates captures with odd URLs, ports, addresses, international names and arbitrary strings.
pub fn captures() -> impl Strategy<Value = OwnCapture> {
    let host = prop_oneof![
        "[a-z0-9-]{1,9}(\\.[a-z0-9-]{1,9}){0,6}\\.?",
        "[0-9]{1,3}(\\.[0-9]{1,3}){3}",
        "\\[[0-9a-f]{1,4}::[0-9a-f]{1,4}\\]",
        "[a-zA-Zäøß日本☃]{1,9}\\.(com|例え)",
    ];
    let port = prop_oneof![Just(String::new()), (1..=u16::MAX).prop_map(|port| format!(":{port}"))];
    let url = ("https?", host, port, "(/[!-~é ]{0,20})?", "(\\?[!-~é ]{0,20})?(#[a-z]{0,3})?")
        .prop_map(|(scheme, host, port, path, query)| {
            let path = path.replace(['?', '#'], "");
            format!("{scheme}://{host}{port}{path}{query}")
        });
    let text = || prop::option::of("\\PC{0,30}|[\u{0}-\u{20}\"\\\\]{0,9}");
    let texts = [(); 7].map(|()| text());
    let domains = [(); 4].map(|()| text());
    let numbers = (0..=999_u16, -60_000_000_000_000_000_i64..200_000_000_000_000_000);
    let place = (0..=i32::MAX as u64 - 1_000, 1..=1_000_u64, any::<[u8; 16]>(), "[a-z]{1,9}");
    (url, texts, domains, numbers, place).prop_map(
        |(url, texts, domains, (status, micros), (offset, length, id, name))| {
            let [redirect, digest, mime_type, mime_detected, charset, languages, truncated] = texts;
            let id = hex::encode(id);
            let groups = [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]];
            OwnCapture {
                url,
                domains,
                fetch_time_micros: micros,
                status,
                redirect,
                digest,
                mime_type,
                mime_detected,
                charset,
                languages,
                truncated,
                record_id: format!("urn:uuid:{}", groups.join("-")),
                warc_filename: format!("crawl-data/{name}.warc.gz"),
                position: Position { offset, length },
                segment: name,
            }
        },
    )
}
