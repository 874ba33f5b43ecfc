//! Parses headers as leniently as real archives require. Names are in lower case.

/// Maximum headers to store. Headers beyond this limit are only counted.
const MAX_FIELDS: usize = 2_000;

/// Parsed headers in their original order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers {
    fields: Vec<(String, Vec<u8>)>,
    dropped: usize,
}

impl Headers {
    pub(super) fn parse(lines: &[u8]) -> Self {
        let mut headers = Self::default();
        let mut can_continue = false;
        for line in lines.split(|byte| *byte == b'\n') {
            let line = without_line_end(line);
            if line.is_empty() {
                break;
            }
            if line.starts_with(b" ") || line.starts_with(b"\t") {
                if let Some((_, value)) = headers.fields.last_mut().filter(|_| can_continue) {
                    if !value.is_empty() {
                        value.push(b' ');
                    }
                    value.extend_from_slice(line.trim_ascii());
                }
                continue;
            }
            can_continue = headers.add_line(line);
        }
        headers
    }

    fn add_line(&mut self, line: &[u8]) -> bool {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
        let (name, value) = line.split_at(colon);
        let name = name.trim_ascii();
        if name.is_empty() {
            return false;
        }
        if self.fields.len() >= MAX_FIELDS {
            self.dropped += 1;
            return false;
        }
        let value = value.strip_prefix(b":").unwrap_or(value);
        let name = isomorphic(name).to_ascii_lowercase();
        self.fields.push((name, value.trim_ascii().to_vec()));
        true
    }

    /// Returns all headers in order. Names are in lower case.
    pub fn fields(&self) -> &[(String, Vec<u8>)] {
        &self.fields
    }

    /// Returns the first value with this header name, which must be in lower case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let field = self.fields.iter().find(|(other, _)| other == name);
        field.map(|(_, value)| value.as_slice())
    }

    /// Iterates over all values with this header name, which must be in lower case.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let fields = self.fields.iter().filter(move |(other, _)| other == name);
        fields.map(|(_, value)| value.as_slice())
    }

    /// Returns the first value with this header name. Each byte is decoded to one code point.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(isomorphic)
    }

    /// Returns how many headers were dropped due to the limit.
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}

pub(super) fn isomorphic(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// Removes all CRs at the end of a line, because some archives contain lines that end with two.
pub(super) fn without_line_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r'] = line {
        line = rest;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[u8]) -> Vec<(String, String)> {
        let headers = Headers::parse(lines);
        headers.fields.iter().map(|(name, value)| (name.clone(), isomorphic(value))).collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn names_are_lower_case_duplicates_are_kept_and_folds_joined() {
        let lines = b"Set-Cookie: a\r\nSET-COOKIE:b\nX:\r\n\t folded \r\n  more\r\r\n\r\nbody: no";
        assert_eq!(
            fields(lines),
            [pair("set-cookie", "a"), pair("set-cookie", "b"), pair("x", "folded more")]
        );
    }

    #[test]
    fn lines_without_a_colon_are_skipped_with_their_continuations() {
        let lines = b" lost\nA: 1\nnonsense\n  lost too\n: no name\nB : 2\nC: \xe9\n";
        assert_eq!(fields(lines), [pair("a", "1"), pair("b", "2"), pair("c", "\u{e9}")]);
    }

    #[test]
    fn too_many_fields_are_counted() {
        let headers = Headers::parse(&b"a:b\n".repeat(2_003));
        assert_eq!((headers.fields().len(), headers.dropped()), (2_000, 3));
    }
}
