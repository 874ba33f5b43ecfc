//! Which URL was answered how, and where in which WARC file the answer lies.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use super::responses::{self, Response};
use crate::error::TestbedError;
use crate::web::Picture;

/// Where an answer lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    offset: u64,
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
            let bytes = fs::read(path).map_err(TestbedError::file(path))?;
            for (offset, response) in responses::all(&bytes) {
                let Some(url) = normal(&response.url) else { continue };
                let place = Place { file, offset, status: response.status };
                // 206 and 304 make no sense without the request that they answered.
                let usable = !matches!(response.status, 0..=199 | 206 | 304);
                let better =
                    by_url.get(&url).is_none_or(|held| held.status != 200 && place.status == 200);
                if usable && better {
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
        let file = self.files.get(place.file)?;
        let response = responses::at(file, place.offset).ok()??;
        let Response { status, content_type, content_encoding, location, body, .. } = response;
        let fields = [
            ("content-type", content_type),
            ("content-encoding", content_encoding),
            ("location", location),
        ];
        let headers = fields.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
        Some(Picture { status, headers: headers.collect(), body: body.into() })
    }
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
