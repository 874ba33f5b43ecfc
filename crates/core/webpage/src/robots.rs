//! Parses robots.txt (RFC 9309): which paths a crawler may request.
//!
//! Most files were written for Google's parser, which does not decode unreserved characters. If it
//! and the normal form of RFC 9309 2.2.2 differ, the stricter one counts: an allow rule must match
//! in both.

mod crawl_delay;

use std::collections::{HashMap, HashSet};

use url::Url;

pub use self::crawl_delay::{CrawlDelay, MAX_CRAWL_DELAY};
use crate::url_rules::{MAX_URL_BYTES, requested_form};

/// Maximum bytes to read from a file. RFC 9309 2.5 requires at least 500 KiB.
pub const MAX_ROBOTS_BYTES: usize = 500 << 10;
/// Maximum bytes to read from a line. Google's parser has the same limit.
const MAX_LINE_BYTES: usize = 8 * 2083 - 1;
/// Maximum bytes to read from a requested path. This is more than the longest rule has.
const MAX_PATH_BYTES: usize = 17 << 10;
/// Maximum sitemaps in a file. Sitemaps beyond this limit are only counted.
pub const MAX_SITEMAPS: usize = 1_000;

/// A parsed robots.txt. The default is a missing file, which allows everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RobotsTxt {
    groups: Vec<Group>,
    disallow_all: bool,
    sitemaps: Vec<String>,
    sitemaps_left_out: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Group {
    /// Product tokens in lower case, or `*`.
    agents: Vec<String>,
    rules: Vec<PathRule>,
    /// Delays, each with the number of agents before it. The delay applies to these agents.
    delays: Vec<(usize, CrawlDelay)>,
}

/// Which group applies to a robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobotsGroup {
    /// The groups that name this robot.
    Named,
    /// The groups for all robots.
    Everyone,
    /// No group, so everything is allowed except after [`RobotsTxt::disallow_all`].
    None,
}

/// The rule that decides about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecidingRule<'a> {
    /// True for an allow rule.
    pub allow: bool,
    /// Pattern in this module's normal form.
    pub pattern: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PathRule {
    allow: bool,
    pattern: String,
    /// An allow rule's form for Google's parser, if this form differs.
    as_written: Option<String>,
}

impl PathRule {
    /// Returns `None` for an empty value, which has no effect.
    fn new(allow: bool, value: &[u8]) -> Option<Self> {
        let pattern = normal_form(value, Side::Rule, Form::Normal);
        let as_written = allow.then(|| normal_form(value, Side::Rule, Form::AsWritten));
        let as_written = as_written.filter(|written| *written != pattern);
        (!pattern.is_empty()).then_some(Self { allow, pattern, as_written })
    }

    /// Precedence: the longest rule, then an allow rule.
    fn rank(&self) -> (usize, bool) {
        (self.pattern.len(), self.allow)
    }

    fn matches(&self, path: &RequestPath) -> bool {
        let written = || self.as_written.as_ref().unwrap_or(&self.pattern);
        matches(&self.pattern, &path.normal)
            && (!self.allow || matches(written(), &path.as_written))
    }
}

struct RequestPath {
    normal: String,
    as_written: String,
}

impl RequestPath {
    fn new(path: &str) -> Self {
        let path = path.as_bytes();
        let path = path.get(..MAX_PATH_BYTES).unwrap_or(path);
        let form = |form| normal_form(path, Side::Path, form);
        Self { normal: form(Form::Normal), as_written: form(Form::AsWritten) }
    }
}

impl RobotsTxt {
    /// Returns rules that allow nothing, as RFC 9309 2.3.1.4 requires for an unreachable
    /// robots.txt.
    #[must_use]
    pub fn disallow_all() -> Self {
        Self { disallow_all: true, ..Self::default() }
    }

