//! Parses seeds from lines, in bounded memory. A line is a URL, a bare hostname, or a comment that
//! starts with `#`.

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

/// Maximum line length in bytes. Lines beyond this limit are not parsed.
const MAX_LINE_BYTES: usize = 2 * MAX_URL_BYTES;
/// At most this many characters of a rejected line are shown.
const MAX_SHOWN_CHARACTERS: usize = 100;
/// Why a line is not a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    /// The line is longer than twice the maximum URL length.
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    /// The line is not UTF-8.
    #[error("the line is not UTF-8")]
    Encoding,
    /// The line has no scheme, and no address or hostname with a dot.
    #[error("neither a URL nor a hostname such as example.com")]
    NoHostname,
    /// The host has a character that hostnames cannot have.
    #[error("the hostname has an invalid character")]
    HostCharacters,
    /// The URL has a user name or password.
    #[error("the URL has a user name or password; remove it")]
    Credentials,
    /// The URL cannot be crawled.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// This port is not in the list of allowed ports.
    #[error("port {0} is not in the list of ports")]
    Port(u16),
    /// This port belongs to another protocol.
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
    /// Whether the line has no scheme. `url` then has the scheme https.
    pub is_bare: bool,
}

impl Seed {
    /// Returns a line that [`parse_seed`] parses as this seed.
    #[must_use]
    pub fn text(&self) -> &str {
        let url = self.url.fetched();
        if self.is_bare { url.strip_prefix("https://").unwrap_or(url) } else { url }
    }
}

/// Ports that seeds may use.
#[derive(Debug, Clone)]
pub enum SeedPorts {
    /// Only the ports in this list.
    Listed(PortList),
    /// Any port except bad ports. The seeds' ports are collected for `CrawlSettings::seed_ports`.
    Any(BTreeSet<u16>),
}

impl SeedPorts {
    /// Returns the ports for a crawl that an operator starts.
    #[must_use]
    pub fn of_operator() -> Self {
        Self::Any(BTreeSet::new())
    }

    /// Checks a seed's port.
    ///
    /// # Errors
    /// Returns an error if this seed may not use its port, or if there are too many ports.
    pub fn check(&mut self, seed: &Seed) -> Result<(), SeedError> {
        let port = seed.url.port();
        if is_bad_port(port) {
            return Err(SeedError::BadPort(port));
        }
        match self {
            Self::Listed(ports) if ports.contains(port) => Ok(()),
            Self::Listed(_) => Err(SeedError::Port(port)),
            // Ports 80 and 443 are always allowed, so do not collect them.
            Self::Any(_) if matches!(port, 80 | 443) => Ok(()),
            Self::Any(named) if named.contains(&port) => Ok(()),
            Self::Any(named) if named.len() >= MAX_PORTS => Err(SeedError::TooManyPorts),
            Self::Any(named) => {
                named.insert(port);
                Ok(())
            }
        }
    }

    /// Returns the collected ports. After this call, only these ports and `PortList::default()` are
    /// allowed.
    pub fn freeze(&mut self) -> Option<PortList> {
        let Self::Any(named) = self else { return None };
        let named = PortList::new(std::mem::take(named)).ok();
        *self = Self::Listed(PortList::default().with(named.as_ref()));
        named
    }
}

/// Parses a URL or a bare hostname, which may have a port and path.
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
    // A host without a dot can get here if the line has a trailing dot or a dot in a user name.
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

fn has_credentials(text: &str) -> bool {
    let rest = text.split_once(':').filter(|_| is_absolute(text)).map_or(text, |(_, rest)| rest);
    let authority = rest.trim_start_matches(['/', '\\']).split(['/', '?', '#', '\\']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}

/// Returns true if the part of a line before any path has a colon that is not followed by a port.
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
    /// Line number, from 1.
    pub number: u64,
    /// Start of this line for display, without control characters.
    pub shown: String,
    /// The seed, or why this line is not a seed.
    pub seed: Result<Seed, SeedError>,
}

/// Iterator over the seeds in lines.
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

    /// Reads up to [`MAX_LINE_BYTES`] + 1 bytes from a line, without its line feed. Returns false
    /// if the input has ended.
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

    /// Adds a seed's site. Returns false if there are more than [`MAX_LIST_SITES`] sites.
    pub fn insert(&mut self, seed: &Seed) -> bool {
        self.hashes.insert(site_hash(self.suffixes.site_of(seed.url.host())));
        self.hashes.len() <= MAX_LIST_SITES
    }

    /// Returns the site hashes for `CrawlSettings::list_sites`.
    #[must_use]
    pub fn into_hashes(self) -> Vec<u64> {
        self.hashes.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
