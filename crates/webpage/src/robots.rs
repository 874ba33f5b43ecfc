//! robots.txt by RFC 9309: which paths a crawler may ask for.
//!
//! All groups that name us are merged; `*` speaks only where none does. The longest matching
//! rule decides, in octets, and an allow wins a tie. Lines that are no rule change nothing.
//!
//! Both sides of a match are brought to one form first (RFC 9309 2.2.2): octets beyond ASCII and
//! the special characters of a path are percent-encoded, encoded unreserved characters are
//! decoded, hexadecimal digits are upper case. In a rule, `%2A` and `%24` are the characters,
//! `*` and a final `$` the wildcard and the anchor.
//!
//! Google's parser, which most files were written for, compares without that decoding. Where the
//! two readings differ the one that forbids counts: an allow must match in both.
//!
//! Cost is bounded whatever the file says: 500 KiB are read, and matching a rule takes time
//! linear in rule and path, for its literal parts are found from left to right, never again.

use crate::data_url::hex_pair;

/// What is read of a file; RFC 9309 2.5 asks for at least this.
pub const MAX_ROBOTS_BYTES: usize = 500 << 10;
/// What is read of a line: as much as Google's parser does.
const MAX_LINE_BYTES: usize = 8 * 2083 - 1;
/// What is read of a path that is asked about: more than any rule can be long.
const MAX_PATH_BYTES: usize = 17 << 10;

/// A parsed robots.txt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Robots {
    groups: Vec<Group>,
    disallow_all: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Group {
    /// Product tokens in lower case, `*` for everyone.
    agents: Vec<String>,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allow: bool,
    /// In normal form, not empty.
    pattern: String,
    /// Of an allow whose form as written is another one, that.
    as_written: Option<String>,
}

impl Rule {
    /// `None` for an empty value, which rules nothing.
    fn new(allow: bool, value: &[u8]) -> Option<Self> {
        let pattern = normal_form(value, Side::Rule, Form::Normal);
        let as_written = allow.then(|| normal_form(value, Side::Rule, Form::AsWritten));
        let as_written = as_written.filter(|written| *written != pattern);
        (!pattern.is_empty()).then_some(Self { allow, pattern, as_written })
    }

    fn matches(&self, path: &Path) -> bool {
        let written = || self.as_written.as_ref().unwrap_or(&self.pattern);
        matches(&self.pattern, &path.normal)
            && (!self.allow || matches(written(), &path.as_written))
    }
}

/// A path that is asked about, in both forms.
struct Path {
    normal: String,
    as_written: String,
}

impl Robots {
    /// What an unreachable robots.txt means: nothing may be asked for (RFC 9309 2.3.1.4). The
    /// default value is the other end: a missing file, everything may.
    #[must_use]
    pub fn disallow_all() -> Self {
        Self { groups: Vec::new(), disallow_all: true }
    }

    /// Reads the first [`MAX_ROBOTS_BYTES`] of a file. Any bytes give a result.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..MAX_ROBOTS_BYTES).unwrap_or(bytes);
        let mut robots = Self::default();
        let mut rules_began = true;
        for record in records(bytes) {
            match record {
                Record::Agent(agent) => {
                    if std::mem::take(&mut rules_began) {
                        robots.groups.push(Group::default());
                    }
                    if let Some(group) = robots.groups.last_mut() {
                        group.agents.push(agent);
                    }
                }
                Record::Rule { allow, value } => {
                    // Rules before any group are nobody's.
                    let Some(group) = robots.groups.last_mut() else { continue };
                    rules_began = true;
                    group.rules.extend(Rule::new(allow, value));
                    if let Some(folder) = value_of_folder(value).filter(|_| allow) {
                        group.rules.extend(Rule::new(allow, &folder));
                    }
                }
            }
        }
        robots
    }

    /// True if the crawler with this product token may ask for a path, given with its query
    /// (`/a?b`). `/robots.txt` itself is always allowed.
    #[must_use]
    pub fn allowed(&self, user_agent_token: &str, path_and_query: &str) -> bool {
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        if path == "/robots.txt" || path.starts_with("/robots.txt?") {
            return true;
        }
        if self.disallow_all {
            return false;
        }
        let path = path.as_bytes();
        let path = path.get(..MAX_PATH_BYTES).unwrap_or(path);
        let form = |form| normal_form(path, Side::Path, form);
        let path = Path { normal: form(Form::Normal), as_written: form(Form::AsWritten) };
        let token = user_agent_token.to_ascii_lowercase();
        let names = |group: &&Group, name: &str| group.agents.iter().any(|agent| agent == name);
        let ours = || self.groups.iter().filter(|group| names(group, &token));
        if ours().next().is_some() {
            return decide(ours(), &path);
        }
        decide(self.groups.iter().filter(|group| names(group, "*")), &path)
    }
}

