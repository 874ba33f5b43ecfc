//! The lock that gives one folder one owner.
//!
//! The kernel lets go of it when the owner ends in whatever way. The file holds the owner's process
//! number, for people; nothing is decided by it but how long to be patient.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::PostgresError;

/// Between its fork and its exec a child holds the locks of its parent, alive or dead.
const GOING: Duration = Duration::from_secs(5);

/// Held while the folder is ours; the kernel lets go of it when the process ends.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the lock of `dir`, or says who holds it. Waits only for the dead.
    pub(crate) fn take(dir: &Path) -> Result<Self, PostgresError> {
        let path = dir.join("lock");
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(PostgresError::io("open", &path))?;
        let patience = Instant::now() + GOING;
        while let Err(error) = file.try_lock() {
            if let fs::TryLockError::Error(source) = error {
                return Err(PostgresError::io("lock", &path)(source));
            }
            let mut holder = String::new();
            let read = file.rewind().and_then(|()| file.read_to_string(&mut holder));
            let holder = holder.trim();
            // A killed owner may have left a forked child, which lets go in a moment.
            let gone = read.is_ok() && !Path::new("/proc").join(holder).join("exe").exists();
            if !gone || Instant::now() > patience {
                let holder = if holder.is_empty() { "?" } else { holder }.to_owned();
                return Err(PostgresError::InUse { dir: dir.to_path_buf(), holder });
            }
            sleep(Duration::from_millis(10));
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(PostgresError::io("write", &path))?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_has_one_owner_and_the_second_is_told_who() {
        let dir = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(dir.path()).unwrap();
        let error = FolderLock::take(dir.path()).unwrap_err().to_string();
        let expected = format!("already in use by process {}", std::process::id());
        assert!(error.ends_with(&expected), "{error}");
        drop(lock);
        FolderLock::take(dir.path()).unwrap();
    }
}
