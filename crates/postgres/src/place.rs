//! Where a server's parts lie, and who it runs as.
//!
//! `<dir>/lock` and, when the cluster had to go elsewhere, `<dir>/LOCATION`; beside each other in
//! `<dir>` or `/var/lib/everytab/<hash>`: `data` (the cluster), `server.log`. The socket lies in
//! `/tmp/everytab-<hash>`: a socket's path has at most 107 bytes, a folder's may have more.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, lchown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use crate::error::PostgresError;
use crate::process::{self, User};

const RELOCATED: &str = "/var/lib/everytab";

/// Makes `dir` and gives its one true name.
pub(crate) fn make_folder(dir: &Path) -> Result<PathBuf, PostgresError> {
    fs::create_dir_all(dir).map_err(PostgresError::io("make", dir))?;
    dir.canonicalize().map_err(PostgresError::io("enter", dir))
}

/// The parts of one server.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The owner's folder: lock and LOCATION.
    dir: PathBuf,
    /// Where cluster and log lie: `dir`, or a folder that the server's user can enter.
    home: PathBuf,
    /// The cluster.
    pub(crate) data: PathBuf,
    /// What the server says.
    pub(crate) log: PathBuf,
    /// Holds the socket, and locks that test processes share.
    pub(crate) socket_folder: PathBuf,
    /// Who the server runs as.
    pub(crate) user: User,
}

impl Place {
    /// Settles where and as whom. The lock of `dir` must be held.
    pub(crate) fn choose(dir: &Path) -> Result<Self, PostgresError> {
        let pointer = dir.join("LOCATION");
        let moved = match fs::read_to_string(&pointer) {
            Ok(text) => Some(PathBuf::from(text.trim_end())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(PostgresError::io("read", &pointer)(error)),
        };
        let mut place = Self::at(dir, moved.as_deref().unwrap_or(dir))?;
        if place.user == User::current() || place.user_can_enter(&place.home)? {
            return Ok(place);
        }
        if place.data.exists() || moved.is_some() {
            return Err(PostgresError::CannotEnter { path: place.home, user: place.user.uid });
        }
        let home = Path::new(RELOCATED).join(short_hash(dir, place.user.uid));
        tracing::info!(
            "user {} cannot enter {}: the Postgres cluster goes to {}",
            place.user.uid,
            dir.display(),
            home.display()
        );
        // Without LOCATION whatever lies there belonged to an earlier folder of this name, which
        // was deleted: its objects are gone, so its cluster must not come back.
        if home.exists() {
            tracing::warn!("deleting {}, left by a deleted {}", home.display(), dir.display());
            crate::orphans::stop_all_in(&home.join("data"))?;
            fs::remove_dir_all(&home).map_err(PostgresError::io("delete", &home))?;
        }
        fs::write(&pointer, format!("{}\n", home.display()))
            .map_err(PostgresError::io("write", &pointer))?;
        place = Self::at(dir, &home)?;
        if !place.user_can_enter(&place.home)? {
            return Err(PostgresError::CannotEnter { path: place.home, user: place.user.uid });
        }
        Ok(place)
    }

    fn at(dir: &Path, home: &Path) -> Result<Self, PostgresError> {
        fs::create_dir_all(home).map_err(PostgresError::io("make", home))?;
        let data = home.join("data");
        let user = user_for(&data)?;
        Ok(Self {
            dir: dir.to_path_buf(),
            home: home.to_path_buf(),
            log: home.join("server.log"),
            socket_folder: PathBuf::from(format!("/tmp/everytab-{}", short_hash(dir, user.uid))),
            data,
            user,
        })
    }

    /// The folders that are this server's alone.
    pub(crate) fn folders(&self) -> Vec<&Path> {
        if self.home == self.dir { vec![&self.dir] } else { vec![&self.home, &self.dir] }
    }

    /// Asked of the kernel, not of mode bits: a program of that user with that working folder.
    fn user_can_enter(&self, folder: &Path) -> Result<bool, PostgresError> {
        let mut command = Command::new("/bin/true");
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        self.user.runs(&mut command);
        match command.status() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
            Err(error) => Err(PostgresError::io("enter", folder)(error)),
        }
    }

    /// An empty folder of the server's user, mode 0700.
    pub(crate) fn make_private_folder(&self, path: &Path) -> Result<(), PostgresError> {
        DirBuilder::new().mode(0o700).create(path).map_err(PostgresError::io("make", path))?;
        self.give(path)
    }

