//! Temporary servers: without durability, in a folder of their own that is deleted at the end.
//!
//! The folders are called `everytab-passing-*`. Before one is made, those whose lock is free are
//! removed: their owner was killed or ended without deleting them.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{
    error::PostgresError, lock::FolderLock, orphans, private_postgres::PrivatePostgres,
    server_folders::ServerFolders, settings::PostgresSettings,
};

const FOLDER_PREFIX: &str = "everytab-passing-";
/// A folder younger than this may be between its making and its locking, which takes milliseconds.
const YOUNG: Duration = Duration::from_secs(60);

impl PrivatePostgres {
    /// Starts a server as [`start_temporary`](Self::start_temporary) does, in the system's
    /// temporary folder.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_for_tests() -> Result<Self, PostgresError> {
        Self::start_temporary(&std::env::temp_dir())
    }

    /// Starts a server without durability in a new folder below `parent`, and removes the folders
    /// of killed processes there. Call [`erase`](Self::erase) at the end.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_temporary(parent: &Path) -> Result<Self, PostgresError> {
        remove_abandoned(parent);
        let (pid, nanoseconds) = (std::process::id(), nanoseconds());
        let dir = parent.join(format!("{FOLDER_PREFIX}{pid}-{nanoseconds:x}"));
        fs::create_dir(&dir).map_err(PostgresError::io("make", &dir))?;
        // The server's user must be able to enter it.
        fs::set_permissions(&dir, Permissions::from_mode(0o755))
            .map_err(PostgresError::io("make", &dir))?;
        // Many tests share one.
        let settings = PostgresSettings::new(dir);
        Self::start(PostgresSettings { durable: false, max_connections: 300, ..settings })
    }
}

/// Nanoseconds since 1970: part of names that must differ.
pub(crate) fn nanoseconds() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos())
}

/// Removes abandoned folders as far as it can: those of other users stay.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours =
            entry.file_name().to_str().is_some_and(|name| name.starts_with(FOLDER_PREFIX));
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|made| made.elapsed().ok()).unwrap_or_default();
        if !is_ours || age < YOUNG {
            continue;
        }
        let Ok(dir) = entry.path().canonicalize() else { continue };
        let Ok(_lock) = FolderLock::take(&dir) else { continue };
        let Ok(folders) = ServerFolders::choose(&dir) else { continue };
        if orphans::stop_all_in(&folders.data).is_ok() {
            folders.remove_socket_folder();
            for folder in folders.own_folders() {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }
}
