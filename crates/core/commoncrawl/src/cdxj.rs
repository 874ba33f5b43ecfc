//! Writes a live crawl's index in the format that pywb and Common Crawl's index server read.
//!
//! ```text
//! com,example)/a 20251231235959 {"url": "https://example.com/a", "mime": "text/html", ...}
//! ```
//!
//! A ZipNum file consists of gzip members with up to [`LINES_PER_BLOCK`] sorted lines. A line of
//! `cluster.idx` has a member's first key and time, file, offset, length and number.

use std::io::Write;

use crate::{
    gzip::gzip_member,
    index::write::{CaptureOrder, CaptureRow, CaptureRowError, CheckedRow, shortened},
};

/// Maximum lines in a gzip member. This is also the limit in Common Crawl and pywb.
pub const LINES_PER_BLOCK: usize = 3_000;
/// A member also ends when its uncompressed lines reach this many bytes.
pub const MAX_BLOCK_BYTES: usize = 16 << 20;

/// Why an index cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CdxjError {
    /// This row cannot be in an index.
    #[error(transparent)]
    Row(#[from] CaptureRowError),
    /// A row sorts before the last one written.
    #[error("captures are not sorted: {url:?} must precede the previous capture")]
    Unsorted {
        /// First 200 characters of this row's URL.
        url: String,
    },
    /// The first key of this file sorts before the last key of the previous file.
    #[error("{file} starts before the end of another file: sort the files by key")]
    UnsortedFiles {
        /// File name.
        file: String,
    },
    /// Writing to the output failed.
    #[error("cannot write the index: {0}")]
    Output(#[from] std::io::Error),
}

/// A gzip member in a ZipNum file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdxjBlock {
    /// The first line's key and time, separated by a space.
    pub first: String,
    /// The last line's key and time, separated by a space.
    pub last: String,
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// A ZipNum file's blocks, for `cluster.idx`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdxjFile {
    /// File name, such as `cdx-00000.gz`.
    pub file: String,
    /// This file's gzip members, in order.
    pub blocks: Vec<CdxjBlock>,
}

/// Writes one ZipNum file to `output`.
pub struct CdxjWriter<W> {
    output: W,
    lines: Vec<u8>,
    line_count: usize,
    first: String,
    place: String,
    last: Option<CaptureOrder>,
    offset: u64,
    blocks: Vec<CdxjBlock>,
}

impl<W: Write> CdxjWriter<W> {
    /// Starts a file.
    pub fn new(output: W) -> Self {
        Self {
            output,
            lines: Vec::new(),
            line_count: 0,
            first: String::new(),
            place: String::new(),
            last: None,
            offset: 0,
            blocks: Vec::new(),
        }
    }

    /// Adds a row. Rows must be in ascending [`CaptureRow::order`].
    ///
    /// # Errors
    /// Returns an error if this row is invalid or out of order, or if the output fails.
    pub fn write(&mut self, row: &CaptureRow<'_>) -> Result<(), CdxjError> {
        let checked = row.checked()?;
        let order = checked.order();
        if self.last.as_ref().is_some_and(|last| *last > order) {
            return Err(CdxjError::Unsorted { url: shortened(row.url) });
        }
        self.last = Some(order);
        self.place = format!("{} {}", checked.key, checked.timestamp);
        if self.line_count == 0 {
            self.first.clone_from(&self.place);
        }
        self.lines.extend_from_slice(line(&checked).as_bytes());
        self.line_count += 1;
        if self.line_count >= LINES_PER_BLOCK || self.lines.len() >= MAX_BLOCK_BYTES {
            self.write_block()?;
        }
        Ok(())
    }

    /// Writes the remaining lines. Returns the output and the blocks for `cluster.idx`.
    ///
    /// # Errors
    /// Returns an error if the output fails.
    pub fn finish(mut self, file: &str) -> Result<(W, CdxjFile), CdxjError> {
        if self.line_count > 0 {
            self.write_block()?;
        }
        self.output.flush()?;
        Ok((self.output, CdxjFile { file: file.to_owned(), blocks: self.blocks }))
    }

