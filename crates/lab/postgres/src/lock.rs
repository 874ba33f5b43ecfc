//! The lock that gives a directory one owner. The kernel releases it when the owner exits. The file
//! contains the owner's process ID.

use std::{
    fs::{self, File},
    io::{Read, Seek, Write},
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::error::PostgresError;

/// How long to wait for the lock of an owner that has exited, because a forked child holds it until
/// its exec.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the lock in `dir`. If another process holds it, waits only if its owner has exited.
    pub(crate) fn take(dir: &Path) -> Result<Self, PostgresError> {
        let path = dir.join("lock");
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(PostgresError::io("open", &path))?;
        let deadline = Instant::now() + RELEASE_TIMEOUT;
        while let Err(error) = file.try_lock() {
            if let fs::TryLockError::Error(source) = error {
                return Err(PostgresError::io("lock", &path)(source));
            }
            let mut holder = String::new();
            let read = file.rewind().and_then(|()| file.read_to_string(&mut holder));
            let holder = holder.trim();
            // A forked child of a killed owner will soon release the lock.
            let gone = read.is_ok() && !Path::new("/proc").join(holder).join("exe").exists();
            if !gone || Instant::now() > deadline {
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
    fn a_directory_has_one_owner_and_the_error_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(dir.path()).unwrap();
        let error = FolderLock::take(dir.path()).unwrap_err().to_string();
        let expected = format!("already in use by process {}", std::process::id());
        assert!(error.ends_with(&expected), "{error}");
        drop(lock);
        FolderLock::take(dir.path()).unwrap();
    }
}
