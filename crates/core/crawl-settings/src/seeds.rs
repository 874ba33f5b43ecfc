//! Parses seeds from lines.
//!
//! A line is a URL or a bare hostname. A bare hostname gets `https://`, and the crawler uses
//! `http://` if https cannot be reached. Empty lines and lines that start with `#` are skipped.
//! Only the start of a line that is too long is kept, so any input is read in bounded memory. This
//! module also collects the seeds' ports and sites. This module does not depend on where lines come
//! from. The fetcher checks which addresses may get requests.

use std::{
    collections::BTreeSet,
    io::{self, BufRead},
    iter::FusedIterator,
};

use everytab_frontier::{
    CanonicalUrl, MAX_URL_BYTES, ParameterList, SuffixList, UrlError, site_hash,
};
use everytab_webpage::{MAX_PORTS, PortList, is_bad_port};

use crate::settings::MAX_LIST_SITES;

/// Maximum length of a line, in bytes. A line has a URL and optional white space around it.
const MAX_LINE_BYTES: usize = 2 * MAX_URL_BYTES;
/// Maximum number of characters that are shown of a rejected line.
const MAX_SHOWN_CHARACTERS: usize = 100;
/// The reason why a line is not a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    /// The line is longer than twice the maximum length of a URL.
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    /// The line is not UTF-8.
    #[error("the line is not UTF-8")]
    Encoding,
    /// The line has no scheme and does not start with an address or with a hostname that contains a
    /// dot.
    #[error("neither a URL nor a hostname such as example.com")]
    NoHostname,
    /// The host has a character that hostnames cannot have, such as a comma.
    #[error("no host has such a name")]
    HostCharacters,
    /// The URL has a user name or a password, which the crawler never sends.
    #[error("the URL has a user name or password; remove it")]
    Credentials,
    /// The URL cannot be crawled.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The port is not in the list of ports that the submission may use.
    #[error("port {0} is not in the list of ports")]
    Port(u16),
    /// The port is a bad port: it belongs to another protocol.
    #[error("port {0} is never requested: it is a bad port of the Fetch standard")]
    BadPort(u16),
    /// The seeds use more different ports than a crawl may have.
    #[error("the seeds name more than {MAX_PORTS} ports")]
    TooManyPorts,
}

/// A URL that a user submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// The URL.
    pub url: CanonicalUrl,
    /// Whether the user's line has no scheme, so `url` has the default scheme, https.
    pub is_bare: bool,
}

impl Seed {
    /// Returns the line that [`parse_seed`] parses as this seed.
    #[must_use]
    pub fn text(&self) -> &str {
        let url = self.url.fetched();
        if self.is_bare { url.strip_prefix("https://").unwrap_or(url) } else { url }
    }
}

/// The ports that seeds may use.
#[derive(Debug, Clone)]
pub enum SeedPorts {
    /// Only the ports in this list.
    Listed(PortList),
    /// Any port except bad ports, because the operator chose it on purpose. The ports in seeds are
    /// collected for `CrawlSettings::seed_ports`.
    Any(BTreeSet<u16>),
}

impl SeedPorts {
    /// Returns the ports for a crawl that an operator starts.
    #[must_use]
    pub fn of_operator() -> Self {
        Self::Any(BTreeSet::new())
    }

    /// Checks the port of a seed.
    ///
    /// # Errors
    /// Returns an error if the seed may not use its port, or if the seeds use too many ports.
    pub fn check(&mut self, seed: &Seed) -> Result<(), SeedError> {
        let port = seed.url.port();
        if is_bad_port(port) {
            return Err(SeedError::BadPort(port));
        }
        match self {
            Self::Listed(ports) if ports.contains(port) => Ok(()),
            Self::Listed(_) => Err(SeedError::Port(port)),
            // The default ports are always allowed, so we do not collect them.
            Self::Any(_) if matches!(port, 80 | 443) => Ok(()),
            Self::Any(named) if named.contains(&port) => Ok(()),
            Self::Any(named) if named.len() >= MAX_PORTS => Err(SeedError::TooManyPorts),
            Self::Any(named) => {
                named.insert(port);
                Ok(())
            }
        }
    }

    /// Returns the ports that seeds have used. From now on, allows only these ports and the ports
    /// of web servers. `None` if no port was collected, or if the ports come from a list.
    pub fn freeze(&mut self) -> Option<PortList> {
        let Self::Any(named) = self else { return None };
        let named = PortList::new(std::mem::take(named)).ok();
        *self = Self::Listed(PortList::default().with(named.as_ref()));
        named
    }
}

/// Parses a URL or a bare hostname. A bare hostname may have a port and path, and gets `https://`.
///
/// # Errors
/// Returns the first reason why the line is not a seed.
pub fn parse_seed(text: &str, parameters: &ParameterList) -> Result<Seed, SeedError> {
    let text = text.trim();
    let is_bare = !is_absolute(text);
    let url = if !is_bare {
        CanonicalUrl::parse(text, parameters)?
    } else {
        let bare = text.strip_prefix("//").unwrap_or(text);
        let begins = |first: char| first.is_alphanumeric() || first == '[' || first == '_';
        let host = bare.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        // A single word is a table header or a mistake.
        let is_name = host.contains('.') || host.starts_with('[');
        if !bare.starts_with(begins) || !is_name {
            return Err(SeedError::NoHostname);
        }
        CanonicalUrl::parse(&format!("https://{bare}"), parameters)?
    };
    // Here, a host without a dot had a trailing dot, or a user name that contains a dot.
    if is_bare && !url.host().contains(['.', '[']) {
        return Err(SeedError::NoHostname);
    }
    if has_credentials(text) {
        return Err(SeedError::Credentials);
    }
    let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
    let is_host = url.host().bytes().all(is_host_byte);
    if is_host { Ok(Seed { url, is_bare }) } else { Err(SeedError::HostCharacters) }
}

