//! Where a file grows before it is an object, and the locks of a directory store.
//!
//! Everything lies in `.everytab-store/` below the root: `new-<uuid>` files and lock files. All
//! locks are flock(2), so the kernel frees them when their holder dies, however it dies. A `new-`
//! file is locked by its writer from before anyone can judge it: writers create under the shared
//! lock of `lock-staging`, the cleaner judges under the exclusive one. One nobody holds is
//! therefore a dead writer's, and is removed without asking a clock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::key::RESERVED_FOLDER;

const UNFINISHED: &str = "new-";
/// Writers of one key wait for each other; so many groups of keys do so independently.
const KEY_LOCKS: u64 = 64;

/// An unfinished file, removed when dropped unless it was moved to its place.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) file: File,
    path: PathBuf,
    moved: bool,
}

impl Unfinished {
    /// Creates the staging folder where it is missing, and an empty locked file in it.
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

    /// Replaces what is at `target`.
    pub(super) fn replace(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.moved = true;
        Ok(())
    }

    /// Takes the place `target` if nothing is there: `AlreadyExists` otherwise. The caller holds
    /// the key's lock, which protects file systems that have no hard links.
    pub(super) fn take_place(&mut self, target: &Path) -> io::Result<()> {
        match fs::hard_link(&self.path, target) {
            Ok(()) => Ok(()), // The first name goes when this value is dropped.
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

/// FAT, some network and FUSE file systems.
fn lacks_hard_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied | io::ErrorKind::TooManyLinks
    )
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.moved {
            // Left behind at worst, and removed at the next opening.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Waits until no other writer, in this process or another, is changing a key of the same group.
/// Released when dropped.
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

/// Removes the unfinished files of dead writers. Best effort: a reader may lack the rights.
pub(super) fn clean(root: &Path) {
    let folder = root.join(RESERVED_FOLDER);
    let Ok(staging_lock) =
        OpenOptions::new().read(true).write(true).open(folder.join("lock-staging"))
    else {
        return;
    };
    // Somebody is creating a file this instant; the next opening will clean.
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
