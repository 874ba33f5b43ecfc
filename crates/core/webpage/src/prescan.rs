//! Searches a page's first 1,024 bytes for a declared encoding (WHATWG HTML 13.2.3.2, "prescan a
//! byte stream to determine its encoding"). Like the standard, it does not parse HTML.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

pub(crate) fn prescan(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if bytes.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    Scan { bytes, at: 0 }.run().or_else(|| xml_encoding(bytes))
}

/// Reads an encoding from a `meta` element's `content` ("algorithm for extracting a character
/// encoding from a meta element").
pub(crate) fn encoding_in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        let at = rest.windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))?;
        rest = rest.get(at + 7..)?.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b"=") {
            rest = after.trim_ascii_start();
            break;
        }
    }
    let label = match rest.first()? {
        quote @ (b'"' | b'\'') => {
            let inner = rest.get(1..)?;
            inner.get(..inner.iter().position(|byte| byte == quote)?)?
        }
        _ => {
            let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
            rest.get(..rest.iter().position(ends).unwrap_or(rest.len()))?
        }
    };
    Encoding::for_label(label)
}

/// Replaces encodings that a `meta` element cannot declare: UTF-16 means UTF-8, and x-user-defined
/// means windows-1252.
pub(crate) fn as_declared_by_meta(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// Reads the encoding from an XML declaration ("get an XML encoding").
fn xml_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let declaration = bytes.strip_prefix(b"<?xml")?;
    let declaration = declaration.get(..declaration.iter().position(|byte| *byte == b'>')?)?;
    let at = declaration.windows(8).position(|window| window == b"encoding")?;
    let skip_low = |mut rest: &'_ [u8]| -> usize {
        let whole = rest.len();
        while let [0..=0x20, after @ ..] = rest {
            rest = after;
        }
        whole - rest.len()
    };
    let rest = declaration.get(at + 8..)?;
    let rest = rest.get(skip_low(rest)..)?.strip_prefix(b"=")?;
    let rest = rest.get(skip_low(rest)..)?;
    let (quote, rest) = rest.split_first()?;
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let label = rest.get(..rest.iter().position(|byte| byte == quote)?)?;
    if label.iter().any(|byte| *byte <= 0x20) {
        return None;
    }
    let encoding = Encoding::for_label(label)?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

struct Attribute {
    name: Vec<u8>,
    value: Vec<u8>,
}

/// The declaration in a `meta` element. With `need_pragma` but without `charset`, this is the
/// standard's "failure".
#[derive(Default)]
struct Meta {
    got_pragma: bool,
    need_pragma: Option<bool>,
    charset: Option<&'static Encoding>,
}

impl Scan<'_> {
    /// Returns `None` if nothing is declared or the bytes end, because the standard treats both
    /// alike.
    fn run(&mut self) -> Option<&'static Encoding> {
        while self.at < self.bytes.len() {
            let rest = self.bytes.get(self.at..)?;
            if rest.starts_with(b"<!--") {
                // The first two dashes may also be the last, as in `<!-->`.
                let end = rest.get(2..)?.windows(3).position(|window| window == b"-->")?;
                self.at += 2 + end + 2;
            } else if is_meta(rest) {
                self.at += 5;
                if let Some(encoding) = self.meta()? {
                    return Some(encoding);
                }
            } else if is_tag(rest) {
                let ends = |byte: &u8| is_space(*byte) || *byte == b'>';
                self.at += rest.iter().position(ends)?;
                while self.attribute()?.is_some() {}
            } else if let [b'<', b'!' | b'/' | b'?', ..] = rest {
                self.at += rest.iter().position(|byte| *byte == b'>')?;
            }
            self.at += 1;
        }
        None
    }

    /// The outer `None` means that the bytes end.
    fn meta(&mut self) -> Option<Option<&'static Encoding>> {
        let mut meta = Meta::default();
        let mut seen: Vec<Vec<u8>> = Vec::new();
        while let Some(Attribute { name, value }) = self.attribute()? {
            if seen.contains(&name) {
                continue;
            }
            match name.as_slice() {
                b"http-equiv" => meta.got_pragma |= value == b"content-type",
                b"content" => {
                    if let Some(encoding) = encoding_in_content(&value)
                        && meta.need_pragma.is_none()
                    {
                        meta.charset = Some(encoding);
                        meta.need_pragma = Some(true);
                    }
                }
                b"charset" => {
                    meta.charset = Encoding::for_label(&value);
                    meta.need_pragma = Some(false);
                }
                _ => {}
            }
            seen.push(name);
        }
        Some(match meta.need_pragma {
            None => None,
            Some(true) if !meta.got_pragma => None,
            Some(_) => meta.charset.map(as_declared_by_meta),
        })
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Reads an attribute ("get an attribute"). The outer `None` means that the bytes end, the
    /// inner one that the tag has no more attributes.
    fn attribute(&mut self) -> Option<Option<Attribute>> {
        while is_space(self.byte()?) || self.byte()? == b'/' {
            self.at += 1;
        }
        if self.byte()? == b'>' {
            return Some(None);
        }
        let (mut name, mut value) = (Vec::new(), Vec::new());
        loop {
            match self.byte()? {
                b'=' if !name.is_empty() => break,
                byte if is_space(byte) => break,
                b'/' | b'>' => return Some(Some(Attribute { name, value })),
                byte => name.push(byte.to_ascii_lowercase()),
            }
            self.at += 1;
        }
        self.skip_space()?;
        if self.byte()? != b'=' {
            return Some(Some(Attribute { name, value }));
        }
        self.at += 1;
        self.skip_space()?;
        match self.byte()? {
            quote @ (b'"' | b'\'') => {
                self.at += 1;
                while self.byte()? != quote {
                    value.push(self.byte()?.to_ascii_lowercase());
                    self.at += 1;
                }
                self.at += 1;
            }
            _ => {
                while !is_space(self.byte()?) && self.byte()? != b'>' {
                    value.push(self.byte()?.to_ascii_lowercase());
                    self.at += 1;
                }
            }
        }
        Some(Some(Attribute { name, value }))
    }

    fn skip_space(&mut self) -> Option<()> {
        while is_space(self.byte()?) {
            self.at += 1;
        }
        Some(())
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn is_meta(rest: &[u8]) -> bool {
    rest.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"<meta"))
        && rest.get(5).is_some_and(|byte| is_space(*byte) || *byte == b'/')
}

fn is_tag(rest: &[u8]) -> bool {
    matches!(rest, [b'<', letter, ..] | [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