    fn give(&self, path: &Path) -> Result<(), PostgresError> {
        if self.user == User::current() {
            return Ok(());
        }
        chown(path, Some(self.user.uid), Some(self.user.gid))
            .map_err(PostgresError::io("give away", path))
    }

    /// Makes the socket's folder, or takes one that is privately ours already.
    pub(crate) fn prepare_socket_folder(&self) -> Result<(), PostgresError> {
        let path = &self.socket_folder;
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => return self.give(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(PostgresError::io("make", path)(error)),
        }
        let found = fs::symlink_metadata(path).map_err(PostgresError::io("look at", path))?;
        // Ours but not yet given away: we were killed between the two.
        let ours = found.uid() == self.user.uid || found.uid() == User::current().uid;
        if !found.is_dir() || !ours || found.mode() & 0o077 != 0 {
            return Err(PostgresError::SocketFolder { path: path.clone(), user: self.user.uid });
        }
        self.give(path)
    }

    /// Best effort: a folder left behind is taken again by the next start.
    pub(crate) fn remove_socket_folder(&self) {
        let _ = fs::remove_dir_all(&self.socket_folder);
    }
}

/// Who the server runs as: whoever owns the cluster, else us, else (for root) `postgres` or
/// `nobody`.
fn user_for(data: &Path) -> Result<User, PostgresError> {
    let us = User::current();
    let owner = match fs::metadata(data) {
        Ok(found) => Some(User { uid: found.uid(), gid: found.gid() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(PostgresError::io("look at", data)(error)),
    };
    if us.uid != 0 {
        return match owner {
            Some(owner) if owner.uid != us.uid => {
                Err(PostgresError::NotOurs { path: data.to_path_buf(), owner: owner.uid })
            }
            _ => Ok(us),
        };
    }
    if let Some(owner) = owner.filter(|owner| owner.uid != 0) {
        return Ok(owner);
    }
    let user = process::first_user_of(&["postgres", "nobody"]).ok_or(PostgresError::NoUser)?;
    if owner.is_some() {
        give_all(data, user).map_err(PostgresError::io("give away", data))?;
    }
    Ok(user)
}

/// A cluster that root copied has become root's, file by file.
fn give_all(path: &Path, user: User) -> io::Result<()> {
    lchown(path, Some(user.uid), Some(user.gid))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give_all(&entry?.path(), user)?;
        }
    }
    Ok(())
}

/// Sixteen hexadecimal digits that name `dir` in places that all folders share.
fn short_hash(dir: &Path, uid: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(dir.as_os_str().as_encoded_bytes());
    hash.update([0]);
    hash.update(uid.to_be_bytes());
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Sets the log aside, so that it holds one run, and opens a new one.
pub(crate) fn open_log(path: &Path) -> Result<File, PostgresError> {
    let before = path.with_extension("log.1");
    if path.exists() {
        fs::rename(path, &before).map_err(PostgresError::io("set aside", path))?;
    }
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(PostgresError::io("write", path))?;
    file.set_permissions(Permissions::from_mode(0o600))
        .map_err(PostgresError::io("write", path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_fits_whatever_the_folder_is_called() {
        let deep = PathBuf::from(format!("/{}", "a very long name/".repeat(60)));
        let place_name = format!("/tmp/everytab-{}/.s.PGSQL.5432.lock", short_hash(&deep, 65534));
        assert!(place_name.len() < 107, "{place_name}");
        assert_ne!(short_hash(&deep, 1), short_hash(&deep, 2));
    }

    #[test]
    fn a_socket_folder_that_others_can_enter_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut place = Place::at(dir.path(), dir.path()).unwrap();
        place.socket_folder = dir.path().join("open");
        fs::create_dir(&place.socket_folder).unwrap();
        fs::set_permissions(&place.socket_folder, Permissions::from_mode(0o755)).unwrap();
        let error = place.prepare_socket_folder().unwrap_err().to_string();
        assert!(error.contains("is not a private folder"), "{error}");
        fs::remove_dir(&place.socket_folder).unwrap();
        std::os::unix::fs::symlink("/tmp", &place.socket_folder).unwrap();
        assert!(place.prepare_socket_folder().is_err(), "a symbolic link was followed");
    }
}
