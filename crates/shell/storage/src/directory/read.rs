//! Resolves keys to paths inside the root, and reads objects.

use std::{
    fs::{self, File, Metadata},
    io::{ErrorKind, Read, Seek, SeekFrom},
    ops::Range,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::{
    directory::{io_error, root::Root},
    error::{StorageError, StorageErrorKind},
    store::{ObjectInfo, Tagged, range_length, starts_past_the_end},
};

/// Up to this size, an object's version is a hash of its bytes, so that it does not depend on
/// clocks or inodes.
const HASHED_BYTES: u64 = 1 << 20;

impl Root {
    pub(super) fn check(&self) -> Result<(), StorageError> {
        let Err(error) = fs::read_dir(&self.path) else { return Ok(()) };
        let place = self.path.display().to_string();
        Err(match error.kind() {
            ErrorKind::NotFound => {
                let cause = "no such directory; create it or correct the URL";
                StorageError::new(StorageErrorKind::NotFound, "use", place, cause)
            }
            _ => io_error::from_io("use", &self.path, &error),
        })
    }

    pub(super) fn head(&self, key: &str) -> Result<ObjectInfo, StorageError> {
        let (file, metadata, path) = self.open_object(key)?;
        let etag =
            etag_of(file, &metadata).map_err(|error| io_error::from_io("read", &path, &error))?;
        Ok(ObjectInfo { key: key.to_owned(), size: metadata.len(), etag: Some(etag) })
    }

    pub(super) fn tagged(&self, key: &str) -> Result<Tagged, StorageError> {
        let (bytes, metadata) = self.read(key)?;
        let etag = etag_of_bytes(&bytes, &metadata);
        Ok(Tagged { bytes, etag })
    }

    pub(super) fn read(&self, key: &str) -> Result<(Bytes, Metadata), StorageError> {
        let (file, metadata, path) = self.open_object(key)?;
        if metadata.len() > self.max_get_bytes {
            return Err(too_large(&path, metadata.len(), self.max_get_bytes));
        }
        let bytes = read_exactly(file, metadata.len())
            .map_err(|error| io_error::from_io("read", &path, &error))?;
        Ok((bytes, metadata))
    }

    pub(super) fn read_range(&self, key: &str, range: &Range<u64>) -> Result<Bytes, StorageError> {
        let place = self.path.join(key).display().to_string();
        let length = range_length(&place, range, self.max_get_bytes)?;
        if length == 0 {
            return Ok(Bytes::new());
        }
        let (mut file, metadata, path) = self.open_object(key)?;
        if range.start >= metadata.len() {
            return Err(starts_past_the_end(&place, range));
        }
        let length = length.min(metadata.len() - range.start);
        file.seek(SeekFrom::Start(range.start))
            .and_then(|_| read_exactly(file, length))
            .map_err(|error| io_error::from_io("read", &path, &error))
    }

    fn open_object(&self, key: &str) -> Result<(File, Metadata, PathBuf), StorageError> {
        let path = self.path.join(key);
        let fault = |error: std::io::Error| self.read_fault(&path, &error);
        let real = path.canonicalize().map_err(fault)?;
        if !real.starts_with(self.path.canonicalize().map_err(fault)?) {
            return Err(io_error::outside("read", &path));
        }
        let file = File::open(&real).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        if !metadata.is_file() {
            return Err(StorageError::new(
                StorageErrorKind::NotFound,
                "read",
                path.display().to_string(),
                "it is not a file",
            ));
        }
        Ok((file, metadata, path))
    }

    fn read_fault(&self, path: &Path, error: &std::io::Error) -> StorageError {
        if error.kind() == ErrorKind::NotFound && !self.path.exists() {
            return StorageError::new(
                StorageErrorKind::NotFound,
                "read",
                path.display().to_string(),
                format!("the directory {} does not exist", self.path.display()),
            );
        }
        io_error::from_io("read", path, error)
    }

    /// Creates the directory of `key`, and checks that it is inside the root. `None` if a
    /// concurrent deletion removed the directory again.
    pub(super) fn path_for_writing(&self, key: &str) -> Result<Option<PathBuf>, StorageError> {
        let path = self.path.join(key);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io_error::outside("write", &path));
        };
        // Check this before creating directories, so that a link cannot make the store create them
        // elsewhere.
        let standing = parent.ancestors().find(|ancestor| ancestor.exists());
        match self.make_folder(standing.unwrap_or(&self.path), parent) {
            Ok(Some(folder)) => Ok(Some(folder.join(name))),
            Ok(None) => Err(io_error::outside("write", &path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            // Another writer created the directory first, and a deletion has removed it since then.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && !has_file_in(parent) => {
                Ok(None)
            }
            Err(error) => Err(io_error::from_io("write", &path, &error)),
        }
    }

    fn make_folder(&self, standing: &Path, folder: &Path) -> std::io::Result<Option<PathBuf>> {
        if !self.is_inside(standing)? {
            return Ok(None);
        }
        fs::create_dir_all(folder)?;
        Ok(if self.is_inside(folder)? { Some(folder.canonicalize()?) } else { None })
    }

    fn is_inside(&self, path: &Path) -> std::io::Result<bool> {
        Ok(path.canonicalize()?.starts_with(self.path.canonicalize()?))
    }
}

fn has_file_in(folder: &Path) -> bool {
    folder.ancestors().any(|ancestor| ancestor.exists() && !ancestor.is_dir())
}

pub(super) fn etag_of_bytes(bytes: &[u8], metadata: &Metadata) -> String {
    if metadata.len() > HASHED_BYTES {
        metadata_etag(metadata)
    } else {
        hex::encode(Sha256::digest(bytes))
    }
}

fn etag_of(file: File, metadata: &Metadata) -> std::io::Result<String> {
    if metadata.len() > HASHED_BYTES {
        return Ok(metadata_etag(metadata));
    }
    Ok(etag_of_bytes(&read_exactly(file, metadata.len())?, metadata))
}

/// A file is replaced rather than changed, so two versions that exist at the same time have
/// different inodes. The hash does not include the change time, because removing the temporary name
/// changes it.
fn metadata_etag(metadata: &Metadata) -> String {
    let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
    let facts = format!("{} {seconds} {nanoseconds} {}", metadata.len(), metadata.ino());
    hex::encode(Sha256::digest(facts.as_bytes()))
}

fn read_exactly(file: File, length: u64) -> std::io::Result<Bytes> {
    let capacity = usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::with_capacity(capacity);
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() != capacity {
        return Err(std::io::Error::other("the file shrank while it was read"));
    }
    Ok(Bytes::from(bytes))
}

fn too_large(path: &Path, size: u64, most: u64) -> StorageError {
    crate::store::too_large(&path.display().to_string(), size, most)
}
