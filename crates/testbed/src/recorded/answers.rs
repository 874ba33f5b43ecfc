//! Which URL was answered how, and where in which WARC file the answer lies.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use everytab_commoncrawl::warc::{Limits, Record, RecordType, Records, read_record};

use crate::error::TestbedError;
use crate::web::Picture;

/// Where an answer lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    offset: u64,
    length: u64,
    status: u16,
}

/// All answers, by URL.
#[derive(Debug, Default)]
pub(super) struct Answers {
    files: Vec<PathBuf>,
    by_url: HashMap<String, Place>,
}

impl Answers {
    /// Reads the files. Of several answers to a URL a 200 wins, then the first.
    pub(super) fn read(files: Vec<PathBuf>) -> Result<Self, TestbedError> {
        let mut by_url: HashMap<String, Place> = HashMap::new();
        for (file, path) in files.iter().enumerate() {
            let archive = fs::read(path).map_err(TestbedError::file(path))?;
            // A damaged record has no answer to give; those after it do.
            let mut records: Vec<_> = Records::new(&archive, Limits::default())
                .map(|(offset, record)| (offset, record.ok().and_then(|record| answer(&record))))
                .collect();
            // Of records that share a member only the first can be read by its offset.
            records.dedup_by_key(|(offset, _)| *offset);
            let ends = records.iter().skip(1).map(|(offset, _)| *offset);
            let ends: Vec<_> = ends.chain([archive.len() as u64]).collect();
            for ((offset, found), end) in records.into_iter().zip(ends) {
                let Some((url, status)) = found else { continue };
                let place = Place { file, offset, length: end.saturating_sub(offset), status };
                let held = by_url.get(&url);
                if held.is_none_or(|held| held.status != 200 && status == 200) {
                    by_url.insert(url, place);
                }
            }
        }
        Ok(Self { files, by_url })
    }

    /// The recorded answer to a URL. One recorded under the other scheme serves if it was a 200:
    /// a redirect between the two would lead back to itself.
    pub(super) fn find(&self, https: bool, host: &str, target: &str) -> Option<Picture> {
        let [this, other] = if https { ["https", "http"] } else { ["http", "https"] };
        let of = |scheme| self.by_url.get(&format!("{scheme}://{host}{target}"));
        let place = of(this).or_else(|| of(other).filter(|place| place.status == 200))?;
        picture(self.files.get(place.file)?, place)
    }
}

/// URL and status of a record, if it is a response that can be given again.
fn answer(record: &Record) -> Option<(String, u16)> {
    if record.record_type != RecordType::Response {
        return None;
    }
    let status = record.http_response().ok()?.status;
    // 206 and 304 make no sense without the request that they answered.
    let usable = !matches!(status, 0..=199 | 206 | 304);
    let url = normal(&record.target_uri()?)?;
    usable.then_some((url, status))
}

fn picture(file: &Path, place: &Place) -> Option<Picture> {
    /// More than any record that the fetcher would take.
    const MAX_MEMBER_BYTES: u64 = 16 << 20;
    let mut bytes = vec![0; place.length.min(MAX_MEMBER_BYTES) as usize];
    File::open(file).ok()?.read_exact_at(&mut bytes, place.offset).ok()?;
    let response = read_record(&bytes, Limits::default()).ok()?.http_response().ok()?;
    let fields = [
        ("content-type", response.headers.text("content-type")),
        ("location", response.headers.text("location")),
        // All other codings are off the body already.
        ("content-encoding", response.remaining_coding),
    ];
    let headers = fields.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
    let headers = headers.collect();
    Some(Picture { status: response.status, headers, body: response.body.into() })
}

/// Scheme and host in lower case, no default port, no fragment.
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
    fn urls_are_compared_without_what_does_not_matter() {
        let normal = |url| normal(url).unwrap_or_default();
        assert_eq!(normal("HTTP://A.example:80/B?c#d"), "http://a.example/B?c");
        assert_eq!(normal("https://a.example"), "https://a.example/");
        assert_eq!(normal("https://a.example?x"), "https://a.example/?x");
        assert_eq!(normal("dns:a.example"), "");
    }
}
