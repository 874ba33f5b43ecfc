//! Creates a cluster (the directory with a server's databases). `initdb` works in `data.making`,
//! which is renamed to `data` at the end. The caller must hold the directory's lock.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    binaries::Binaries,
    error::PostgresError,
    names::ADMIN_USER,
    orphans,
    process::{self, Signal},
    server_folders::ServerFolders,
};

pub(crate) fn version_of(data: &Path) -> Result<Option<u32>, PostgresError> {
    let path = data.join("PG_VERSION");
    match fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().map(Some).map_err(|_| {
            let source = io::Error::other(format!("{:?} is not a version", text.trim()));
            PostgresError::io("read", &path)(source)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !data.exists() => Ok(None),
        Err(error) => Err(PostgresError::io("read", &path)(error)),
    }
}

pub(crate) fn make_if_missing(
    folders: &ServerFolders,
    binaries: &Binaries,
    durable: bool,
) -> Result<(), PostgresError> {
    let making = folders.data.with_extension("making");
    if making.exists() {
        orphans::stop_all_in(&making)?;
        fs::remove_dir_all(&making).map_err(PostgresError::io("delete", &making))?;
    }
    if folders.data.exists() {
        return Ok(());
    }
    tracing::debug!("creating a Postgres cluster in {}", folders.data.display());
    folders.make_private_folder(&making)?;
    if let Err(error) = run_initdb(folders, binaries, durable, &making) {
        let _ = fs::remove_dir_all(&making);
        return Err(error);
    }
    fs::rename(&making, &folders.data).map_err(PostgresError::io("make", &folders.data))?;
    if durable && let Some(parent) = folders.data.parent() {
        let synced = File::open(parent).and_then(|folder| folder.sync_all());
        synced.map_err(PostgresError::io("write", parent))?;
    }
    Ok(())
}

fn run_initdb(
    folders: &ServerFolders,
    binaries: &Binaries,
    durable: bool,
    making: &Path,
) -> Result<(), PostgresError> {
    let program = binaries.program("initdb");
    let mut command = Command::new(&program);
    // Authentication is `trust`, because no other user can enter the socket's directory. The locale
    // is C, because the sort order must not depend on the host.
    command.args(["--pgdata", ".", "--username", ADMIN_USER, "--auth=trust", "--encoding=UTF8"]);
    command.args(["--locale=C", "--no-instructions"]);
    if !durable {
        command.arg("--no-sync");
    }
    command.current_dir(making).stdin(Stdio::null());
    set_environment(&mut command);
    folders.user.runs(&mut command);
    process::ends_with_its_parent(&mut command, Signal::Kill);
    let output = command.output().map_err(PostgresError::io("run", &program))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(PostgresError::from_output(&said, making, |message| PostgresError::Initdb {
        path: making.to_path_buf(),
        message,
    }))
}

/// Passes only the variables that the programs need. Others, such as PGOPTIONS, would change their
/// behaviour, and `error.rs` reads their messages in English.
pub(crate) fn set_environment(command: &mut Command) {
    command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
    for name in ["PATH", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}
