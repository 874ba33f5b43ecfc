//! A private Postgres's errors, each one line. Postgres reports errors only as text, which only
//! this module parses.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A private Postgres or one of its programs failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// No directory holds both `initdb` and `postgres`.
    #[error(
        "no Postgres server found (looked in $EVERYTAB_PG_BIN, pg_config --bindir, \
         /usr/lib/postgresql/*/bin and PATH): apt-get install postgresql"
    )]
    NotFound,
    /// `$EVERYTAB_PG_BIN` is set to a directory without usable programs.
    # [error("EVERYTAB_PG_BIN={} contains no working initdb and postgres", .0.display())]
    NotThere(PathBuf),
    /// All programs found are too old.
    # [error("Postgres {found} in {} is too old, {needed} or later is needed", folder.display())]
    TooOld {
        /// Major version found.
        found: u32,
        /// Oldest major version that is usable.
        needed: u32,
        /// The programs' directory.
        folder: PathBuf,
    },
    /// The cluster was created by a major version that is not installed.
    #[error(
        "the cluster was made by Postgres {cluster}, installed is {installed}: \
         apt-get install postgresql-{cluster}, or choose another directory"
    )]
    OtherVersion {
        /// Major version that created the cluster.
        cluster: u32,
        /// Major versions found, joined by commas.
        installed: String,
    },
    /// Another process holds the directory's lock.
    # [error("{} is already in use by process {holder}", dir.display())]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// The process ID that the holder wrote, or a question mark.
        holder: String,
    },
    /// The cluster belongs to another user.
    # [error(
        "{} belongs to user {owner}: run as that user or as root, or choose another directory",
        path.display()
    )]
    NotOurs {
        /// The cluster.
        path: PathBuf,
        /// The owner's user ID.
        owner: u32,
    },
    /// The socket directory exists and is not private to the server's user.
    # [error("{} exists and is not a private directory of user {user}: delete it", path.display())]
    SocketFolder {
        /// The directory.
        path: PathBuf,
        /// The ID of the user who should own it.
        user: u32,
    },
    /// The server's user cannot enter the cluster's directory.
    # [error(
        "user {user} cannot enter {}: allow it (chmod o+x) on each directory above it",
        path.display()
    )]
    CannotEnter {
        /// The directory.
        path: PathBuf,
        /// The server's user ID.
        user: u32,
    },
    /// Neither `postgres` nor `nobody` exists.
    #[error("Postgres does not run as root, and there is no user postgres or nobody to run as")]
    NoUser,
    /// The disk is full.
    # [error("no space left on the disk of {}", .0.display())]
    DiskFull(PathBuf),
    /// initdb failed.
    # [error("cannot create a Postgres cluster in {}: {message}", path.display())]
    Initdb {
        /// The cluster's directory.
        path: PathBuf,
        /// The error message of initdb.
        message: String,
    },
    /// The server exited before it was ready, or was not ready in time.
    # [error("Postgres did not start: {message} (log: {})", log.display())]
    Start {
        /// The server's error message.
        message: String,
        /// The file with all messages.
        log: PathBuf,
    },
    /// A server could not be stopped.
    #[error("Postgres (process {0}) does not stop, not even after a kill")]
    DoesNotStop(u32),
    /// psql failed.
    #[error("psql: {0}")]
    Psql(String),
    /// pg_basebackup failed.
    #[error("pg_basebackup: {0}")]
    Basebackup(String),
    /// The environment holds a test database URL that `with-postgres` did not write.
    #[error("{variable}={value} does not have the form postgres:///postgres?host=/directory&...")]
    TestUrl {
        /// The variable.
        variable: &'static str,
        /// The variable's value.
        value: String,
    },
    /// The operating system rejected an operation.
    # [error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// The operation.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl PostgresError {
    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(path),
            _ => Self::Io { verb, path, source },
        }
    }

    /// Also recognizes a full disk by writing a file next to `path`, because the error text may
    /// have been lost.
    pub(crate) fn from_output(
        output: &str,
        path: &Path,
        otherwise: impl FnOnce(String) -> Self,
    ) -> Self {
        let words = ["No space left on device", "Disk quota exceeded", "Check free disk space"];
        if words.iter().any(|word| output.contains(word)) || is_full(path) {
            return Self::DiskFull(path.to_path_buf());
        }
        otherwise(error_message_in(output))
    }
}

fn is_full(path: &Path) -> bool {
    let probe = path.with_extension("probe");
    let written = fs::write(&probe, [1; 1 << 16]);
    let _ = fs::remove_file(&probe);
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    written.is_err_and(|error| full.contains(&error.kind()))
}

/// Returns the last line marked as an error, with its hint, or else the last line.
pub(crate) fn error_message_in(output: &str) -> String {
    let marks = ["PANIC: ", "FATAL: ", "ERROR: ", "error: "];
    let mut found = None;
    for (number, line) in output.lines().enumerate() {
        if let Some(rest) = marks.iter().find_map(|mark| line.split_once(mark)) {
            found = Some((number, rest.1.trim().to_owned()));
        }
    }
    let Some((number, mut message)) = found else {
        let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
        return last.unwrap_or("no error message").to_owned();
    };
    let following = output.lines().skip(number + 1).take(2);
    if let Some(hint) = following.filter_map(|line| line.split_once("HINT: ")).next() {
        message.push_str(": ");
        message.push_str(hint.1.trim());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_message_is_the_last_error_line_with_its_hint() {
        let log = "2026 LOG:  starting\n2026 [1] FATAL:  lock file \"x\" exists\n\
                   2026 [1] HINT:  Is another postmaster running?\n2026 LOG:  bye\n";
        assert_eq!(error_message_in(log), "lock file \"x\" exists: Is another postmaster running?");
        assert_eq!(error_message_in("one\ntwo\n\n"), "two");
        assert_eq!(error_message_in(""), "no error message");
    }

    #[test]
    fn a_full_disk_is_recognised_in_text_and_in_system_errors() {
        let path = Path::new("/somewhere");
        let said = "FATAL:  could not write to file \"base/1/2\": No space left on device";
        let error = PostgresError::from_output(said, path, PostgresError::Psql);
        assert_eq!(error.to_string(), "no space left on the disk of /somewhere");
        let error = PostgresError::io("write", path)(io::ErrorKind::StorageFull.into());
        assert_eq!(error.to_string(), "no space left on the disk of /somewhere");
    }
}
