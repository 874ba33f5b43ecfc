//! Temporary servers without durability, each in its own directory. Before one is created,
//! directories called `everytab-passing-*` with a free lock are removed, because their owner was
//! killed.

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
/// A directory younger than this may not be locked yet.
const YOUNG: Duration = Duration::from_secs(60);

impl PrivatePostgres {
    /// Starts a server as [`start_temporary`](Self::start_temporary) does, in the system's
    /// temporary directory.
    ///
    /// # Errors
    ///
    /// Returns an error as [`start`](Self::start) does.
    pub fn start_for_tests() -> Result<Self, PostgresError> {
        Self::start_temporary(&std::env::temp_dir())
    }

    /// Starts a server without durability in a new directory below `parent`. Call
    /// [`erase`](Self::erase) at the end.
    ///
    /// # Errors
    ///
    /// Returns an error as [`start`](Self::start) does.
    pub fn start_temporary(parent: &Path) -> Result<Self, PostgresError> {
        remove_abandoned(parent);
        let pid = std::process::id();
        let nanoseconds = nanoseconds();
        let dir = parent.join(format!("{FOLDER_PREFIX}{pid}-{nanoseconds:x}"));
        fs::create_dir(&dir).map_err(PostgresError::io("make", &dir))?;
        // The server's user must be able to enter this directory.
        fs::set_permissions(&dir, Permissions::from_mode(0o755))
            .map_err(PostgresError::io("make", &dir))?;
        let settings = PostgresSettings::new(dir);
        Self::start(PostgresSettings { durable: false, max_connections: 300, ..settings })
    }
}

pub(crate) fn nanoseconds() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos())
}

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
