//! Finds a page's tags, as byte offsets, by the tokenization rules that affect them (WHATWG HTML
//! 13.2.5).

use std::ops::Range;

use memchr::{memchr, memmem};

pub(crate) type ByteRange = Range<usize>;

/// Position of a complete tag. A tag that is cut off by the end of the page does not count.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    pub(crate) start: usize,
    name_end: usize,
    pub(crate) end: usize,
    pub(crate) is_end_tag: bool,
    pub(crate) is_self_closing: bool,
}

impl Tag {
    #[inline]
    pub(crate) fn name<'a>(&self, html: &'a [u8]) -> &'a [u8] {
        html.get(self.name_span()).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn name_span(&self) -> ByteRange {
        self.start + 1 + usize::from(self.is_end_tag)..self.name_end
    }

    pub(crate) fn attributes<'a>(&self, html: &'a [u8]) -> Attributes<'a> {
        Attributes { html: html.get(..self.end).unwrap_or(html), at: self.name_end }
    }
}

pub(crate) enum RawText {
    /// Text that ends at the end tag with this name (RCDATA and RAWTEXT).
    UntilEndTag(&'static [u8]),
    /// Text that ends at the script's end tag, except in its escapes (script data).
    Script,
    /// Text that ends with the page (PLAINTEXT).
    ToTheEnd,
}

impl RawText {
    pub(crate) fn length(&self, content: &[u8]) -> Option<usize> {
        match self {
            Self::UntilEndTag(name) => end_tag(content, name),
            Self::Script => end_of_script(content),
            Self::ToTheEnd => None,
        }
    }
}

pub(crate) struct Tokens<'a> {
    html: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(html: &'a [u8]) -> Self {
        Self { html, at: 0 }
    }

    /// Offsets are relative to the page.
    pub(crate) fn within(html: &'a [u8], range: &ByteRange) -> Self {
        Self { html: html.get(..range.end).unwrap_or(html), at: range.start }
    }

    fn rest(&self) -> &'a [u8] {
        self.html.get(self.at..).unwrap_or_default()
    }

    /// Returns the next tag. `is_foreign` must be true if the current node is not an HTML element,
    /// because only then do CDATA sections exist.
    // Inline this, because a call per tag would take a tenth of the time.
    #[inline(always)]
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

    /// Returns the offset after any markup that starts with `<!`.
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

    /// Skips the text and the end tag for the element whose start tag was just read. Returns this
    /// text's range.
    pub(crate) fn skip_raw_text(&mut self, raw: &RawText) -> ByteRange {
        let start = self.at;
        let end = raw.length(self.rest()).map_or(self.html.len(), |length| start + length);
        self.at = end;
        // An end tag that is cut off by the end of the page also ends this text.
        if end < self.html.len() && self.next(false).is_none() {
            self.at = self.html.len();
        }
        start..end
    }
}

/// Passes the text between two tags to `show`, without comments, declarations and processing
/// instructions.
pub(crate) fn texts(html: &[u8], range: &ByteRange, mut show: impl FnMut(ByteRange)) {
    let mut tokens = Tokens::within(html, range);
    let mut start = range.start;
    while let Some(found) = memchr(b'<', tokens.rest()) {
        tokens.at += found;
        let at = tokens.at;
        let byte = |offset: usize| tokens.html.get(at + offset).copied();
        let is_letter = |offset: usize| byte(offset).is_some_and(|b| b.is_ascii_alphabetic());
        let after = match byte(1) {
            Some(b'!') => tokens.past_declaration(false),
            Some(b'?') => tokens.past(b'>'),
            Some(b'/') if is_letter(2) => end_of_name(tokens.html, at + 2)
                .and_then(|end| end_of_attributes(tokens.html, end))
                .map(|(end, _)| end),
            Some(b'/') if byte(2).is_some() => tokens.past(b'>'),
            Some(_) if is_letter(1) => None,
            _ => {
                tokens.at += 1;
                continue;
            }
        };
        show(start..at);
        let Some(after) = after else { return };
        (tokens.at, start) = (after, after);
    }
    show(start..range.end.min(html.len()));
}

/// Iterates over a tag's attributes as written. The value's range is empty for an attribute without
/// a value.
pub(crate) struct Attributes<'a> {
    html: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], ByteRange);

    fn next(&mut self) -> Option<Self::Item> {
        let skipped = |from: usize, skips: fn(u8) -> bool| {
            let rest = self.html.get(from..).unwrap_or_default();
            from + rest.iter().position(|byte| !skips(*byte)).unwrap_or(rest.len())
        };
        let start = skipped(self.at, |byte| is_space(byte) || byte == b'/');
        if matches!(self.html.get(start), None | Some(b'>')) {
            return None;
        }
        // An equals sign may start a name, but ends it at any other position.
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Other,
    Space,
    Slash,
    Equals,
    End,
}

static CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass::Other; 256];
    classes[b'\t' as usize] = ByteClass::Space;
    classes[b'\n' as usize] = ByteClass::Space;
    classes[0x0c] = ByteClass::Space;
    classes[b'\r' as usize] = ByteClass::Space;
    classes[b' ' as usize] = ByteClass::Space;
    classes[b'/' as usize] = ByteClass::Slash;
    classes[b'=' as usize] = ByteClass::Equals;
    classes[b'>' as usize] = ByteClass::End;
    classes
};

#[inline]
fn class(byte: u8) -> ByteClass {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(ByteClass::Other)
}

#[inline]
fn is_space(byte: u8) -> bool {
    class(byte) == ByteClass::Space
}

fn ends_name(byte: u8) -> bool {
    matches!(class(byte), ByteClass::Space | ByteClass::Slash | ByteClass::End)
}

/// The next `byte` is usually near, so examining a few words first is cheaper than calling
/// `memchr`.
#[inline]
fn find(byte: u8, html: &[u8], mut at: usize) -> Option<usize> {
    /// Number of 8-byte words to examine before calling `memchr`.
    const NEAR_WORDS: usize = 3;
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    for _ in 0..NEAR_WORDS {
        let Some(word) = html.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
        // Bytes equal to `byte` become zero. The high bit of the lowest zero byte is exact.
        let differing = u64::from_le_bytes(*word) ^ (ONES * u64::from(byte));
        let zeros = differing.wrapping_sub(ONES) & !differing & HIGH_BITS;
        if zeros != 0 {
            return Some(at + (zeros.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    memchr(byte, html.get(at..)?).map(|found| at + found)
}

#[inline]
pub(crate) fn end_of_name(html: &[u8], at: usize) -> Option<usize> {
    Some(at + html.get(at..)?.iter().position(|byte| ends_name(*byte))?)
}

/// Returns the offset after a tag's `>`, and whether this tag is self-closing.
pub(crate) fn end_of_attributes(html: &[u8], mut at: usize) -> Option<(usize, bool)> {
    // Quotes are special only directly after the equals sign that ends a name.
    let mut has_name = false;
    loop {
        let name =
            html.get(at..)?.iter().take_while(|byte| class(**byte) == ByteClass::Other).count();
        at += name;
        has_name |= name > 0;
        match class(*html.get(at)?) {
            ByteClass::Other => {}
            // Whitespace may separate a name from its equals sign.
            ByteClass::Space => {}
            ByteClass::Slash => has_name = false,
            ByteClass::End => {
                let is_self_closing = !has_name && html.get(at - 1) == Some(&b'/');
                return Some((at + 1, is_self_closing));
            }
            ByteClass::Equals if has_name => {
                at = end_of_value(html, at + 1)?;
                // A slash at the end of a value belongs to the value.
                if html.get(at) == Some(&b'>') {
                    return Some((at + 1, false));
                }
                has_name = false;
                continue;
            }
            ByteClass::Equals => has_name = true,
        }
        at += 1;
    }
}

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

/// `<!-->` and `<!--->` are complete comments, and `--!>` also ends a comment.
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
            // The second dash may be the first dash of the next pair.
            _ => at -= 1,
        }
    }
}

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

/// After `<!-- <script>`, an end tag does not end the script (13.2.5.15 to .31).
fn end_of_script(text: &[u8]) -> Option<usize> {
    #[derive(PartialEq)]
    enum ScriptState {
        Plain,
        Escaped,
        DoubleEscaped,
    }
    let mut state = ScriptState::Plain;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let found = match state {
            ScriptState::Plain => memchr(b'<', rest)?,
            _ => memchr::memchr2(b'<', b'-', rest)?,
        };
        at += found;
        let rest = text.get(at..)?;
        if rest.starts_with(b"-") {
            // Two or more dashes and a `>` end both escapes.
            let dashes = rest.iter().take_while(|byte| **byte == b'-').count();
            if dashes >= 2 && rest.get(dashes) == Some(&b'>') {
                state = ScriptState::Plain;
            }
            at += dashes;
            continue;
        }
        let is_end = rest.get(1) == Some(&b'/');
        let is_script = is_named(rest.get(1 + usize::from(is_end)..)?, b"script");
        match state {
            ScriptState::Plain | ScriptState::Escaped if is_end && is_script => return Some(at),
            ScriptState::Plain if rest.starts_with(b"<!--") => {
                state = ScriptState::Escaped;
                // Its dashes may also end the comment, as in `<!-->`.
                at += 1;
            }
            ScriptState::Escaped if !is_end && is_script => state = ScriptState::DoubleEscaped,
            ScriptState::DoubleEscaped if is_end && is_script => state = ScriptState::Escaped,
            _ => {}
        }
        at += 1;
    }
}
