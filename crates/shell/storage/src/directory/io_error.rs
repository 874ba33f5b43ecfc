//! Maps errors of the operating system to storage errors, with advice for the operator.

use std::{
    io::{Error, ErrorKind},
    path::Path,
};

use crate::error::{StorageError, StorageErrorKind};

pub(super) fn from_io(action: &'static str, place: &Path, error: &Error) -> StorageError {
    let (kind, remedy) = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory if action == "read" => {
            (StorageErrorKind::NotFound, "")
        }
        ErrorKind::PermissionDenied => {
            (StorageErrorKind::Denied, "; let this user read and write there, or choose another")
        }
        ErrorKind::ReadOnlyFilesystem => {
            (StorageErrorKind::Denied, "; choose a directory that can be written")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            (StorageErrorKind::NoSpace, "; free some space there or choose another disk")
        }
        ErrorKind::InvalidFilename => {
            (StorageErrorKind::Invalid, "; file names have at most 255 bytes")
        }
        ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::AlreadyExists
        | ErrorKind::DirectoryNotEmpty => (
            StorageErrorKind::Invalid,
            "; a directory cannot hold an object and a directory with the same name",
        ),
        ErrorKind::Unsupported => {
            (StorageErrorKind::Other, "; the file system lacks locks, choose another")
        }
        // An unavailable network file system may become available again.
        ErrorKind::StaleNetworkFileHandle
        | ErrorKind::TimedOut
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable => (StorageErrorKind::Unreachable, ""),
        _ => (StorageErrorKind::Other, ""),
    };
    let place = place.display().to_string();
    StorageError::new(kind, action, place, format!("{error}{remedy}"))
}

pub(super) fn outside(action: &'static str, place: &Path) -> StorageError {
    StorageError::new(
        StorageErrorKind::Denied,
        action,
        place.display().to_string(),
        "a symbolic link leads out of the store; remove the link",
    )
}
