//! Reads a `meta` refresh's target (WHATWG HTML 4.2.5.3, "shared declarative refresh steps").

/// Returns the target URL in a `content` such as `5; url=/next`. `None` if this content is invalid,
/// or only reloads the page.
pub(crate) fn target(content: &str) -> Option<&str> {
    let content = content.trim_ascii_start();
    let after_digits = content.trim_start_matches(|c: char| c.is_ascii_digit());
    if after_digits.len() == content.len() && !content.starts_with('.') {
        return None;
    }
    let rest = after_digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !rest.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, ';' | ',')) {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_ascii_start();
    let url = match after_name(rest) {
        NameOfUrl::Absent => unquoted(rest),
        NameOfUrl::WithoutEquals => rest,
        NameOfUrl::Complete(value) => unquoted(value),
    };
    (!url.is_empty()).then_some(url)
}

enum NameOfUrl<'a> {
    Absent,
    /// The string starts with `u`, but not with `url=`.
    WithoutEquals,
    /// The string starts with `url=`, and this is the rest.
    Complete(&'a str),
}

fn after_name(text: &str) -> NameOfUrl<'_> {
    if !text.starts_with(['u', 'U']) {
        return NameOfUrl::Absent;
    }
    match text.split_at_checked(3) {
        Some((name, rest)) if name.eq_ignore_ascii_case("url") => {
            match rest.trim_ascii_start().strip_prefix('=') {
                Some(value) => NameOfUrl::Complete(value.trim_ascii_start()),
                None => NameOfUrl::WithoutEquals,
            }
        }
        _ => NameOfUrl::WithoutEquals,
    }
}

fn unquoted(text: &str) -> &str {
    let Some(quote) = text.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
        return text;
    };
    let text = text.get(1..).unwrap_or_default();
    text.split(quote).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases from the Web Platform Tests (html/semantics/document-metadata/the-meta-element/
    /// pragma-directives/attr-meta-http-equiv-refresh/parsing.html) and from real pages.
    #[test]
    fn a_refresh_has_the_same_target_as_in_browsers() {
        for (content, expected) in [
            ("0;url=/next", Some("/next")),
            ("5; URL='/next'", Some("/next")),
            ("0; url=\"https://a.example/?a=b\" ", Some("https://a.example/?a=b")),
            ("0 , url = /next", Some("/next")),
            ("0\t/next", Some("/next")),
            ("0;/next", Some("/next")),
            ("0; '/next'x", Some("/next")),
            ("0;url='/next", Some("/next")),
            (".5;url=/next", Some("/next")),
            ("1.5.2;url=/next", Some("/next")),
            ("0;urlx", Some("urlx")),
            ("0;url", Some("url")),
            ("0;u/next", Some("u/next")),
            ("0;URL =x", Some("x")),
            ("0;url=", None),
            ("0;url=''", None),
            ("0", None),
            ("30;", None),
            ("", None),
            ("/next", None),
            (";url=/next", None),
            ("+1;url=/next", None),
            ("0url=/next", None),
            ("0é;url=/next", None),
        ] {
            assert_eq!(target(content), expected, "{content:?}");
        }
    }
}
