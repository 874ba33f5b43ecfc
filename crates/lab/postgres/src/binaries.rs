//! Finds the system's Postgres server programs and their version. A directory counts only with both
//! `initdb` and `postgres`, because client packages install `psql` in directories without a server.
//! The search paths are repeated in `crates/scan/operations/src/backup/postgres_programs.rs`,
//! because the fleet's program must not link this crate.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::error::PostgresError;

/// The oldest usable version, because `merge`, `security_invoker` views and `create database ...
/// strategy` are new in 15.
pub(crate) const OLDEST_MAJOR: u32 = 15;

#[derive(Debug, Clone)]
pub(crate) struct Binaries {
    folder: PathBuf,
    major: u32,
}

impl Binaries {
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn in_folder(folder: &Path) -> Option<Self> {
        if !folder.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
        let major = major_in(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { folder: folder.to_path_buf(), major })
    }
}

/// Finds the programs in `EVERYTAB_PG_BIN` if it is set, and otherwise in all known directories. If
/// `cluster` is set, the major version must be equal to it; otherwise the first programs that are
/// new enough are used.
pub(crate) fn find(cluster: Option<u32>) -> Result<Binaries, PostgresError> {
    if let Some(folder) = env::var_os("EVERYTAB_PG_BIN").map(PathBuf::from) {
        let named = Binaries::in_folder(&folder).ok_or(PostgresError::NotThere(folder))?;
        return choose(vec![named], cluster);
    }
    choose(candidates().iter().filter_map(|folder| Binaries::in_folder(folder)).collect(), cluster)
}

fn choose(found: Vec<Binaries>, cluster: Option<u32>) -> Result<Binaries, PostgresError> {
    if let Some(cluster) = cluster {
        if let Some(same) = found.iter().find(|binaries| binaries.major == cluster) {
            return Ok(same.clone());
        }
        if found.is_empty() {
            return Err(PostgresError::NotFound);
        }
        let majors: BTreeSet<_> = found.iter().map(|binaries| binaries.major).collect();
        let majors: Vec<_> = majors.iter().map(u32::to_string).collect();
        return Err(PostgresError::OtherVersion { cluster, installed: majors.join(", ") });
    }
    if let Some(good) = found.iter().find(|binaries| binaries.major >= OLDEST_MAJOR) {
        return Ok(good.clone());
    }
    match found.into_iter().max_by_key(|binaries| binaries.major) {
        Some(Binaries { folder, major }) => {
            Err(PostgresError::TooOld { found: major, needed: OLDEST_MAJOR, folder })
        }
        None => Err(PostgresError::NotFound),
    }
}

fn candidates() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    let mut packaged: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let major = entry.file_name().to_str()?.parse().ok()?;
            Some((major, entry.path().join("bin")))
        })
        .collect();
    packaged.sort();
    folders.extend(packaged.into_iter().rev().map(|(_, folder)| folder));
    if let Some(path) = env::var_os("PATH") {
        folders.extend(env::split_paths(&path));
    }
    folders
}

/// Parses strings such as `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` and `... 18beta1`.
pub(crate) fn major_in(version: &str) -> Option<u32> {
    let number = version.split_once("(PostgreSQL) ")?.1;
    let digits = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
    number.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(major: u32) -> Binaries {
        Binaries { folder: PathBuf::from(format!("/pg/{major}/bin")), major }
    }

    #[test]
    fn versions_are_read_as_postgres_prints_them() {
        assert_eq!(major_in("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_in("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_in("postgres (PostgreSQL) 17"), Some(17));
        assert_eq!(major_in("mysqld 8"), None);
    }

    #[test]
    fn the_first_new_enough_version_is_used_and_a_cluster_gets_its_own_version() {
        let all = vec![found(14), found(17), found(15)];
        assert_eq!(choose(all.clone(), None).unwrap().major, 17);
        assert_eq!(choose(all.clone(), Some(15)).unwrap().major, 15);
        let error = choose(all, Some(16)).unwrap_err().to_string();
        assert!(error.contains("made by Postgres 16, installed is 14, 15, 17"), "{error}");
    }

    #[test]
    fn the_error_for_old_or_missing_programs_says_what_to_install() {
        let error = choose(vec![found(13), found(14)], None).unwrap_err().to_string();
        assert_eq!(error, "Postgres 14 in /pg/14/bin is too old, 15 or later is needed");
        let error = choose(Vec::new(), None).unwrap_err().to_string();
        assert!(error.ends_with("apt-get install postgresql"), "{error}");
    }
}