/// The verdict of the longest matching rule, allow at a tie, allow where none matches.
fn decide<'a>(groups: impl Iterator<Item = &'a Group>, path: &Path) -> bool {
    let mut best: Option<(usize, bool)> = None;
    for rule in groups.flat_map(|group| &group.rules) {
        let rank = (rule.pattern.len(), rule.allow);
        // The comparison is cheap, the match is not.
        if best.is_none_or(|best| rank > best) && rule.matches(path) {
            best = Some(rank);
        }
    }
    best.is_none_or(|(_, allow)| allow)
}

/// Matches from the start of the path; `*` is any run, a final `$` the end of the path.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut literals = pattern.split('*');
    let first = literals.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let mut last = None;
    // The leftmost place of each literal leaves the most for the next ones.
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

enum Record<'a> {
    Agent(String),
    Rule { allow: bool, value: &'a [u8] },
}

/// The lines that say something, in order.
fn records(file: &[u8]) -> impl Iterator<Item = Record<'_>> {
    without_mark(file).split(|byte| matches!(byte, b'\n' | b'\r')).filter_map(record)
}

/// What a line says, or `None` for a comment, junk, or a record of another kind.
fn record(line: &[u8]) -> Option<Record<'_>> {
    let line = line.get(..MAX_LINE_BYTES).unwrap_or(line);
    let line = line.split(|byte| *byte == b'#').next()?.trim_ascii();
    let colon = line.iter().position(|byte| *byte == b':');
    // Google takes a space where the colon is missing, if the line is two words.
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
        return Some(Record::Agent(product_token(value)));
    }
    let allow = key_is(&["allow"]);
    // The misspellings that Google accepts.
    let disallow = ["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"];
    if !allow && !key_is(&disallow) {
        return None;
    }
    Some(Record::Rule { allow, value })
}

/// Google takes an allowed `/a/index.html` for `/a/` too.
fn value_of_folder(value: &[u8]) -> Option<Vec<u8>> {
    let slash = value.iter().rposition(|byte| *byte == b'/')?;
    let (folder, file) = value.split_at_checked(slash + 1)?;
    file.starts_with(b"index.htm").then(|| [folder, b"$"].concat())
}

/// `bot` of `bot/1.0`; `*` of `*` and of `* junk`.
fn product_token(value: &[u8]) -> String {
    if let [b'*'] | [b'*', b' ' | b'\t', ..] = value {
        return "*".to_owned();
    }
    let is_token = |byte: &&u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    value.iter().take_while(is_token).map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

/// What a text in normal form is. In a rule `*` and a final `$` keep their meaning, in a path
/// they are encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Rule,
    Path,
}

/// RFC 9309's form, or Google's: encoded characters stay so, and a path is taken as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Normal,
    AsWritten,
}

/// The form in which rules and paths are compared.
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

/// A byte order mark, whole or cut, is no part of the first line.
fn without_mark(bytes: &[u8]) -> &[u8] {
    let mark = [0xef, 0xbb, 0xbf];
    let length = bytes.iter().zip(mark).take_while(|(byte, mark)| *byte == mark).count();
    bytes.get(length..).unwrap_or_default()
}

#[cfg(test)]
#[path = "robots_tests.rs"]
mod tests;
