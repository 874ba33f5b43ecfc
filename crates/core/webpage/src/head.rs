//! Finds the first token that makes a parser start the body (WHATWG HTML 13.2.6.4.3 to .6).
//!
//! Most browsers take icon links only from the head, which a stray `<div>` or `<img>` ends.

use memchr::memchr;

use crate::{
    markup::raw_text,
    tokens::{end_of_attributes, end_of_comment, end_of_name, end_tag},
};

/// Returns the byte offset where the body starts, or the page's length if it starts after `enough`.
pub(crate) fn end(html: &[u8], enough: usize) -> usize {
    let mut at = 0;
    // Any text other than whitespace starts the body.
    while at <= enough {
        let rest = html.get(at..).unwrap_or_default();
        let after = match rest {
            [byte, ..] if byte.is_ascii_whitespace() => Some(at + 1),
            // A byte order mark does not count as text.
            [0xef, 0xbb, 0xbf, ..] if at == 0 => Some(3),
            [b'<', b'!', b'-', b'-', ..] => end_of_comment(rest).map(|length| at + length),
            [b'<', b'!' | b'?', ..] => past(html, at),
            [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
                let name = tag_name(html, at + 2);
                if ["body", "html", "br"].iter().any(|opener| is(name, opener)) {
                    return at;
                }
                tag(html, at + 2)
            }
            [b'<', b'/', ..] => past(html, at),
            [b'<', letter, ..] if letter.is_ascii_alphabetic() => {
                if !belongs_in_head(tag_name(html, at + 1)) {
                    return at;
                }
                element(html, at + 1)
            }
            [] => None,
            _ => return at,
        };
        let Some(after) = after else { return html.len() };
        at = after;
    }
    html.len()
}

fn belongs_in_head(name: &[u8]) -> bool {
    const NAMES: [&str; 14] = [
        "link", "meta", "script", "style", "title", "html", "head", "base", "basefont", "bgsound",
        "noscript", "noframes", "template", "frameset",
    ];
    NAMES.iter().any(|element| is(name, element))
}

fn element(html: &[u8], at: usize) -> Option<usize> {
    let name = tag_name(html, at);
    let after = tag(html, at)?;
    let content = html.get(after..)?;
    let length = match raw_text(name) {
        Some(raw) => raw.length(content)?,
        None if is(name, "template") => end_tag(content, b"template")?,
        None => return Some(after),
    };
    tag(html, after + length + 2)
}

fn tag(html: &[u8], at: usize) -> Option<usize> {
    end_of_attributes(html, end_of_name(html, at)?).map(|(end, _)| end)
}

fn past(html: &[u8], at: usize) -> Option<usize> {
    memchr(b'>', html.get(at..)?).map(|found| at + found + 1)
}

fn tag_name(html: &[u8], at: usize) -> &[u8] {
    html.get(at..end_of_name(html, at).unwrap_or(html.len())).unwrap_or_default()
}

fn is(name: &[u8], element: &str) -> bool {
    name.eq_ignore_ascii_case(element.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the body starts at the `@` in `marked`, or at the end if there is no `@`.
    fn check(marked: &str) {
        let expected = marked.find('@').unwrap_or(marked.len());
        let html = marked.replacen('@', "", 1);
        assert_eq!(end(html.as_bytes(), html.len()), expected, "{marked}");
    }

    #[test]
    fn the_body_starts_at_the_first_token_that_a_head_cannot_contain() {
        check("<!doctype html><html><head><title>a</title></head>@<body>");
        check("<link rel=icon>@<p><link>");
        check("<title><p></title><link>@<div>");
        check("<script>'<div>'</script><meta>@text<link>");
        check("<style>a>b{}</style ><noscript><img></noscript><template><p></template>@<img>");
        check("<!-- <div> --><!--><link><!---><link><!-- --!><link>@x");
        check("</p></head><link rel=icon>@</body>");
        check("</ x><? y><!z>@</br>");
        check("<meta content='<p>>'><meta content=\"a>b\">@<p>");
        check("<meta content=a'><link>@<p x='>");
        check("<title>never closed <p>");
        check("<!-- never closed <p>");
        check("\u{feff}<head>@\u{feff}");
        check("@<titlex>");
        check("");
        check("@<");
    }
}