    /// Parses a file's first [`MAX_ROBOTS_BYTES`] bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..MAX_ROBOTS_BYTES).unwrap_or(bytes);
        let mut robots = Self::default();
        let mut rules_began = true;
        for record in records(bytes) {
            match record {
                RobotsLine::Agent(agent) => {
                    if std::mem::take(&mut rules_began) {
                        robots.groups.push(Group::default());
                    }
                    if let Some(group) = robots.groups.last_mut() {
                        group.agents.push(agent);
                    }
                }
                RobotsLine::Rule { allow, value } => {
                    // Rules before the first group have no effect.
                    let Some(group) = robots.groups.last_mut() else { continue };
                    rules_began = true;
                    group.rules.extend(PathRule::new(allow, value));
                    if let Some(folder) = value_of_directory(value).filter(|_| allow) {
                        group.rules.extend(PathRule::new(allow, &folder));
                    }
                }
                RobotsLine::Delay(value) => {
                    if let (Some(group), Some(delay)) =
                        (robots.groups.last_mut(), CrawlDelay::parse(value))
                    {
                        group.delays.push((group.agents.len(), delay));
                    }
                }
                RobotsLine::Sitemap(value) => robots.add_sitemap(value),
            }
        }
        robots
    }

    /// Returns true if the crawler with this product token may request a path with its query, such
    /// as `/a?b`. `/robots.txt` is always allowed.
    #[must_use]
    pub fn allowed(&self, user_agent_token: &str, path_and_query: &str) -> bool {
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        if path == "/robots.txt" || path.starts_with("/robots.txt?") {
            return true;
        }
        !self.disallow_all && self.rule(user_agent_token, path).is_none_or(|rule| rule.allow)
    }

    /// Returns true if [`Self::allowed`] is true for each of these product tokens, but matches each
    /// rule at most once.
    #[must_use]
    pub fn allowed_for_all(&self, user_agent_tokens: &[&str], path_and_query: &str) -> bool {
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        if path == "/robots.txt" || path.starts_with("/robots.txt?") {
            return true;
        }
        let request = RequestPath::new(path);
        let names: HashSet<String> =
            user_agent_tokens.iter().map(|token| self.applying_name(token)).collect();
        let mut best: HashMap<&str, &PathRule> = HashMap::new();
        for group in &self.groups {
            let named: Vec<&String> = names.iter().filter(|name| group.names(name)).collect();
            for rule in &group.rules {
                let is_longer =
                    |best: Option<&&PathRule>| best.is_none_or(|best| rule.rank() > best.rank());
                if !named.iter().any(|name| is_longer(best.get(name.as_str())))
                    || !rule.matches(&request)
                {
                    continue;
                }
                for name in &named {
                    if is_longer(best.get(name.as_str())) {
                        best.insert(name, rule);
                    }
                }
            }
        }
        !self.disallow_all && best.values().all(|rule| rule.allow)
    }

    /// Returns the rule that decides about a path with its query. Ignores [`Self::disallow_all`]
    /// and the exception for `/robots.txt`.
    #[must_use]
    pub fn deciding_rule(
        &self,
        user_agent_token: &str,
        path_and_query: &str,
    ) -> Option<DecidingRule<'_>> {
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        let PathRule { allow, pattern, .. } = self.rule(user_agent_token, path)?;
        Some(DecidingRule { allow: *allow, pattern })
    }

    /// Returns which group applies to the crawler with this product token.
    #[must_use]
    pub fn group(&self, user_agent_token: &str) -> RobotsGroup {
        let token = user_agent_token.to_ascii_lowercase();
        let has = |name: &str| self.groups.iter().any(|group| group.names(name));
        if has(&token) {
            RobotsGroup::Named
        } else if has("*") {
            RobotsGroup::Everyone
        } else {
            RobotsGroup::None
        }
    }

    /// Returns the longest delay in the groups that apply to the crawler with this product token.
    #[must_use]
    pub fn crawl_delay(&self, user_agent_token: &str) -> Option<CrawlDelay> {
        let (name, groups) = self.applying(user_agent_token);
        let holds = |group: &Group, agents: usize| {
            group.agents.iter().take(agents).any(|agent| *agent == name)
        };
        groups
            .flat_map(|group| group.delays.iter().map(move |delay| (group, delay)))
            .filter(|(group, (agents, _))| holds(group, *agents))
            .map(|(_, (_, delay))| *delay)
            .max()
    }

    /// Returns up to [`MAX_SITEMAPS`] absolute http and https URLs, in order and without
    /// duplicates.
    #[must_use]
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Returns how many `Sitemap` lines were skipped, because they are invalid or beyond
    /// [`MAX_SITEMAPS`].
    #[must_use]
    pub fn sitemaps_left_out(&self) -> usize {
        self.sitemaps_left_out
    }

    fn add_sitemap(&mut self, value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        let url = Some(text).filter(|text| text.len() <= MAX_URL_BYTES);
        let url = url.and_then(|text| Url::parse(&text).ok());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.map(requested_form).map(String::from);
        match url.filter(|url| url.len() <= MAX_URL_BYTES) {
            Some(known) if self.sitemaps.contains(&known) => {}
            Some(url) if self.sitemaps.len() < MAX_SITEMAPS => self.sitemaps.push(url),
            _ => self.sitemaps_left_out += 1,
        }
    }

    fn applying_name(&self, user_agent_token: &str) -> String {
        match self.group(user_agent_token) {
            RobotsGroup::Named => user_agent_token.to_ascii_lowercase(),
            RobotsGroup::Everyone | RobotsGroup::None => "*".to_owned(),
        }
    }

    fn applying(&self, user_agent_token: &str) -> (String, impl Iterator<Item = &Group> + Clone) {
        let name = self.applying_name(user_agent_token);
        let wanted = name.clone();
        (name, self.groups.iter().filter(move |group| group.names(&wanted)))
    }

    fn rule(&self, user_agent_token: &str, path: &str) -> Option<&PathRule> {
        let path = RequestPath::new(path);
        let mut best: Option<&PathRule> = None;
        for rule in self.applying(user_agent_token).1.flat_map(|group| &group.rules) {
            // Compare ranks first, because this is cheaper than matching.
            if best.is_none_or(|best| rule.rank() > best.rank()) && rule.matches(&path) {
                best = Some(rule);
            }
        }
        best
    }
}

