//! The tags of a page: the tokenization of WHATWG HTML 13.2.5, as far as it decides where tags,
//! comments and raw text begin and end.
//!
//! Answers with byte offsets and decodes nothing. Its caller says what a tokenizer learns from
//! the tree: whether the current node is foreign, and which start tags begin raw text. Every
//! byte is looked at once or twice, whatever the page holds.

use memchr::{memchr, memmem};

use crate::markup::Span;

/// Where a tag lies that ended; one that the page's end cuts is none.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    /// Of its `<`.
    pub(crate) start: usize,
    name_end: usize,
    /// After its `>`.
    pub(crate) end: usize,
    pub(crate) is_end_tag: bool,
    pub(crate) is_self_closing: bool,
}

impl Tag {
    /// The name as written.
    #[inline]
    pub(crate) fn name<'a>(&self, html: &'a [u8]) -> &'a [u8] {
        html.get(self.name_span()).unwrap_or_default()
    }

    /// Where the name lies.
    #[inline]
    pub(crate) fn name_span(&self) -> Span {
        self.start + 1 + usize::from(self.is_end_tag)..self.name_end
    }

    pub(crate) fn attributes<'a>(&self, html: &'a [u8]) -> Attributes<'a> {
        Attributes { html: html.get(..self.end).unwrap_or(html), at: self.name_end }
    }
}

/// How the text of an element ends.
pub(crate) enum RawText {
    /// RCDATA and RAWTEXT: at the end tag of this name.
    UntilEndTag(&'static [u8]),
    /// Script data, with its escapes.
    Script,
    /// PLAINTEXT.
    ToTheEnd,
}

impl RawText {
    /// The length of the text that `content` begins with; `None` where nothing ends it.
    pub(crate) fn length(&self, content: &[u8]) -> Option<usize> {
        match self {
            Self::UntilEndTag(name) => end_tag(content, name),
            Self::Script => end_of_script(content),
            Self::ToTheEnd => None,
        }
    }
}

/// Walks over the tags of a page.
pub(crate) struct Tokens<'a> {
    html: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(html: &'a [u8]) -> Self {
        Self { html, at: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.html.get(self.at..).unwrap_or_default()
    }

    /// The next tag. `is_foreign`: the current node is no HTML element, so CDATA has a meaning.
    #[inline]
    pub(crate) fn next(&mut self, is_foreign: bool) -> Option<Tag> {
        loop {
            self.at = find(b'<', self.html, self.at)?;
            match *self.html.get(self.at + 1)? {
                letter if letter.is_ascii_alphabetic() => return self.tag(false),
                b'/' => match *self.html.get(self.at + 2)? {
                    letter if letter.is_ascii_alphabetic() => return self.tag(true),
                    _ => self.at = self.past(b'>')?,
                },
                b'!' => self.at = self.past_declaration(is_foreign)?,
                b'?' => self.at = self.past(b'>')?,
                _ => self.at += 1,
            }
        }
    }

    /// Reads a tag to its end, which is where the next one is looked for.
    #[inline]
    fn tag(&mut self, is_end_tag: bool) -> Option<Tag> {
        let start = self.at;
        let name_end = end_of_name(self.html, start + 1 + usize::from(is_end_tag))?;
        let (end, is_self_closing) = match self.html.get(name_end) {
            Some(b'>') => (name_end + 1, false),
            _ => end_of_attributes(self.html, name_end)?,
        };
        self.at = end;
        Some(Tag { start, name_end, end, is_end_tag, is_self_closing })
    }

    fn past(&self, byte: u8) -> Option<usize> {
        memchr(byte, self.rest()).map(|found| self.at + found + 1)
    }

    /// After a comment, a doctype, a CDATA section, or whatever else begins with `<!`.
    fn past_declaration(&self, is_foreign: bool) -> Option<usize> {
        let rest = self.rest();
        if rest.starts_with(b"<!--") {
            return end_of_comment(rest).map(|length| self.at + length);
        }
        if is_foreign && rest.starts_with(b"<![CDATA[") {
            return memmem::find(rest, b"]]>").map(|found| self.at + found + 3);
        }
        self.past(b'>')
    }

    /// Skips the text of the element whose start tag was just read, and its end tag: the text.
    pub(crate) fn skip_raw_text(&mut self, raw: &RawText) -> Span {
        let start = self.at;
        let end = raw.length(self.rest()).map_or(self.html.len(), |length| start + length);
        self.at = end;
        // An end tag that the page's end cuts ends the text all the same.
        if end < self.html.len() && self.next(false).is_none() {
            self.at = self.html.len();
        }
        start..end
    }
}

/// The attributes of a tag as written: name and where the value lies. Of one without a value, an
/// empty stretch.
pub(crate) struct Attributes<'a> {
    /// Ends with the tag.
    html: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], Span);

    fn next(&mut self) -> Option<Self::Item> {
        let skipped = |from: usize, skips: fn(u8) -> bool| {
            let rest = self.html.get(from..).unwrap_or_default();
            from + rest.iter().position(|byte| !skips(*byte)).unwrap_or(rest.len())
        };
        let start = skipped(self.at, |byte| is_space(byte) || byte == b'/');
        if matches!(self.html.get(start), None | Some(b'>')) {
            return None;
        }
        // An equals sign begins a name, later it ends it.
        let end = skipped(start + 1, |byte| !is_space(byte) && !matches!(byte, b'/' | b'>' | b'='));
        let name = self.html.get(start..end)?;
        let after = skipped(end, is_space);
        if self.html.get(after) != Some(&b'=') {
            self.at = end;
            return Some((name, 0..0));
        }
        let value = skipped(after + 1, is_space);
        let span = match self.html.get(value)? {
            quote @ (b'"' | b'\'') => {
                let length = memchr(*quote, self.html.get(value + 1..)?)?;
                self.at = value + 1 + length + 1;
                value + 1..value + 1 + length
            }
            _ => {
                self.at = skipped(value, |byte| !is_space(byte) && byte != b'>');
                value..self.at
            }
        };
        Some((name, span))
    }
}