/// Returns whether the authority of a URL or bare hostname has a user name or password.
fn has_credentials(text: &str) -> bool {
    let rest = text.split_once(':').filter(|_| is_absolute(text)).map_or(text, |(_, rest)| rest);
    let authority = rest.trim_start_matches(['/', '\\']).split(['/', '?', '#', '\\']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}

/// Returns whether a line starts with a scheme: it has a colon before any path, and this colon is
/// not followed by a port. A line that starts with `[` has no scheme.
fn is_absolute(text: &str) -> bool {
    let start = text.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if start.starts_with('[') {
        return false;
    }
    start.split_once(':').is_some_and(|(_, rest)| {
        let is_port = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        !is_port
    })
}

/// A line that is not skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedLine {
    /// The line's number, from 1.
    pub number: u64,
    /// The start of the line for display, without control characters.
    pub shown: String,
    /// The seed, or the reason why the line is not a seed.
    pub seed: Result<Seed, SeedError>,
}

/// Reads lines with seeds, one after another.
#[derive(Debug)]
pub struct SeedReader<'a, R> {
    input: R,
    parameters: &'a ParameterList,
    number: u64,
    has_ended: bool,
    line: Vec<u8>,
}

impl<'a, R: BufRead> SeedReader<'a, R> {
    /// Creates a reader that reads `input` to its end.
    pub fn new(input: R, parameters: &'a ParameterList) -> Self {
        Self { input, parameters, number: 0, has_ended: false, line: Vec::new() }
    }

    /// Reads one line into `self.line`, without its line feed, and at most its first
    /// [`MAX_LINE_BYTES`] + 1 bytes. Returns false at the end of the input.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let mut has_read = false;
        loop {
            let found = match self.input.fill_buf() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if found.is_empty() {
                return Ok(has_read);
            }
            has_read = true;
            let end = found.iter().position(|byte| *byte == b'\n');
            let part = found.get(..end.unwrap_or(found.len())).unwrap_or_default();
            let room = (MAX_LINE_BYTES + 1).saturating_sub(self.line.len());
            self.line.extend(part.iter().take(room));
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Parses the line. `None` if it is skipped.
    fn understand(&self) -> Option<SeedLine> {
        let shown = |text: &str| {
            let plain = text.trim().chars().take(MAX_SHOWN_CHARACTERS);
            plain.map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
        };
        let line = |shown, seed| Some(SeedLine { number: self.number, shown, seed });
        let bytes = self.line_without_mark();
        if self.line.len() > MAX_LINE_BYTES {
            return line(shown(&String::from_utf8_lossy(bytes)), Err(SeedError::LineTooLong));
        }
        let Ok(text) = str::from_utf8(bytes) else {
            return line(shown(&String::from_utf8_lossy(bytes)), Err(SeedError::Encoding));
        };
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        line(shown(text), parse_seed(text, self.parameters))
    }

    /// Returns the line without a byte order mark, which the first line may start with.
    fn line_without_mark(&self) -> &[u8] {
        let mark = if self.number == 1 { "\u{feff}" } else { "" };
        self.line.strip_prefix(mark.as_bytes()).unwrap_or(&self.line)
    }
}

impl<R: BufRead> Iterator for SeedReader<'_, R> {
    type Item = io::Result<SeedLine>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_ended {
            match self.read_line() {
                Ok(true) => {}
                Ok(false) => self.has_ended = true,
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(error));
                }
            }
            self.number += 1;
            if let Some(line) = self.understand().filter(|_| !self.has_ended) {
                return Some(Ok(line));
            }
        }
        None
    }
}

impl<R: BufRead> FusedIterator for SeedReader<'_, R> {}

/// The seeds' sites, for the scope `list`.
#[derive(Debug)]
pub struct SeedSites<'a> {
    suffixes: &'a SuffixList,
    hashes: BTreeSet<u64>,
}

impl<'a> SeedSites<'a> {
    /// Creates an empty set.
    #[must_use]
    pub fn new(suffixes: &'a SuffixList) -> Self {
        Self { suffixes, hashes: BTreeSet::new() }
    }

    /// Adds the site of a seed. Returns false if there are more than [`MAX_LIST_SITES`] sites.
    pub fn insert(&mut self, seed: &Seed) -> bool {
        self.hashes.insert(site_hash(self.suffixes.site_of(seed.url.host())));
        self.hashes.len() <= MAX_LIST_SITES
    }

    /// Returns the hashes of the sites, for `CrawlSettings::list_sites`.
    #[must_use]
    pub fn into_hashes(self) -> Vec<u64> {
        self.hashes.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
