//! Makes a cluster (the folder that one server keeps its databases in), whole or not at all.
//!
//! `initdb` works in `data.making`; a rename to `data` ends it. What a killed one left is thrown
//! away. The folder's lock must be held.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::ADMIN_USER;
use crate::binaries::Binaries;
use crate::error::PostgresError;
use crate::orphans;
use crate::place::Place;
use crate::process::{self, Signal};

/// The major version that made the cluster in `data`; none where there is no cluster.
pub(crate) fn version_of(data: &Path) -> Result<Option<u32>, PostgresError> {
    let path = data.join("PG_VERSION");
    match fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().map(Some).map_err(|_| {
            let source = io::Error::other(format!("{:?} is no version", text.trim()));
            PostgresError::io("read", &path)(source)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !data.exists() => Ok(None),
        Err(error) => Err(PostgresError::io("read", &path)(error)),
    }
}

/// Leaves an existing cluster alone.
pub(crate) fn make_if_missing(
    place: &Place,
    binaries: &Binaries,
    durable: bool,
) -> Result<(), PostgresError> {
    let making = place.data.with_extension("making");
    if making.exists() {
        orphans::stop_all_in(&making)?;
        fs::remove_dir_all(&making).map_err(PostgresError::io("delete", &making))?;
    }
    if place.data.exists() {
        return Ok(());
    }
    tracing::debug!("making a Postgres cluster in {}", place.data.display());
    place.make_private_folder(&making)?;
    if let Err(error) = run_initdb(place, binaries, durable, &making) {
        let _ = fs::remove_dir_all(&making);
        return Err(error);
    }
    fs::rename(&making, &place.data).map_err(PostgresError::io("make", &place.data))?;
    if durable && let Some(parent) = place.data.parent() {
        let synced = File::open(parent).and_then(|folder| folder.sync_all());
        synced.map_err(PostgresError::io("write", parent))?;
    }
    Ok(())
}

fn run_initdb(
    place: &Place,
    binaries: &Binaries,
    durable: bool,
    making: &Path,
) -> Result<(), PostgresError> {
    let program = binaries.program("initdb");
    let mut command = Command::new(&program);
    // Trust, because the socket's folder keeps everybody else out. The C locale, because order
    // must not change with the machine's locale data.
    command.args(["--pgdata", ".", "--username", ADMIN_USER, "--auth=trust", "--encoding=UTF8"]);
    command.args(["--locale=C", "--no-instructions"]);
    if !durable {
        command.arg("--no-sync");
    }
    command.current_dir(making).stdin(Stdio::null());
    set_environment(&mut command);
    place.user.runs(&mut command);
    process::ends_with_its_parent(&mut command, Signal::Kill);
    let output = command.output().map_err(PostgresError::io("run", &program))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(PostgresError::from_complaint(&said, making, |complaint| PostgresError::Initdb {
        path: making.to_path_buf(),
        complaint,
    }))
}

/// Only what the programs need: a caller's PGDATA, PGPORT or PGOPTIONS would change what they do,
/// and their messages must be in the language that `error.rs` reads.
pub(crate) fn set_environment(command: &mut Command) {
    command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
    for name in ["PATH", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}