/// What a byte is in a tag. Most are none of these, which one look into a table tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Space,
    Slash,
    Equals,
    End,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    classes[b'\t' as usize] = Class::Space;
    classes[b'\n' as usize] = Class::Space;
    classes[0x0c] = Class::Space;
    classes[b'\r' as usize] = Class::Space;
    classes[b' ' as usize] = Class::Space;
    classes[b'/' as usize] = Class::Slash;
    classes[b'=' as usize] = Class::Equals;
    classes[b'>' as usize] = Class::End;
    classes
};

#[inline]
fn class(byte: u8) -> Class {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(Class::Other)
}

#[inline]
fn is_space(byte: u8) -> bool {
    class(byte) == Class::Space
}

fn ends_name(byte: u8) -> bool {
    matches!(class(byte), Class::Space | Class::Slash | Class::End)
}

/// Where `byte` next is, from `at` on. Most are near: the call of `memchr` would cost more than
/// looking at some words first.
#[inline]
fn find(byte: u8, html: &[u8], mut at: usize) -> Option<usize> {
    const NEAR_WORDS: usize = 3;
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    for _ in 0..NEAR_WORDS {
        let Some(word) = html.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
        // A byte that is `byte` becomes zero; the lowest zero's high bit is exact.
        let differing = u64::from_le_bytes(*word) ^ (ONES * u64::from(byte));
        let zeros = differing.wrapping_sub(ONES) & !differing & HIGH_BITS;
        if zeros != 0 {
            return Some(at + (zeros.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    memchr(byte, html.get(at..)?).map(|found| at + found)
}

/// Where the name that begins at `at` ends; `None` where the page ends in it.
#[inline]
pub(crate) fn end_of_name(html: &[u8], at: usize) -> Option<usize> {
    Some(at + html.get(at..)?.iter().position(|byte| ends_name(*byte))?)
}

/// After the `>` of a tag whose attributes begin at `at`, and whether it says `/>`.
pub(crate) fn end_of_attributes(html: &[u8], mut at: usize) -> Option<(usize, bool)> {
    // Quotes mean something only right after the equals sign that ends a name.
    let mut has_name = false;
    loop {
        let name = html.get(at..)?.iter().take_while(|byte| class(**byte) == Class::Other).count();
        at += name;
        has_name |= name > 0;
        match class(*html.get(at)?) {
            Class::Other => {}
            // After a name, space may come before its equals sign.
            Class::Space => {}
            Class::Slash => has_name = false,
            Class::End => {
                let is_self_closing = !has_name && html.get(at - 1) == Some(&b'/');
                return Some((at + 1, is_self_closing));
            }
            Class::Equals if has_name => {
                at = end_of_value(html, at + 1)?;
                // A slash at its end is the value's own.
                if html.get(at) == Some(&b'>') {
                    return Some((at + 1, false));
                }
                has_name = false;
                continue;
            }
            Class::Equals => has_name = true,
        }
        at += 1;
    }
}

/// Where the value ends that is expected at `at`.
#[inline]
fn end_of_value(html: &[u8], mut at: usize) -> Option<usize> {
    while is_space(*html.get(at)?) {
        at += 1;
    }
    Some(match html.get(at)? {
        quote @ (b'"' | b'\'') => find(*quote, html, at + 1)? + 1,
        _ => at + html.get(at..)?.iter().position(|byte| is_space(*byte) || *byte == b'>')?,
    })
}

/// The length of a comment: `<!-->` and `<!--->` are whole, `--!>` ends one too.
pub(crate) fn end_of_comment(rest: &[u8]) -> Option<usize> {
    let inner = rest.get(4..)?;
    if inner.starts_with(b">") {
        return Some(5);
    }
    if inner.starts_with(b"->") {
        return Some(6);
    }
    let mut at = 4;
    loop {
        at += memmem::find(rest.get(at..)?, b"--")? + 2;
        match rest.get(at..)? {
            [b'>', ..] => return Some(at + 1),
            [b'!', b'>', ..] => return Some(at + 2),
            // The second dash may be the first of the next pair.
            _ => at -= 1,
        }
    }
}

/// Where `</name` stands that a space, a slash or a `>` follows.
pub(crate) fn end_tag(text: &[u8], name: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr(b'<', text.get(at..)?)?;
        if is_named(text.get(at + 1..)?.strip_prefix(b"/").unwrap_or_default(), name) {
            return Some(at);
        }
        at += 1;
    }
}

fn is_named(rest: &[u8], name: &[u8]) -> bool {
    rest.split_at_checked(name.len()).is_some_and(|(start, after)| {
        start.eq_ignore_ascii_case(name) && after.first().is_some_and(|byte| ends_name(*byte))
    })
}

/// Where the end tag of a script stands (13.2.5.15 to .31): in `<!-- <script>` it does not end it.
fn end_of_script(text: &[u8]) -> Option<usize> {
    #[derive(PartialEq)]
    enum State {
        Plain,
        Escaped,
        DoubleEscaped,
    }
    let mut state = State::Plain;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let found = match state {
            State::Plain => memchr(b'<', rest)?,
            _ => memchr::memchr2(b'<', b'-', rest)?,
        };
        at += found;
        let rest = text.get(at..)?;
        if rest.starts_with(b"-") {
            // Out of both escapes by two dashes or more and a `>`.
            let dashes = rest.iter().take_while(|byte| **byte == b'-').count();
            if dashes >= 2 && rest.get(dashes) == Some(&b'>') {
                state = State::Plain;
            }
            at += dashes;
            continue;
        }
        let is_end = rest.get(1) == Some(&b'/');
        let is_script = is_named(rest.get(1 + usize::from(is_end)..)?, b"script");
        match state {
            State::Plain | State::Escaped if is_end && is_script => return Some(at),
            State::Plain if rest.starts_with(b"<!--") => {
                state = State::Escaped;
                // Its dashes may be those of the end, as in `<!-->`.
                at += 1;
            }
            State::Escaped if !is_end && is_script => state = State::DoubleEscaped,
            State::DoubleEscaped if is_end && is_script => state = State::Escaped,
            _ => {}
        }
        at += 1;
    }
}
