//! Stores the icon bodies of one shard on disk, until the archive is written in canonical order.
//!
//! A spool is an unnamed temporary file, which the kernel removes even if the process is killed.

use std::{collections::HashMap, fs::File, io, os::unix::fs::FileExt, path::Path};

use parking_lot::Mutex;

/// A byte range in a spool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    offset: u64,
    bytes: usize,
}

impl Span {
    /// Returns the length in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }
}

/// An icon in a spool: the head of the HTTP response and the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The head, as in [`FetchResult::http_head`](crate::FetchResult::http_head). Empty for `data:`
    /// icons.
    pub head: Span,
    /// The decoded body.
    pub body: Span,
}

/// If more bytes than this are in memory, [`Spool::wants_to_write`] returns true.
const PENDING_BYTES: usize = 256 * 1024;

struct SpoolState {
    end: u64,
    pending: Vec<u8>,
    bodies: HashMap<[u8; 32], Span>,
}

/// A bounded temporary file that holds response heads and distinct bodies.
pub struct Spool {
    file: File,
    max_bytes: u64,
    contents: Mutex<SpoolState>,
}

impl Spool {
    /// Creates an unnamed file in the directory `folder`. It may grow to `max_bytes`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(folder: &Path, max_bytes: u64) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        let contents =
            Mutex::new(SpoolState { end: 0, pending: Vec::new(), bodies: HashMap::new() });
        Ok(Self { file, max_bytes, contents })
    }

    /// Adds an icon. A body that was added before takes no further space. The caller must check
    /// [`Spool::wants_to_write`] afterwards, because this does not write.
    ///
    /// # Errors
    /// Returns `StorageFull` if the spool would exceed its limit.
    pub fn add(&self, head: &[u8], body: &[u8], sha256: [u8; 32]) -> io::Result<Payload> {
        let mut contents = self.contents.lock();
        let head = self.append(&mut contents, head)?;
        let body = match contents.bodies.get(&sha256) {
            Some(known) => *known,
            None => {
                let span = self.append(&mut contents, body)?;
                contents.bodies.insert(sha256, span);
                span
            }
        };
        Ok(Payload { head, body })
    }

    /// Returns whether the caller should call [`Spool::write_pending`].
    pub fn wants_to_write(&self) -> bool {
        self.contents.lock().pending.len() > PENDING_BYTES
    }

    /// Writes the bytes in memory to the file. This blocks.
    ///
    /// # Errors
    /// Returns an error if the disk fails. The bytes then remain in memory.
    pub fn write_pending(&self) -> io::Result<()> {
        let mut contents = self.contents.lock();
        let begin = contents.end - contents.pending.len() as u64;
        self.file.write_all_at(&contents.pending, begin)?;
        contents.pending.clear();
        Ok(())
    }

    /// Reads a range that [`Spool::add`] returned. This blocks.
    ///
    /// # Errors
    /// Returns an error if the disk fails.
    pub fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        self.write_pending()?;
        let mut bytes = vec![0; span.bytes];
        self.file.read_exact_at(&mut bytes, span.offset)?;
        Ok(bytes)
    }

    /// Returns the size of the added data, in bytes.
    pub fn bytes(&self) -> u64 {
        self.contents.lock().end
    }

    fn append(&self, contents: &mut SpoolState, bytes: &[u8]) -> io::Result<Span> {
        let span = Span { offset: contents.end, bytes: bytes.len() };
        let end = contents.end.saturating_add(bytes.len() as u64);
        if end > self.max_bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        contents.pending.extend_from_slice(bytes);
        contents.end = end;
        Ok(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_bodies_are_kept_once_and_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = Spool::create(folder.path(), 1_000).expect("a spool");
        let first = spool.add(b"head 1", b"body", [1; 32]).expect("room");
        let again = spool.add(b"head 2", b"body", [1; 32]).expect("room");
        let other = spool.add(b"", b"other", [2; 32]).expect("room");
        assert_eq!(first.body, again.body);
        assert_eq!(spool.bytes(), 6 + 4 + 6 + 5);
        assert_eq!(spool.read(again.head).expect("read"), b"head 2");
        assert_eq!(spool.read(other.body).expect("read"), b"other");
        assert_eq!(spool.read(other.head).expect("read"), b"");
    }

    #[test]
    fn a_full_spool_returns_an_error_and_keeps_its_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = Spool::create(folder.path(), 10).expect("a spool");
        let kept = spool.add(b"", b"12345678", [1; 32]).expect("room");
        let full = spool.add(b"", b"12345678", [2; 32]).expect_err("no room");
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert_eq!(spool.read(kept.body).expect("read"), b"12345678");
    }
}
