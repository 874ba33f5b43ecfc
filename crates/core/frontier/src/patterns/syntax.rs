//! Converts globs, expressions and words to automaton states.

use std::fmt::Write as _;

use regex_automata::{
    nfa::thompson::{BuildError, Compiler, Config, NFA, WhichCaptures},
    util::syntax,
};

use super::{
    lists::{
        FIRST_FILTER, MAX_FILTER_LISTS, MAX_PATTERN_BYTES, MAX_PATTERNS, MAX_WORDS, PatternError,
        PatternListError, PatternLists, UrlPatternList,
    },
    nodes::{Meaning, Nodes},
};

/// Maximum memory in bytes for one pattern's states. Without this limit, nested repetitions would
/// take gigabytes.
const MAX_STATES_BYTES: usize = 1 << 20;

/// Each pattern's list and position (from 1).
pub(super) type Places = Vec<(UrlPatternList, usize)>;

pub(super) fn nodes_of(lists: &PatternLists<'_>) -> Result<(Nodes, Places), PatternListError> {
    let mut nodes = Nodes::default();
    let mut places = Places::new();
    let compiler = compiler();
    let filters = lists.filters.iter().enumerate();
    let of_filters = filters.map(|(number, rules)| (UrlPatternList::Filter(number), rules));
    let of_urls =
        [(UrlPatternList::Exclude, &lists.exclude), (UrlPatternList::Include, &lists.include)];
    for (index, (list, patterns)) in of_urls.into_iter().chain(of_filters).enumerate() {
        let failed = |error| PatternListError { list, error };
        if patterns.len() > MAX_PATTERNS || index >= FIRST_FILTER + MAX_FILTER_LISTS {
            return Err(failed(PatternError::TooMany));
        }
        for (position, pattern) in patterns.iter().enumerate() {
            let number = position + 1;
            let expression = expression_of(pattern, number).map_err(failed)?;
            let meaning = Meaning::OfList {
                list: u8::try_from(index).unwrap_or(u8::MAX),
                position: u16::try_from(position).unwrap_or(u16::MAX),
            };
            add(&mut nodes, &compiler, &expression, (number, meaning)).map_err(failed)?;
            places.push((list, number));
        }
    }
    for (position, word) in lists.words.iter().enumerate() {
        let failed = |error| PatternListError { list: UrlPatternList::Words, error };
        let Some(bit) = u8::try_from(position).ok().filter(|_| position < MAX_WORDS) else {
            return Err(failed(PatternError::TooMany));
        };
        let expression = format!("(?i:{})", literal(word));
        let meaning = (position + 1, Meaning::OfWord(bit));
        add(&mut nodes, &compiler, &expression, meaning).map_err(failed)?;
        places.push((UrlPatternList::Words, position + 1));
    }
    Ok((nodes, places))
}

fn compiler() -> Compiler {
    let mut compiler = Compiler::new();
    compiler.syntax(syntax::Config::new().unicode(false).utf8(false)).configure(
        Config::new()
            .utf8(false)
            .nfa_size_limit(Some(MAX_STATES_BYTES))
            .which_captures(WhichCaptures::None),
    );
    compiler
}

fn add(
    nodes: &mut Nodes,
    compiler: &Compiler,
    expression: &str,
    (number, meaning): (usize, Meaning),
) -> Result<(), PatternError> {
    let states: NFA = compiler.build(expression).map_err(|error| match error.size_limit() {
        Some(_) => PatternError::TooComplex { number },
        None => PatternError::Expression { number, reason: reason(&error) },
    })?;
    nodes.push(&states, meaning).map_err(|_| PatternError::TooLarge { number })
}

/// Returns the last line in the parser's message, which contains the reason. The other lines show
/// the position.
fn reason(error: &BuildError) -> String {
    let text =
        std::error::Error::source(error).map_or_else(|| error.to_string(), |s| s.to_string());
    let line = text.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn expression_of(pattern: &str, number: usize) -> Result<String, PatternError> {
    if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::Length { number });
    }
    match pattern.strip_prefix("re:") {
        Some(expression) => Ok(expression.to_owned()),
        None => expression_of_glob(pattern, number),
    }
}

fn literal(text: &str) -> String {
    let mut expression = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            expression.push(char::from(byte));
        } else {
            let _ = write!(expression, "\\x{byte:02X}");
        }
    }
    expression
}

/// Omits a `*` at the start, and at the end of a path, because expressions may match anywhere.
fn expression_of_glob(glob: &str, number: usize) -> Result<String, PatternError> {
    if glob.contains("://") && !glob.split('/').next().unwrap_or_default().contains('*') {
        return Err(PatternError::SchemeInGlob { number });
    }
    let (host, path) = match glob.find('/') {
        Some(slash) => glob.split_at(slash),
        None => (glob, ""),
    };
    let is_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.*[]:".contains(&byte);
    if !host.bytes().all(is_host) {
        return Err(PatternError::HostInGlob { number });
    }
    // Keys contain non-ASCII characters in percent-encoded form, so encode them in the glob's path,
    // too.
    let encoded: String =
        path.bytes()
            .map(|byte| {
                if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            })
            .collect();
    let text = format!("{host}{encoded}");
    let inner = text.trim_matches('*');
    let mut expression = String::from(if text.starts_with('*') { "" } else { "^" });
    let parts: Vec<String> =
        inner.split('*').filter(|part| !part.is_empty()).map(literal).collect();
    expression.push_str(&parts.join("(?s:.*)"));
    if path.is_empty() {
        let star = if text.ends_with('*') { "(?s:.*)" } else { "" };
        expression.push_str(star);
        expression.push_str("(?::[0-9]+)?/");
    } else if !text.ends_with('*') {
        expression.push('$');
    }
    Ok(expression)
}
