//! Decides when two URLs are identical, by a normalized key and its hash.
//!
//! A request uses the URL as first seen. Only a home page is requested by its key, because a search
//! for home pages in an index would not find `/?gclid=1`.
//!
//! The key has no default port, and no session or campaign parameters. Dot segments are resolved,
//! percent-encoding is normalized, and parameters are sorted by name. `//` in a path is kept, and
//! http differs from https. The key of a key is the key itself.

use std::ops::Range;

use sha2::{Digest, Sha256};
use url::{Host, Url};

use crate::{parameters::ParameterList, percent::push_normalized};

/// Maximum length in bytes for URLs and keys. Longer URLs come from traps and broken templates.
pub const MAX_URL_BYTES: usize = 2_048;

/// Maximum hostname length in bytes (RFC 1035 2.3.4: 255 octets on the wire, 253 as a string).
const MAX_HOST_BYTES: usize = 253;

/// Why a URL cannot be crawled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum UrlError {
    /// The URL is longer than [`MAX_URL_BYTES`].
    #[error("the URL is longer than {MAX_URL_BYTES} bytes")]
    TooLong,
    /// The string is not an absolute URL.
    #[error("not an absolute URL")]
    Unparsable,
    /// The scheme is neither http nor https.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// The URL has no host, or its host has an empty label or more than 253 bytes.
    #[error("the URL has no usable host")]
    Host,
}

/// First 8 bytes of the key's SHA-256, which identify a URL within a host and crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlHash(pub u64);

pub(crate) fn hash_of(text: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// A URL and its normalized key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanonicalUrl {
    fetched: String,
    key: String,
    host: Range<usize>,
    path_start: usize,
    hash: UrlHash,
}

impl CanonicalUrl {
    /// Parses an absolute URL.
    ///
    /// # Errors
    /// Returns the first reason why this URL cannot be crawled.
    pub fn parse(text: &str, parameters: &ParameterList) -> Result<Self, UrlError> {
        if text.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong);
        }
        Self::of(Url::parse(text).map_err(|_| UrlError::Unparsable)?, parameters)
    }

    /// Converts a parsed URL, such as a link that was resolved against its page.
    ///
    /// # Errors
    /// Returns the first reason why this URL cannot be crawled.
    pub fn of(mut url: Url, parameters: &ParameterList) -> Result<Self, UrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme);
        }
        let host = host_text(&url)?;
        if url.host_str() != Some(&host) {
            url.set_host(Some(&host)).map_err(|_| UrlError::Host)?;
        }
        url.set_fragment(None);
        // These calls fail only for URLs that cannot have a user name.
        url.set_username("").ok();
        url.set_password(None).ok();
        let mut key = String::with_capacity(url.as_str().len());
        key.push_str(url.scheme());
        key.push_str("://");
        let host_start = key.len();
        key.push_str(&host);
        let host = host_start..key.len();
        if let Some(port) = url.port() {
            key.push(':');
            key.push_str(&port.to_string());
        }
        let path_start = key.len();
        push_path(&mut key, url.path(), parameters);
        if let Some(query) = url.query() {
            push_query(&mut key, query, parameters);
        }
        let fetched = if is_home_page(&key) { key.clone() } else { String::from(url) };
        if fetched.len() > MAX_URL_BYTES || key.len() > MAX_URL_BYTES {
            return Err(UrlError::TooLong);
        }
        let hash = UrlHash(hash_of(&key));
        Ok(Self { fetched, key, host, path_start, hash })
    }

    /// Returns the URL to request, in ASCII. For a home page, this is the key.
    #[must_use]
    pub fn fetched(&self) -> &str {
        &self.fetched
    }

    /// Converts into the URL to request.
    #[must_use]
    pub fn into_fetched(self) -> String {
        self.fetched
    }

    /// Returns the normalized key, which is a URL in ASCII.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the key's hash.
    #[must_use]
    pub fn hash(&self) -> UrlHash {
        self.hash
    }

    /// Returns the host without port, in lower case and punycode without a trailing dot. An IPv6
    /// address is in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.key[self.host.clone()]
    }

    /// Returns this URL's port, or its scheme's default port.
    #[must_use]
    pub fn port(&self) -> u16 {
        let port = self.key[self.host.end..self.path_start].strip_prefix(':');
        let usual = if self.key.starts_with("https:") { 443 } else { 80 };
        port.and_then(|port| port.parse().ok()).unwrap_or(usual)
    }

    /// Returns the key's path and query, starting with `/`.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        &self.key[self.path_start..]
    }

    /// Returns the key's path, starting with `/`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path_and_query().split('?').next().unwrap_or_default()
    }

    /// Returns the key's query without `?`, or an empty string.
    #[must_use]
    pub fn query(&self) -> &str {
        self.path_and_query().split_once('?').map_or("", |(_, query)| query)
    }
}

/// Returns a hostname or an address in the form of [`CanonicalUrl::host`]. `None` if the string is
/// neither.
#[must_use]
pub fn hostname(text: &str) -> Option<String> {
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    let is_alone = url.username().is_empty()
        && url.password().is_none()
        && url.port().is_none()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    if is_alone { host_text(&url).ok() } else { None }
}

fn host_text(url: &Url) -> Result<String, UrlError> {
    match url.host().ok_or(UrlError::Host)? {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.len() > MAX_HOST_BYTES || name.split('.').any(str::is_empty) {
                return Err(UrlError::Host);
            }
            Ok(name.to_owned())
        }
        address => Ok(address.to_string()),
    }
}

/// Removes path parameters that name a session (`/a;jsessionid=1`), unless this would create a dot
/// segment.
fn push_path(key: &mut String, path: &str, parameters: &ParameterList) {
    let mut normal = String::with_capacity(path.len());
    push_normalized(&mut normal, path);
    if !normal.contains(';') {
        key.push_str(&normal);
        return;
    }
    for (index, segment) in normal.split('/').enumerate() {
        if index > 0 {
            key.push('/');
        }
        let is_session = |piece: &&str| parameters.contains(piece.split('=').next().unwrap_or(""));
        let mut pieces = segment.split(';');
        let name = pieces.next().unwrap_or_default();
        let kept: Vec<&str> = pieces.filter(|piece| !is_session(piece)).collect();
        if kept.is_empty() && matches!(name, "." | "..") {
            key.push_str(segment);
            continue;
        }
        key.push_str(name);
        for piece in kept {
            key.push(';');
            key.push_str(piece);
        }
    }
}

fn push_query(key: &mut String, query: &str, parameters: &ParameterList) {
    let mut normal = String::with_capacity(query.len());
    push_normalized(&mut normal, query);
    let name = |piece: &str| piece.len() - piece.split_once('=').map_or(0, |(_, v)| v.len() + 1);
    let mut pieces: Vec<(&str, &str)> = normal
        .split('&')
        .filter(|piece| !piece.is_empty())
        .map(|piece| (&piece[..name(piece)], piece))
        .filter(|(name, _)| !parameters.contains(name))
        .collect();
    pieces.sort_by_key(|(name, _)| *name);
    let mut separator = '?';
    for (_, piece) in pieces {
        key.push(separator);
        key.push_str(piece);
        separator = '&';
    }
}

/// Returns true if a URL in the form of the URL Standard has only a scheme, host, port and `/`.
#[must_use]
pub fn is_home_page(url: &str) -> bool {
    let rest = url.split_once("://").map(|(_, rest)| rest);
    rest.and_then(|rest| rest.split_once('/')).is_some_and(|(_, path)| path.is_empty())
}

#[cfg(test)]
mod tests;
