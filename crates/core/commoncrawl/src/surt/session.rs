//! Removes session ids from paths and queries, which are in lower case.

/// Length of a session id in PHP, Java and other systems.
const ID_CHARACTERS: usize = 32;
/// Lengths of an ASP session's name and id.
const ASP_NAME_LETTERS: usize = 8;
const ASP_ID_LETTERS: usize = 24;
/// Length of an ASP.NET session id in a path.
const ASPX_ID_CHARACTERS: usize = 24;

type Pattern = fn(&str) -> Option<usize>;

/// Session ids in a query. Each pattern is removed once, at its last match. The order matters,
/// because `phpsessid=` contains `sid=`.
const IN_QUERY: [Pattern; 5] = [
    |text| id_after(text, "jsessionid="),
    |text| id_after(text, "phpsessid="),
    |text| id_after(text, "sid="),
    asp_session,
    cold_fusion_session,
];

const IN_PATH: [Pattern; 2] = [cookieless_session, plain_session];

/// Removes session ids at the end of the query or before a `&`.
pub(super) fn without_session_in_query(mut query: String) -> String {
    for pattern in IN_QUERY {
        let matches_at = |start: usize| {
            let rest = query.get(start..)?;
            let length = pattern(rest)?;
            match rest.as_bytes().get(length) {
                None => Some((start, start + length)),
                Some(b'&') => Some((start, start + length + 1)),
                Some(_) => None,
            }
        };
        if let Some((start, end)) = (0..query.len()).rev().find_map(matches_at) {
            query.replace_range(start..end, "");
        }
    }
    query
}

/// Removes path segments that are session ids, if an `.aspx` page follows.
pub(super) fn without_session_in_path(mut path: String) -> String {
    for pattern in IN_PATH {
        let matches_at = |slash: usize| {
            let rest = path.get(slash + 1..)?;
            let length = pattern(rest)?;
            is_aspx(rest.get(length..)?).then_some((slash + 1, slash + 1 + length))
        };
        let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
        if let Some((start, end)) = slashes.find_map(matches_at) {
            path.replace_range(start..end, "");
        }
    }
    path
}

fn is_aspx(text: &str) -> bool {
    let before_mark = text.split('?').next().unwrap_or_default();
    before_mark.get(1..).is_some_and(|rest| rest.contains(".aspx"))
}

fn id_after(text: &str, name: &str) -> Option<usize> {
    let id = text.strip_prefix(name)?.get(..ID_CHARACTERS)?;
    all(id, |b| b.is_ascii_alphanumeric()).then_some(name.len() + ID_CHARACTERS)
}

/// Matches `aspsessionid`, 8 letters, `=` and 24 letters.
fn asp_session(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("aspsessionid")?;
    let (name, id) = rest.split_at_checked(ASP_NAME_LETTERS)?;
    let id = id.strip_prefix('=')?.get(..ASP_ID_LETTERS)?;
    let is_session = [name, id].iter().all(|part| all(part, |b| b.is_ascii_lowercase()));
    is_session.then_some(text.len() - rest.len() + ASP_NAME_LETTERS + 1 + ASP_ID_LETTERS)
}

/// Matches `cfid=` and `&cftoken=`, both with a value that is not empty.
fn cold_fusion_session(text: &str) -> Option<usize> {
    let value = |text: &str| text.find('&').unwrap_or(text.len());
    let rest = text.strip_prefix("cfid=")?;
    let id = value(rest);
    let rest = rest.get(id..)?.strip_prefix("&cftoken=")?;
    let token = value(rest);
    (id > 0 && token > 0).then_some(text.len() - rest.len() + token)
}

/// Matches `(`, one or more pairs of a letter and `(id)`, then `)/`.
fn cookieless_session(text: &str) -> Option<usize> {
    let mut rest = text.strip_prefix('(')?;
    while let Some(inner) = rest.strip_prefix(|c: char| c.is_ascii_lowercase()) {
        rest = id_in_parentheses(inner)?;
    }
    let end = rest.strip_prefix(")/")?;
    let length = text.len() - end.len();
    // Require at least one id.
    (length > 3).then_some(length)
}

fn plain_session(text: &str) -> Option<usize> {
    let end = id_in_parentheses(text)?.strip_prefix('/')?;
    Some(text.len() - end.len())
}

fn id_in_parentheses(text: &str) -> Option<&str> {
    let (id, rest) = text.strip_prefix('(')?.split_at_checked(ASPX_ID_CHARACTERS)?;
    all(id, |b| b.is_ascii_alphanumeric()).then(|| rest.strip_prefix(')'))?
}

fn all(text: &str, is_wanted: impl Fn(u8) -> bool) -> bool {
    text.bytes().all(is_wanted)
}