impl Group {
    fn names(&self, agent: &str) -> bool {
        self.agents.iter().any(|other| other == agent)
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut literals = pattern.split('*');
    let first = literals.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let mut last = None;
    // Match each literal at its leftmost position, which leaves the most text for the later ones.
    for literal in literals {
        if let Some(literal) = last.replace(literal) {
            let Some((_, after)) = rest.split_once(literal) else { return false };
            rest = after;
        }
    }
    match (last, anchored) {
        (None, true) => rest.is_empty(),
        (None, false) => true,
        (Some(literal), true) => rest.ends_with(literal),
        (Some(literal), false) => rest.contains(literal),
    }
}

enum RobotsLine<'a> {
    Agent(String),
    Rule { allow: bool, value: &'a [u8] },
    Delay(&'a [u8]),
    Sitemap(&'a [u8]),
}

fn records(file: &[u8]) -> impl Iterator<Item = RobotsLine<'_>> {
    without_mark(file).split(|byte| matches!(byte, b'\n' | b'\r')).filter_map(record)
}

fn record(line: &[u8]) -> Option<RobotsLine<'_>> {
    let line = line.get(..MAX_LINE_BYTES).unwrap_or(line);
    let line = line.split(|byte| *byte == b'#').next()?.trim_ascii();
    let colon = line.iter().position(|byte| *byte == b':');
    // Like Google's parser, accept whitespace for a missing colon if the line has two words.
    let at = colon.or_else(|| {
        let space = line.iter().position(u8::is_ascii_whitespace)?;
        let value = line.get(space..)?.trim_ascii();
        (!value.iter().any(u8::is_ascii_whitespace)).then_some(space)
    })?;
    let key = line.get(..at)?.trim_ascii();
    let value = line.get(at + 1..)?.trim_ascii();
    let key_is =
        |names: &[&str]| names.iter().any(|name| key.eq_ignore_ascii_case(name.as_bytes()));
    if key_is(&["user-agent", "useragent", "user agent"]) {
        return Some(RobotsLine::Agent(product_token(value)));
    }
    if key_is(&["crawl-delay", "crawldelay", "crawl delay"]) {
        return Some(RobotsLine::Delay(value));
    }
    if key_is(&["sitemap", "site-map"]) {
        return Some(RobotsLine::Sitemap(value));
    }
    let allow = key_is(&["allow"]);
    // Misspellings that Google's parser accepts.
    let disallow = ["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"];
    if !allow && !key_is(&disallow) {
        return None;
    }
    Some(RobotsLine::Rule { allow, value })
}

/// As in Google's parser, a rule that allows `/a/index.html` also allows `/a/`.
fn value_of_directory(value: &[u8]) -> Option<Vec<u8>> {
    let slash = value.iter().rposition(|byte| *byte == b'/')?;
    let (folder, file) = value.split_at_checked(slash + 1)?;
    file.starts_with(b"index.htm").then(|| [folder, b"$"].concat())
}

/// Returns the product token in a user-agent line: `bot` for `bot/1.0`, `*` for `*` and `* other`.
fn product_token(value: &[u8]) -> String {
    if let [b'*'] | [b'*', b' ' | b'\t', ..] = value {
        return "*".to_owned();
    }
    let is_token = |byte: &&u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    value.iter().take_while(is_token).map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

/// In a rule, `*` and a final `$` have a special meaning. In a path, they are percent-encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Rule,
    Path,
}

/// How rules and paths are written: `Normal` by RFC 9309, or `AsWritten` as in Google's parser,
/// which decodes nothing and keeps octets beyond ASCII in paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Normal,
    AsWritten,
}

fn normal_form(text: &[u8], side: Side, form: Form) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let encoded = text.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(hex_pair);
        at += if encoded.is_some() { 3 } else { 1 };
        let is_raw = side == Side::Path && form == Form::AsWritten;
        match encoded {
            Some(decoded) if form == Form::Normal && is_unreserved(decoded) => {
                result.push(char::from(decoded));
            }
            Some(kept) => push_encoded(&mut result, kept),
            None if side == Side::Rule && *byte == b'*' => result.push('*'),
            None if side == Side::Rule && *byte == b'$' && at == text.len() => result.push('$'),
            None if is_raw && *byte >= 0x80 => result.push(char::from(*byte)),
            None if matches!(byte, b'*' | b'$' | 0..=0x20 | 0x7f..) => {
                push_encoded(&mut result, *byte);
            }
            None => result.push(char::from(*byte)),
        }
    }
    result
}

fn hex_pair(digits: &[u8]) -> Option<u8> {
    let mut byte = [0];
    hex::decode_to_slice(digits, &mut byte).ok().map(|()| byte[0])
}

fn push_encoded(form: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    form.push('%');
    for digit in [byte >> 4, byte & 15] {
        form.push(DIGITS.get(usize::from(digit)).map_or('0', |digit| char::from(*digit)));
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Removes a byte order mark, even an incomplete one.
fn without_mark(bytes: &[u8]) -> &[u8] {
    let mark = [0xef, 0xbb, 0xbf];
    let length = bytes.iter().zip(mark).take_while(|(byte, mark)| *byte == mark).count();
    bytes.get(length..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
