//! Writes a shard's icon archive, and the rows that point into it.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

use chrono::Utc;
use everytab_commoncrawl::warc::write::{
    ArchiveInfo, ArchiveWriter, Position, Resource, Response, Revisit, WriteError, Written,
};
use everytab_coordinator::IconRow;
use everytab_fetcher::{CandidateFetch, Payload, Spool};
use tempfile::TempPath;

use crate::request_table;

pub(crate) struct Archive {
    file: TempPath,
    /// One row per candidate fetch.
    pub rows: Vec<IconRow>,
    /// Number of distinct contents.
    pub distinct: u64,
    /// The archive's size in bytes.
    pub bytes: u64,
}

impl Archive {
    /// The file is removed when this value is dropped.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

struct First {
    written: Written,
    url: String,
    date_micros: i64,
}

/// The first record after `warcinfo` is the request table. A content's first URL becomes a
/// `response`, or a `resource` if the icon is embedded. Each other URL becomes a `revisit`.
pub(crate) fn write(
    path: PathBuf,
    spool: &Spool,
    results: &[CandidateFetch],
    requests: &[u8],
) -> Result<Archive, WriteError> {
    let file = File::create(&path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let temporary = TempPath::try_from_path(&path)?;
    let info = ArchiveInfo {
        file_name: &name,
        date_micros: Utc::now().timestamp_micros(),
        fields: &[
            ("software", concat!("everytab-worker/", env!("CARGO_PKG_VERSION"))),
            ("format", "WARC File Format 1.1"),
        ],
    };
    let mut writer = ArchiveWriter::new(BufWriter::new(file), &info)?;
    let (target_uri, content_type) = (request_table::TABLE, request_table::TABLE_TYPE);
    let date_micros = info.date_micros;
    writer.resource(&Resource { target_uri, date_micros, content_type, body: requests })?;
    let mut firsts: HashMap<[u8; 32], First> = HashMap::new();
    let mut revisited = HashSet::new();
    let mut rows = Vec::with_capacity(results.len());
    for result in results {
        let mut position = None;
        if let (Some(sha256), Some(payload)) = (result.url_fetch.sha256, result.url_fetch.payload) {
            let url = result.candidate.url.as_str();
            let is_inline = url.starts_with("data:");
            if let Some(first) = firsts.get(&sha256) {
                position = Some(first.written.position);
                if !is_inline && first.url != url && revisited.insert(url) {
                    revisit(&mut writer, spool, result, payload, first)?;
                }
            } else {
                let first = first(&mut writer, spool, result, payload, is_inline)?;
                position = Some(first.written.position);
                firsts.insert(sha256, first);
            }
        }
        rows.push(icon_row(result, position));
    }
    let bytes = writer.offset();
    writer.finish()?;
    Ok(Archive { file: temporary, rows, distinct: firsts.len() as u64, bytes })
}

type Writer = ArchiveWriter<BufWriter<File>>;

fn first(
    writer: &mut Writer,
    spool: &Spool,
    result: &CandidateFetch,
    payload: Payload,
    is_inline: bool,
) -> Result<First, WriteError> {
    let ended = &result.url_fetch;
    let body = spool.read(payload.body)?;
    let date_micros = ended.ended_at.timestamp_micros();
    let (url, written) = if is_inline {
        // An embedded icon's URL may have 16 KiB, so name the record by its digest.
        let digest = ended.sha256.unwrap_or_default();
        let url = format!("urn:sha256:{}", hex::encode(digest));
        let content_type = ended.facts.as_ref().map_or("", |facts| facts.content_type);
        let resource = Resource { target_uri: &url, date_micros, content_type, body: &body };
        let written = writer.resource(&resource)?;
        (url, written)
    } else {
        let response = Response {
            target_uri: &result.candidate.url,
            date_micros,
            ip_address: ended.address.map(|address| address.ip()),
            http_head: &spool.read(payload.head)?,
            body: &body,
            truncated: None,
        };
        (result.candidate.url.clone(), writer.response(&response)?)
    };
    Ok(First { written, url, date_micros })
}

fn revisit(
    writer: &mut Writer,
    spool: &Spool,
    result: &CandidateFetch,
    payload: Payload,
    first: &First,
) -> Result<(), WriteError> {
    writer.revisit(&Revisit {
        target_uri: &result.candidate.url,
        date_micros: result.url_fetch.ended_at.timestamp_micros(),
        ip_address: result.url_fetch.address.map(|address| address.ip()),
        http_head: &spool.read(payload.head)?,
        payload_digest: &first.written.payload_digest,
        refers_to_record_id: &first.written.record_id,
        refers_to_target_uri: &first.url,
        refers_to_date_micros: first.date_micros,
    })?;
    Ok(())
}

fn icon_row(result: &CandidateFetch, position: Option<Position>) -> IconRow {
    let ended = &result.url_fetch;
    let candidate = &result.candidate;
    let facts = ended.facts.as_ref();
    let signed = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    let wide = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let side = |side: u32| (side > 0).then(|| signed(side));
    // An embedded icon's URL would fill the row, and the archive has its content.
    let url = if candidate.url.starts_with("data:") {
        candidate.url.chars().take(60).collect()
    } else {
        candidate.url.clone()
    };
    IconRow {
        host_no: signed(result.host_no),
        candidate_no: i16::try_from(result.candidate_no).unwrap_or(i16::MAX),
        touch: candidate.apple_touch,
        width: facts.and_then(|facts| side(facts.width)),
        height: facts.and_then(|facts| side(facts.height)),
        bytes: ended.sha256.is_some().then(|| signed(ended.bytes)),
        archive_offset: position.map(|at| wide(at.offset)),
        archive_length: position.map(|at| wide(at.length)),
        sha256: ended.sha256.map(|digest| digest.to_vec()),
        outcome: ended.outcome.as_str().to_owned(),
        content_type: facts.map(|facts| facts.content_type.to_owned()),
        url,
    }
}
