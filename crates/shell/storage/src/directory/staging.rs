//! Unfinished files and locks of a directory store.
//!
//! Unfinished files (`new-<uuid>`) and lock files are in `.everytab-store/` below the root. All
//! locks are flock(2), so the kernel releases them when their process exits. A writer holds the
//! shared lock of `lock-staging` while it creates and locks its `new-` file, and the cleaner holds
//! it exclusively while it checks these files. An unlocked `new-` file therefore belongs to a dead
//! writer, and the cleaner removes it regardless of its age.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::key::RESERVED_FOLDER;

const UNFINISHED: &str = "new-";
/// Number of lock files. Writers whose keys share a lock file wait for each other.
const KEY_LOCKS: u64 = 64;

/// Dropping it removes the file, unless the file was moved to its path.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) file: File,
    path: PathBuf,
    moved: bool,
}

impl Unfinished {
    pub(super) fn create(root: &Path) -> io::Result<Self> {
        let folder = root.join(RESERVED_FOLDER);
        fs::create_dir_all(&folder)?;
        let staging_lock = open_lock(&folder.join("lock-staging"))?;
        staging_lock.lock_shared()?;
        let path = folder.join(format!("{UNFINISHED}{}", uuid::Uuid::new_v4()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let unfinished = Self { file, path, moved: false };
        unfinished.file.lock()?;
        Ok(unfinished)
    }

    pub(super) fn replace(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.moved = true;
        Ok(())
    }

    /// Moves the file to `target`, or returns `AlreadyExists`. The caller holds the key's lock, so
    /// this is also safe on file systems without hard links.
    pub(super) fn create_at(&mut self, target: &Path) -> io::Result<()> {
        match fs::hard_link(&self.path, target) {
            Ok(()) => Ok(()), // The first name is removed when this value is dropped.
            Err(error) if lacks_hard_links(&error) => {
                if fs::symlink_metadata(target).is_ok() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                self.replace(target)
            }
            Err(error) => Err(error),
        }
    }
}

/// FAT and some network and FUSE file systems have no hard links.
fn lacks_hard_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied | io::ErrorKind::TooManyLinks
    )
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.moved {
            // If this fails, the file is removed when the store is next opened.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Waits until no other writer, in any process, is changing a key that shares the lock file.
/// Dropping the returned file releases the lock.
pub(super) fn lock_key(root: &Path, key: &str) -> io::Result<File> {
    let group = key.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let name = format!("lock-{:02}", group % KEY_LOCKS);
    let lock = open_lock(&root.join(RESERVED_FOLDER).join(name))?;
    lock.lock()?;
    Ok(lock)
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Removes the unfinished files of dead writers. A reader may lack write permission, so errors are
/// ignored.
pub(super) fn clean(root: &Path) {
    let folder = root.join(RESERVED_FOLDER);
    let Ok(staging_lock) =
        OpenOptions::new().read(true).write(true).open(folder.join("lock-staging"))
    else {
        return;
    };
    if staging_lock.try_lock().is_err() {
        return;
    }
    let Ok(entries) = fs::read_dir(&folder) else { return };
    for entry in entries.flatten() {
        let is_unfinished =
            entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED));
        if is_unfinished && let Err(error) = remove_if_orphaned(&entry.path()) {
            tracing::debug!(path = %entry.path().display(), %error, "kept an unfinished file");
        }
    }
}

fn remove_if_orphaned(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    match file.try_lock() {
        Ok(()) => fs::remove_file(path),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
