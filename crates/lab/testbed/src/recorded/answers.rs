//! The recorded responses by URL, each with its WARC file and location.

use std::{
    collections::HashMap,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use everytab_commoncrawl::warc::{Limits, Record, RecordType, Records, read_record};

use crate::{error::TestbedError, stored_response::StoredResponse};

#[derive(Clone, Copy, Debug)]
struct AnswerLocation {
    file: usize,
    offset: u64,
    length: u64,
    status: u16,
}

#[derive(Debug, Default)]
pub(super) struct Answers {
    files: Vec<PathBuf>,
    by_url: HashMap<String, AnswerLocation>,
}

impl Answers {
    /// Uses a URL's first response with status 200, or else its first one.
    pub(super) fn read(files: Vec<PathBuf>) -> Result<Self, TestbedError> {
        let mut by_url: HashMap<String, AnswerLocation> = HashMap::new();
        for (file, path) in files.iter().enumerate() {
            let archive = fs::read(path).map_err(TestbedError::file(path))?;
            let mut records: Vec<_> = Records::new(&archive, Limits::default())
                .map(|(offset, record)| (offset, record.ok().and_then(|record| answer(&record))))
                .collect();
            // If several records share a gzip member, only the first can be read by its offset.
            records.dedup_by_key(|(offset, _)| *offset);
            let ends = records.iter().skip(1).map(|(offset, _)| *offset);
            let ends: Vec<_> = ends.chain([archive.len() as u64]).collect();
            for ((offset, found), end) in records.into_iter().zip(ends) {
                let Some((url, status)) = found else { continue };
                let location =
                    AnswerLocation { file, offset, length: end.saturating_sub(offset), status };
                let held = by_url.get(&url);
                if held.is_none_or(|held| held.status != 200 && status == 200) {
                    by_url.insert(url, location);
                }
            }
        }
        Ok(Self { files, by_url })
    }

    /// If only the other scheme was recorded, only a 200 is used, because a redirect could lead
    /// back to this URL.
    pub(super) fn find(&self, https: bool, host: &str, target: &str) -> Option<StoredResponse> {
        let [this, other] = if https { ["https", "http"] } else { ["http", "https"] };
        let of = |scheme| self.by_url.get(&format!("{scheme}://{host}{target}"));
        let location = of(this).or_else(|| of(other).filter(|location| location.status == 200))?;
        read_response(self.files.get(location.file)?, location)
    }
}

fn answer(record: &Record) -> Option<(String, u16)> {
    if record.record_type != RecordType::Response {
        return None;
    }
    let status = record.http_response().ok()?.status;
    // 206 and 304 only respond to a Range or a condition.
    let usable = !matches!(status, 0..=199 | 206 | 304);
    let url = normal(&record.target_uri()?)?;
    usable.then_some((url, status))
}

fn read_response(file: &Path, location: &AnswerLocation) -> Option<StoredResponse> {
    /// A record may have 16 MiB, which is more than the fetcher accepts.
    const MAX_MEMBER_BYTES: u64 = 16 << 20;
    let mut bytes = vec![0; location.length.min(MAX_MEMBER_BYTES) as usize];
    File::open(file).ok()?.read_exact_at(&mut bytes, location.offset).ok()?;
    let response = read_record(&bytes, Limits::default()).ok()?.http_response().ok()?;
    let fields = [
        ("content-type", response.headers.text("content-type")),
        ("location", response.headers.text("location")),
        // `http_response` has decoded all other codings.
        ("content-encoding", response.remaining_coding),
    ];
    let headers = fields.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
    let headers = headers.collect();
    Some(StoredResponse { status: response.status, headers, body: response.body.into() })
}

fn normal(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let rest = rest.split('#').next().unwrap_or(rest);
    let (authority, target) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at_checked(at)?,
        None => (rest, "/"),
    };
    let port = match scheme.as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let host = authority.strip_suffix(port).unwrap_or(authority).to_ascii_lowercase();
    let slash = if target.starts_with('/') { "" } else { "/" };
    Some(format!("{scheme}://{host}{slash}{target}"))
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn urls_that_differ_in_case_port_or_fragment_only_are_equal() {
        let normal = |url| normal(url).unwrap_or_default();
        assert_eq!(normal("HTTP://A.example:80/B?c#d"), "http://a.example/B?c");
        assert_eq!(normal("https://a.example"), "https://a.example/");
        assert_eq!(normal("https://a.example?x"), "https://a.example/?x");
        assert_eq!(normal("dns:a.example"), "");
    }
}
