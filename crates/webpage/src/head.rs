//! Where the head ends: the first thing that makes a parser open the body.
//!
//! Browsers take icon links from the head alone, and a stray `<div>` or `<img>` moves what
//! follows it into the body (WHATWG HTML 13.2.6.4.3 to .6: "before head", "in head", "after
//! head"). This walks the tags from the start and stops there; it needs no tree.

/// Byte offset of the token that opens the body, or the length of the page.
pub(crate) fn end(html: &[u8]) -> usize {
    let mut at = 0;
    // Text may follow an end tag, but any character of it other than space opens the body.
    while let Some(rest) = html.get(at..).filter(|rest| !rest.is_empty()) {
        let skipped = match rest {
            [byte, ..] if byte.is_ascii_whitespace() => 1,
            // A byte order mark is no text.
            [0xef, 0xbb, 0xbf, ..] if at == 0 => 3,
            [b'<', b'!', b'-', b'-', ..] => comment(rest),
            [b'<', b'!' | b'?', ..] => past(rest, b'>'),
            [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
                let name = tag_name(rest.get(2..).unwrap_or_default());
                if ["body", "html", "br"].iter().any(|opener| is(name, opener)) {
                    return at;
                }
                tag(rest)
            }
            [b'<', b'/', ..] => past(rest, b'>'),
            [b'<', letter, ..] if letter.is_ascii_alphabetic() => match in_head(rest) {
                Some(length) => length,
                None => return at,
            },
            _ => return at,
        };
        at += skipped.max(1);
    }
    html.len()
}

/// The length of an element that stays in the head: its tag, and its content if that is text.
fn in_head(rest: &[u8]) -> Option<usize> {
    const EMPTY: [&str; 8] =
        ["html", "head", "base", "basefont", "bgsound", "link", "meta", "frameset"];
    const WITH_CONTENT: [&str; 6] =
        ["title", "script", "style", "noscript", "noframes", "template"];
    let name = tag_name(rest.get(1..).unwrap_or_default());
    let length = tag(rest);
    if EMPTY.iter().any(|element| is(name, element)) {
        return Some(length);
    }
    if !WITH_CONTENT.iter().any(|element| is(name, element)) {
        return None;
    }
    let content = rest.get(length..).unwrap_or_default();
    Some(length + end_tag(content, name))
}

/// The length of the content up to and including `</name>`, or of all of it.
fn end_tag(content: &[u8], name: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = position(content.get(at..).unwrap_or_default(), b'<') {
        let rest = content.get(at + found..).unwrap_or_default();
        let candidate = rest.strip_prefix(b"</").map(tag_name).unwrap_or_default();
        if candidate.eq_ignore_ascii_case(name) {
            return at + found + tag(rest);
        }
        at += found + 1;
    }
    content.len()
}

/// The length of a tag: to the first `>` outside a quoted attribute value.
fn tag(rest: &[u8]) -> usize {
    let mut quote = None;
    let mut after_equals = false;
    for (at, byte) in rest.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') if after_equals => quote = Some(*byte),
            _ => {}
        }
        after_equals = *byte == b'=' || (after_equals && byte.is_ascii_whitespace());
    }
    rest.len()
}

/// The length of a comment: `<!-->` and `<!--->` are whole, `--!>` ends one too.
fn comment(rest: &[u8]) -> usize {
    if rest.starts_with(b"<!-->") {
        return 5;
    }
    if rest.starts_with(b"<!--->") {
        return 6;
    }
    let mut at = 4;
    while let Some(found) = position(rest.get(at..).unwrap_or_default(), b'>') {
        at += found + 1;
        let body = rest.get(4..at).unwrap_or_default();
        if body.ends_with(b"-->") || body.ends_with(b"--!>") {
            return at;
        }
    }
    rest.len()
}

fn past(rest: &[u8], byte: u8) -> usize {
    position(rest, byte).map_or(rest.len(), |at| at + 1)
}

fn position(bytes: &[u8], wanted: u8) -> Option<usize> {
    bytes.iter().position(|byte| *byte == wanted)
}

fn tag_name(rest: &[u8]) -> &[u8] {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    rest.get(..rest.iter().position(ends).unwrap_or(rest.len())).unwrap_or_default()
}

fn is(name: &[u8], element: &str) -> bool {
    name.eq_ignore_ascii_case(element.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mark `@` stands where the body should open.
    fn check(marked: &str) {
        let expected = marked.find('@').unwrap_or(marked.len());
        let html = marked.replacen('@', "", 1);
        assert_eq!(end(html.as_bytes()), expected, "{marked}");
    }

    #[test]
    fn the_body_opens_at_the_first_thing_that_a_head_cannot_hold() {
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
