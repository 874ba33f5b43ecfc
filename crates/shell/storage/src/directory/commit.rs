//! The only code that changes a directory store. It writes a temporary file, makes it durable,
//! locks the key, checks the condition, and moves the file to its path.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::Path,
};

use crate::{
    directory::{
        io_error, read,
        root::Root,
        staging::{self, Unfinished},
    },
    error::StorageError,
    store::{Condition, PutIf},
};

/// Maximum attempts of a write, because a concurrent deletion may remove the empty target
/// directory.
const TRIES_AGAINST_DELETIONS: u32 = 16;

#[derive(Debug)]
pub(super) enum NewContent<'a> {
    Bytes(&'a [u8]),
    File(&'a Path),
}

impl Root {
    pub(super) fn commit(
        &self,
        key: &str,
        content: &NewContent<'_>,
        condition: Option<&Condition>,
    ) -> Result<PutIf, StorageError> {
        let shown = self.path.join(key);
        let fault = |error: io::Error| io_error::from_io("write", &shown, &error);
        fs::create_dir_all(&self.path).map_err(fault)?;
        let mut unfinished = Unfinished::create(&self.path).map_err(fault)?;
        fill(&mut unfinished.file, content, &shown)?;
        if self.durable {
            unfinished.file.sync_all().map_err(fault)?;
        }
        let _lock = staging::lock_key(&self.path, key).map_err(fault)?;
        let mut tries = 0;
        let target = loop {
            tries += 1;
            let vanished = || fault(ErrorKind::NotFound.into());
            let Some(target) = self.path_for_writing(key)? else {
                if tries < TRIES_AGAINST_DELETIONS { continue } else { return Err(vanished()) }
            };
            match self.move_to(&target, key, &mut unfinished, condition)? {
                Ok(()) => break target,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    // The target is a directory, so no later write can succeed.
                    if target.is_dir() {
                        return Err(fault(ErrorKind::IsADirectory.into()));
                    }
                    return Ok(PutIf::PreconditionFailed);
                }
                Err(error)
                    if error.kind() == ErrorKind::NotFound && tries < TRIES_AGAINST_DELETIONS => {}
                Err(error) => return Err(fault(error)),
            }
        };
        if self.durable {
            sync_folder(&target).map_err(fault)?;
        }
        let NewContent::Bytes(bytes) = content else {
            return Ok(PutIf::Stored { etag: String::new() });
        };
        let metadata = unfinished.file.metadata().map_err(fault)?;
        Ok(PutIf::Stored { etag: read::etag_of_bytes(bytes, &metadata) })
    }

    /// Returns the error `AlreadyExists` if the condition does not hold.
    fn move_to(
        &self,
        target: &Path,
        key: &str,
        unfinished: &mut Unfinished,
        condition: Option<&Condition>,
    ) -> Result<io::Result<()>, StorageError> {
        match condition {
            None => Ok(unfinished.replace(target)),
            Some(Condition::Absent) => Ok(unfinished.create_at(target)),
            Some(Condition::Etag(expected)) if self.still_is(key, expected)? => {
                Ok(unfinished.replace(target))
            }
            Some(Condition::Etag(_)) => Ok(Err(ErrorKind::AlreadyExists.into())),
        }
    }

    fn still_is(&self, key: &str, expected: &str) -> Result<bool, StorageError> {
        match self.head(key) {
            Ok(info) => Ok(info.etag.as_deref() == Some(expected)),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn delete(&self, key: &str) -> Result<(), StorageError> {
        let shown = self.path.join(key);
        let fault = |error: io::Error| io_error::from_io("delete", &shown, &error);
        match self.has_object(key) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return Err(error),
        }
        let _lock = staging::lock_key(&self.path, key).map_err(fault)?;
        match fs::remove_file(&shown) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(fault(error)),
        }
        for folder in shown.ancestors().skip(1).take_while(|folder| *folder != self.path) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn has_object(&self, key: &str) -> Result<bool, StorageError> {
        let path = self.path.join(key);
        let (Ok(root), Some(parent)) = (self.path.canonicalize(), path.parent()) else {
            return Ok(false);
        };
        match parent.canonicalize() {
            Ok(parent) if !parent.starts_with(&root) => Err(io_error::outside("delete", &path)),
            Ok(_) => Ok(fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir())),
            Err(_) => Ok(false),
        }
    }
}

fn fill(file: &mut File, content: &NewContent<'_>, shown: &Path) -> Result<(), StorageError> {
    match content {
        NewContent::Bytes(bytes) => {
            file.write_all(bytes).map_err(|error| io_error::from_io("write", shown, &error))
        }
        NewContent::File(path) => {
            let mut source =
                File::open(path).map_err(|error| io_error::from_io("read", path, &error))?;
            // The kernel copies in pieces, so memory use is bounded for any file size.
            io::copy(&mut source, file)
                .map(|_| ())
                .map_err(|error| io_error::from_io("write", shown, &error))
        }
    }
}

fn sync_folder(target: &Path) -> io::Result<()> {
    target.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