    fn write_block(&mut self) -> Result<(), CdxjError> {
        let member = gzip_member(&self.lines);
        self.output.write_all(&member)?;
        let length = member.len() as u64;
        let (first, last) = (std::mem::take(&mut self.first), self.place.clone());
        self.blocks.push(CdxjBlock { first, last, offset: self.offset, length });
        self.offset += length;
        self.lines.clear();
        self.line_count = 0;
        Ok(())
    }
}

/// Returns a capture's line, including its line end.
///
/// # Errors
/// Returns an error if this row is invalid.
pub fn cdxj_line(row: &CaptureRow<'_>) -> Result<String, CaptureRowError> {
    row.checked().map(|checked| line(&checked))
}

/// Returns the `cluster.idx` for files that are sorted by key.
///
/// # Errors
/// Returns an error if these files are not sorted.
pub fn cluster_index(files: &[CdxjFile]) -> Result<Vec<u8>, CdxjError> {
    let mut lines = String::new();
    let mut number = 0_u64;
    let mut last: &str = "";
    for CdxjFile { file, blocks } in files {
        for CdxjBlock { first, last: end, offset, length } in blocks {
            if first.as_str() < last {
                return Err(CdxjError::UnsortedFiles { file: file.clone() });
            }
            number += 1;
            lines.push_str(&format!("{first}\t{file}\t{offset}\t{length}\t{number}\n"));
            last = end;
        }
    }
    Ok(lines.into_bytes())
}

fn line(checked: &CheckedRow<'_>) -> String {
    let row = &checked.row;
    let [status, length, offset] =
        [u64::from(row.status), row.position.length, row.position.offset]
            .map(|number| number.to_string());
    let fields = [
        ("url", Some(row.url)),
        ("mime", row.mime_type),
        ("mime-detected", row.mime_detected),
        ("status", Some(&*status)),
        ("digest", row.digest),
        ("length", Some(&*length)),
        ("offset", Some(&*offset)),
        ("filename", Some(row.warc_filename)),
        ("charset", row.charset),
        ("languages", row.languages),
        ("truncated", row.truncated),
        ("redirect", row.redirect),
    ];
    let mut line = format!("{} {} {{", checked.key, checked.timestamp);
    let known = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
    for (nth, (name, value)) in known.enumerate() {
        let separator = if nth == 0 { "" } else { ", " };
        line.push_str(&format!("{separator}\"{name}\": "));
        push_json_text(&mut line, value);
    }
    line.push_str("}\n");
    line
}

fn push_json_text(line: &mut String, text: &str) {
    line.push('"');
    for character in text.chars() {
        match character {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            ' '..='~' => line.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    line.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings_are_ascii_and_round_trip() {
        for text in ["", "a b", "\"\\/\n\u{0}\u{7f}", "é", "日本", "😀"] {
            let mut json = String::new();
            push_json_text(&mut json, text);
            assert!(json.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn unsorted_files_are_rejected_by_name() {
        let block = |first: &str, last: &str| CdxjBlock {
            first: first.to_owned(),
            last: last.to_owned(),
            offset: 5,
            length: 7,
        };
        let file = |file: &str, blocks| CdxjFile { file: file.to_owned(), blocks };
        let (a, b) = (block("a)/ 1", "b)/ 2"), block("b)/ 2", "c)/ 3"));
        let files =
            [file("cdx-00000.gz", vec![a]), file("x", vec![]), file("cdx-00001.gz", vec![b])];
        let text = "a)/ 1\tcdx-00000.gz\t5\t7\t1\nb)/ 2\tcdx-00001.gz\t5\t7\t2\n";
        assert_eq!(cluster_index(&files).unwrap(), text.as_bytes());
        let [first, _, second] = files;
        let error = cluster_index(&[second, first]).unwrap_err();
        assert!(error.to_string().starts_with("cdx-00000.gz starts"), "{error}");
    }
}
