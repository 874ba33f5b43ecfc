//! Iterates over all records in an archive. Every byte belongs to a record, to padding, or to an
//! error item.

use std::io::{BufRead, BufReader};

use flate2::bufread::GzDecoder;

use super::{
    error::WarcError,
    limits::Limits,
    member::{GZIP_MAGIC, member_error},
    record::{self, Record, Truncation},
};

/// Iterator over a complete archive's records, each with the offset of its gzip member, or its own
/// offset if it is not compressed.
///
/// After an error item, this iterator continues at the next gzip member or plain record that starts
/// with `WARC/`. ARC or Zstandard data end it.
#[derive(Debug)]
pub struct Records<'a> {
    archive: &'a [u8],
    position: usize,
    limits: Limits,
    member: Option<OpenMember<'a>>,
}

#[derive(Debug)]
struct OpenMember<'a> {
    start: usize,
    reader: BufReader<GzDecoder<&'a [u8]>>,
}

type Item = (u64, Result<Record, WarcError>);

impl<'a> Records<'a> {
    /// Iterates over the records in the complete file `archive`.
    pub fn new(archive: &'a [u8], limits: Limits) -> Self {
        Self { archive, position: 0, limits, member: None }
    }

    fn rest(&self) -> &'a [u8] {
        self.archive.get(self.position..).unwrap_or_default()
    }

    fn next_in_member(&mut self, mut member: OpenMember<'a>) -> Option<Item> {
        let start = member.start;
        let read = record::read(&mut member.reader, self.limits).and_then(|read| {
            let Some((record, unread)) = read else { return Ok(None) };
            unread.skip(&mut member.reader)?;
            skip_line_ends(&mut member.reader)?;
            Ok(Some(record))
        });
        match read {
            Ok(Some(record)) => {
                self.member = Some(member);
                Some((start as u64, Ok(record)))
            }
            Ok(None) => {
                let after = member.reader.into_inner().into_inner();
                // Always advance by at least one byte, so that the iteration ends.
                self.position = (self.archive.len() - after.len()).max(start + 1);
                None
            }
            Err(error) => {
                let error = member_error(error, &mut member.reader, self.limits);
                Some(self.fail(start, error))
            }
        }
    }

    fn next_plain(&mut self) -> Item {
        let start = self.position;
        let mut rest = self.rest();
        let before = rest.len();
        match record::read(&mut rest, self.limits) {
            Ok(Some((record, unread))) => {
                if record.truncation == Some(Truncation::DataEnd) {
                    // The declared length may be wrong and span the following records.
                    self.position = find_record(self.archive, start + 1);
                } else {
                    let unread = usize::try_from(unread.0).unwrap_or(usize::MAX);
                    let read = (before - rest.len()).saturating_add(unread).max(1);
                    self.position = start.saturating_add(read);
                }
                (start as u64, Ok(record))
            }
            Ok(None) => {
                self.position = self.archive.len();
                (start as u64, Err(WarcError::Empty))
            }
            Err(error) => self.fail(start, error),
        }
    }

    fn fail(&mut self, start: usize, error: WarcError) -> Item {
        self.position = match error {
            WarcError::Arc | WarcError::Zstandard => self.archive.len(),
            _ => find_record(self.archive, start + 1),
        };
        (start as u64, Err(error))
    }
}

impl Iterator for Records<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(member) = self.member.take() {
                match self.next_in_member(member) {
                    Some(item) => return Some(item),
                    None => continue,
                }
            }
            self.position += self.rest().iter().take_while(|byte| is_padding(**byte)).count();
            let rest = self.rest();
            if rest.is_empty() {
                return None;
            }
            if !rest.starts_with(&GZIP_MAGIC) {
                return Some(self.next_plain());
            }
            let reader = BufReader::new(GzDecoder::new(rest));
            self.member = Some(OpenMember { start: self.position, reader });
        }
    }
}

/// At the end of a member, reading on also verifies its checksum.
fn skip_line_ends(reader: &mut impl BufRead) -> Result<(), WarcError> {
    loop {
        let bytes = reader.fill_buf().map_err(|error| WarcError::from_inflating(&error))?;
        let line_ends = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        reader.consume(line_ends);
        if line_ends == 0 {
            return Ok(());
        }
    }
}

/// Returns true for line ends, and for the zeros that block devices and copies may append to a
/// file.
fn is_padding(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n' | 0)
}

fn find_record(archive: &[u8], from: usize) -> usize {
    const NEEDLE: &[u8] = b"WARC/";
    let tail = archive.get(from..).unwrap_or_default();
    let found = tail.iter().enumerate().position(|(index, byte)| match byte {
        0x1f => starts_with_record(tail.get(index..).unwrap_or_default()),
        b'W' => {
            let follows_line_end = archive.get(from + index - 1) == Some(&b'\n');
            follows_line_end && tail.get(index..).is_some_and(|rest| rest.starts_with(NEEDLE))
        }
        _ => false,
    });
    found.map_or(archive.len(), |index| from + index)
}

fn starts_with_record(bytes: &[u8]) -> bool {
    /// How many compressed bytes are read to check a possible member. This must include its header
    /// and its first bytes.
    const CHECKED_BYTES: usize = 1_024;
    const RESERVED_FLAGS: u8 = 0xe0;
    let looks_so = bytes.starts_with(&GZIP_MAGIC)
        && bytes.get(3).is_some_and(|flags| flags & RESERVED_FLAGS == 0);
    if !looks_so {
        return false;
    }
    let mut start = [0; 5];
    let look = bytes.get(..CHECKED_BYTES).unwrap_or(bytes);
    let read = std::io::Read::read_exact(&mut GzDecoder::new(look), &mut start);
    read.is_ok() && start == *b"WARC/"
}
