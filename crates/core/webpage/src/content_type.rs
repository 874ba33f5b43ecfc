//! Parses the `Content-Type` header (Fetch, "extract a MIME type"; MIME Sniffing, "parse a MIME
//! type"). Invalid headers are ignored.

use crate::header_values::{self, HeaderList};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentType {
    pub(crate) essence: String,
    /// The charset parameter as written. `None` if this parameter is missing or empty.
    pub(crate) charset: Option<String>,
}

/// Returns the last MIME type that parses. If it has no charset, it inherits the previous one's if
/// both have the same essence.
pub(crate) fn extract(headers: &HeaderList) -> Option<ContentType> {
    let joined = header_values::combined(headers, "content-type")?;
    let mut result: Option<ContentType> = None;
    for value in header_values::split(&joined) {
        let Some(mut parsed) = parse(value) else { continue };
        if parsed.essence == "*/*" {
            continue;
        }
        if let Some(earlier) = result
            && earlier.essence == parsed.essence
            && parsed.charset.is_none()
        {
            parsed.charset = earlier.charset;
        }
        result = Some(parsed);
    }
    result
}

pub(crate) fn parse(value: &str) -> Option<ContentType> {
    let value = value.trim_matches(is_http_whitespace);
    let (essence, mut rest) = value.split_once(';').unwrap_or((value, ""));
    let (kind, subtype) = essence.trim_end_matches(is_http_whitespace).split_once('/')?;
    if ![kind, subtype].into_iter().all(header_values::is_token) {
        return None;
    }
    let essence = format!("{kind}/{subtype}").to_ascii_lowercase();
    while !rest.is_empty() {
        rest = rest.trim_start_matches(is_http_whitespace);
        let name_end = rest.find([';', '=']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        let Some(after) = after.strip_prefix('=') else {
            rest = after.strip_prefix(';').unwrap_or("");
            continue;
        };
        let (text, after) = parameter_value(after);
        rest = after;
        if name.eq_ignore_ascii_case("charset") && !text.is_empty() {
            return Some(ContentType { essence, charset: Some(text) });
        }
    }
    Some(ContentType { essence, charset: None })
}

fn parameter_value(after: &str) -> (String, &str) {
    let Some(inner) = after.strip_prefix('"') else {
        let (value, rest) = after.split_once(';').unwrap_or((after, ""));
        return (value.trim_end_matches(is_http_whitespace).to_owned(), rest);
    };
    let mut text = String::new();
    let mut end = inner.len();
    let mut characters = inner.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                end = at + 1;
                break;
            }
            // A backslash at the end of the header is literal.
            '\\' => text.push(characters.next().map_or('\\', |(_, next)| next)),
            other => text.push(other),
        }
    }
    let rest = inner.get(end..).unwrap_or("");
    (text, rest.split_once(';').map_or("", |(_, rest)| rest))
}

fn is_http_whitespace(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset_of(value: &str) -> Option<String> {
        parse(value)?.charset
    }

    #[test]
    fn the_charset_parameter_may_be_quoted_upper_case_duplicated_or_missing() {
        assert_eq!(charset_of("text/html; charset=utf-8").as_deref(), Some("utf-8"));
        assert_eq!(charset_of("text/html;CHARSET=\"Utf-8\"").as_deref(), Some("Utf-8"));
        assert_eq!(charset_of("text/html; charset=a; charset=b").as_deref(), Some("a"));
        assert_eq!(charset_of("text/html; charset=; charset=b").as_deref(), Some("b"));
        assert_eq!(charset_of("text/html; x; charset=b ").as_deref(), Some("b"));
        assert_eq!(charset_of("text/html; q=\"a;charset=c\"; charset=b").as_deref(), Some("b"));
        assert_eq!(charset_of("text/html; charset=\"a\\b"), Some("ab".to_owned()));
        assert_eq!(charset_of("text/html"), None);
        assert_eq!(charset_of("text/html charset=utf-8"), None);
        assert_eq!(charset_of("charset=utf-8"), None);
    }

    #[test]
    fn the_last_line_wins_and_keeps_the_charset_of_an_equal_type() {
        let of = |values: &[&str]| {
            let headers: Vec<_> = values
                .iter()
                .map(|value| ("content-type".to_owned(), value.as_bytes().to_vec()))
                .collect();
            extract(&headers).map(|found| (found.essence, found.charset.unwrap_or_default()))
        };
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(of(&["text/html;charset=gbk", "text/html"]), pair("text/html", "gbk"));
        assert_eq!(of(&["text/html;charset=gbk", "text/plain"]), pair("text/plain", ""));
        assert_eq!(of(&["text/html;charset=gbk", "*/*", "junk"]), pair("text/html", "gbk"));
        assert_eq!(of(&["text/html;charset=a", "TEXT/HTML;charset=b"]), pair("text/html", "b"));
        assert_eq!(of(&[""]), None);
    }
}
