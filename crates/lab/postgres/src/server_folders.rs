//! A server's directories, and the user that runs it.
//!
//! `<dir>` contains `lock` and, if the cluster is elsewhere, `LOCATION`. `<dir>` or
//! `/var/lib/everytab/<hash>` contains `data` (the cluster) and `server.log`. The socket is in
//! `/tmp/everytab-<hash>`, because a socket's path may have at most 107 bytes.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, lchown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use sha2::{Digest, Sha256};

use crate::{
    error::PostgresError,
    process::{self, UnixUser},
};

const RELOCATED: &str = "/var/lib/everytab";

pub(crate) fn make_folder(dir: &Path) -> Result<PathBuf, PostgresError> {
    fs::create_dir_all(dir).map_err(PostgresError::io("make", dir))?;
    dir.canonicalize().map_err(PostgresError::io("enter", dir))
}

/// Sets the mode regardless of the umask.
fn make_enterable(home: &Path) -> Result<(), PostgresError> {
    let missing: Vec<&Path> = home.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        fs::create_dir(folder).map_err(PostgresError::io("make", folder))?;
        let mode = Permissions::from_mode(0o755);
        fs::set_permissions(folder, mode).map_err(PostgresError::io("open", folder))?;
    }
    Ok(())
}

#[derive(Debug, Clone)]
pub(crate) struct ServerFolders {
    dir: PathBuf,
    /// The directory for cluster and log. This is `dir`, or one that the server's user can enter.
    home: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) socket_folder: PathBuf,
    pub(crate) user: UnixUser,
}

impl ServerFolders {
    /// The caller must hold the lock in `dir`.
    pub(crate) fn choose(dir: &Path) -> Result<Self, PostgresError> {
        let pointer = dir.join("LOCATION");
        let moved = match fs::read_to_string(&pointer) {
            Ok(text) => Some(PathBuf::from(text.trim_end())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(PostgresError::io("read", &pointer)(error)),
        };
        let mut folders = Self::at(dir, moved.as_deref().unwrap_or(dir))?;
        if folders.user == UnixUser::current() || folders.user_can_enter(&folders.home)? {
            return Ok(folders);
        }
        if folders.data.exists() || moved.is_some() {
            return Err(PostgresError::CannotEnter { path: folders.home, user: folders.user.uid });
        }
        let home = Path::new(RELOCATED).join(short_hash(dir, folders.user.uid));
        tracing::info!(
            "user {} cannot enter {}: using {} for the Postgres cluster",
            folders.user.uid,
            dir.display(),
            home.display()
        );
        // Without LOCATION, this cluster belonged to a deleted directory with this name.
        if home.exists() {
            tracing::warn!(
                "deleting {}, which belonged to the deleted directory {}",
                home.display(),
                dir.display()
            );
            crate::orphans::stop_all_in(&home.join("data"))?;
            fs::remove_dir_all(&home).map_err(PostgresError::io("delete", &home))?;
        }
        fs::write(&pointer, format!("{}\n", home.display()))
            .map_err(PostgresError::io("write", &pointer))?;
        make_enterable(&home)?;
        folders = Self::at(dir, &home)?;
        if !folders.user_can_enter(&folders.home)? {
            return Err(PostgresError::CannotEnter { path: folders.home, user: folders.user.uid });
        }
        Ok(folders)
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

    pub(crate) fn own_folders(&self) -> Vec<&Path> {
        if self.home == self.dir { vec![&self.dir] } else { vec![&self.home, &self.dir] }
    }

    /// Starts a program in the directory, because mode bits are not a reliable test.
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

    pub(crate) fn make_private_folder(&self, path: &Path) -> Result<(), PostgresError> {
        DirBuilder::new().mode(0o700).create(path).map_err(PostgresError::io("make", path))?;
        self.give(path)
    }

    pub(crate) fn give(&self, path: &Path) -> Result<(), PostgresError> {
        if self.user == UnixUser::current() {
            return Ok(());
        }
        chown(path, Some(self.user.uid), Some(self.user.gid))
            .map_err(PostgresError::io("give away", path))
    }

    pub(crate) fn prepare_socket_folder(&self) -> Result<(), PostgresError> {
        let path = &self.socket_folder;
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => return self.give(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(PostgresError::io("make", path)(error)),
        }
        let found = fs::symlink_metadata(path).map_err(PostgresError::io("look at", path))?;
        // If this process's user owns the directory, an earlier start was killed before `give`.
        let ours = found.uid() == self.user.uid || found.uid() == UnixUser::current().uid;
        if !found.is_dir() || !ours || found.mode() & 0o077 != 0 {
            return Err(PostgresError::SocketFolder { path: path.clone(), user: self.user.uid });
        }
        self.give(path)
    }

    pub(crate) fn remove_socket_folder(&self) {
        let _ = fs::remove_dir_all(&self.socket_folder);
    }
}

/// Returns the user that runs the server: the cluster's owner, or else this process's user. For
/// root, this is `postgres` or `nobody` instead.
fn user_for(data: &Path) -> Result<UnixUser, PostgresError> {
    let us = UnixUser::current();
    let owner = match fs::metadata(data) {
        Ok(found) => Some(UnixUser { uid: found.uid(), gid: found.gid() }),
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

/// Changes the owner of all files, because a cluster that root copied belongs to root.
fn give_all(path: &Path, user: UnixUser) -> io::Result<()> {
    lchown(path, Some(user.uid), Some(user.gid))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give_all(&entry?.path(), user)?;
        }
    }
    Ok(())
}

fn short_hash(dir: &Path, uid: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(dir.as_os_str().as_encoded_bytes());
    hash.update([0]);
    hash.update(uid.to_be_bytes());
    hex::encode(&hash.finalize()[..8])
}

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
    fn a_socket_path_fits_for_any_directory_name() {
        let deep = PathBuf::from(format!("/{}", "a very long name/".repeat(60)));
        let lock_path = format!("/tmp/everytab-{}/.s.PGSQL.5432.lock", short_hash(&deep, 65534));
        assert!(lock_path.len() < 107, "{lock_path}");
        assert_ne!(short_hash(&deep, 1), short_hash(&deep, 2));
    }

    #[test]
    fn a_socket_directory_that_others_can_enter_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let mut folders = ServerFolders::at(dir.path(), dir.path()).unwrap();
        folders.socket_folder = dir.path().join("open");
        fs::create_dir(&folders.socket_folder).unwrap();
        fs::set_permissions(&folders.socket_folder, Permissions::from_mode(0o755)).unwrap();
        let error = folders.prepare_socket_folder().unwrap_err().to_string();
        assert!(error.contains("is not a private directory"), "{error}");
        fs::remove_dir(&folders.socket_folder).unwrap();
        std::os::unix::fs::symlink("/tmp", &folders.socket_folder).unwrap();
        assert!(folders.prepare_socket_folder().is_err(), "a symbolic link was followed");
    }
}
