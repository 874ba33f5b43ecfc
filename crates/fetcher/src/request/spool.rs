//! The icon bodies of one shard on disk, until the archive is written in canonical order.
//!
//! An unnamed temporary file: it is gone with the process, however that ends. Each distinct body
//! is in it once. Its size is bounded. What is added waits in memory until it is worth a write.
//! Must not know: what the bytes are, what an archive is.

use std::{
    collections::HashMap,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Where some bytes are in a spool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    offset: u64,
    bytes: usize,
}

impl Span {
    /// How many bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }
}

/// An icon in a spool: the head of the HTTP answer (empty for `data:` icons) and the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// See [`crate::fetched::Fetched::http_head`].
    pub head: Span,
    /// Decoded.
    pub body: Span,
}

/// More in memory is written by whoever added to it.
const PENDING_BYTES: usize = 256 * 1024;

struct Contents {
    end: u64,
    /// The bytes before `end` that are not in the file yet.
    pending: Vec<u8>,
    bodies: HashMap<[u8; 32], Span>,
}

/// A bounded temporary file of heads and distinct bodies.
pub struct Spool {
    file: File,
    max_bytes: u64,
    contents: Mutex<Contents>,
}

impl Spool {
    /// Makes an unnamed file in `folder`.
    ///
    /// # Errors
    /// The folder's.
    pub fn create(folder: &Path, max_bytes: u64) -> io::Result<Spool> {
        let file = tempfile::tempfile_in(folder)?;
        let contents = Mutex::new(Contents { end: 0, pending: Vec::new(), bodies: HashMap::new() });
        Ok(Spool { file, max_bytes, contents })
    }

    /// Adds an icon. A body that is there already costs nothing. Does not block: the caller is to
    /// ask [`Spool::wants_to_write`] afterwards.
    ///
    /// # Errors
    /// `StorageFull` at the bound.
    pub fn add(&self, head: &[u8], body: &[u8], sha256: [u8; 32]) -> io::Result<Payload> {
        // A panic cannot leave the contents half changed: nothing in here panics between changes.
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Whether so much waits that it is to be written.
    pub fn wants_to_write(&self) -> bool {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner).pending.len() > PENDING_BYTES
    }

    /// Writes what waits in memory. Blocks.
    ///
    /// # Errors
    /// The disk's; what waited goes on waiting.
    pub fn write_pending(&self) -> io::Result<()> {
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = contents.end - contents.pending.len() as u64;
        self.file.write_all_at(&contents.pending, begins)?;
        contents.pending.clear();
        Ok(())
    }

    /// Reads back what [`Spool::add`] put at `span`. Blocks.
    ///
    /// # Errors
    /// The disk's.
    pub fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        self.write_pending()?;
        let mut bytes = vec![0; span.bytes];
        self.file.read_exact_at(&mut bytes, span.offset)?;
        Ok(bytes)
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner).end
    }

    fn append(&self, contents: &mut Contents, bytes: &[u8]) -> io::Result<Span> {
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
    fn a_full_spool_says_so_and_keeps_what_it_has() {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = Spool::create(folder.path(), 10).expect("a spool");
        let kept = spool.add(b"", b"12345678", [1; 32]).expect("room");
        let full = spool.add(b"", b"12345678", [2; 32]).expect_err("no room");
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert_eq!(spool.read(kept.body).expect("read"), b"12345678");
    }
}
