//! Files that are being written, and the locks of a directory store.
//!
//! Both are in `.everytab-store/` below the root: `new-<uuid>` files and lock files. All locks are
//! flock(2), so the kernel frees them whenever their process ends. A writer creates its `new-` file
//! and locks it while it holds the shared lock of `lock-staging`; the cleaner checks these files
//! while it holds the exclusive one. A `new-` file without a lock is therefore left over from a
//! dead writer, and is removed regardless of its age.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::key::RESERVED_FOLDER;

const UNFINISHED: &str = "new-";
/// Number of lock files. Writers to keys with the same lock file wait for each other, which is rare
/// within one process with 64 files.
const KEY_LOCKS: u64 = 64;

/// An unfinished file, removed when dropped unless it was moved to its path.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) file: File,
    path: PathBuf,
    moved: bool,
}

impl Unfinished {
    /// Creates the staging directory if it is missing, and an empty locked file in it.
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

    /// Moves the file to `target`, and replaces any file there.
    pub(super) fn replace(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.moved = true;
        Ok(())
    }

    /// Moves the file to `target` if nothing exists there, otherwise returns `AlreadyExists`. The
    /// caller holds the key's lock, which protects file systems without hard links.
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

/// Returns true for errors from FAT, and from some network and FUSE file systems.
fn lacks_hard_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied | io::ErrorKind::TooManyLinks
    )
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.moved {
            // If this fails, the next opening of the store removes the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Waits until no other writer, in this process or another, is changing a key of the same group.
/// Dropping the file releases the lock.
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

/// Removes the unfinished files of dead writers, if this user may: a reader may lack the
/// permission.
pub(super) fn clean(root: &Path) {
    let folder = root.join(RESERVED_FOLDER);
    let Ok(staging_lock) =
        OpenOptions::new().read(true).write(true).open(folder.join("lock-staging"))
    else {
        return;
    };
    // A writer is creating a file right now; the next opening will clean up.
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
