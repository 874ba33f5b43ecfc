//! A standby for tests, and the failover to it, which loses commits. The standby is a base backup
//! that receives nothing further. It is promoted in the primary's directory, so that clients find
//! it at the primary's address.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{
    binaries, cluster,
    error::{self, PostgresError},
    orphans,
    private_postgres::PrivatePostgres,
    process::{self, Signal},
    settings::PostgresSettings,
};

/// Makes a server without a primary promote itself once it has replayed its write-ahead log.
const RECOVERY_SIGNAL: &str = "recovery.signal";

/// A cluster with the commits that its primary had at one time.
#[derive(Debug)]
pub struct Standby {
    data: PathBuf,
}

impl PrivatePostgres {
    /// Makes a standby that has all commits from before this call, and none from after it.
    ///
    /// # Errors
    ///
    /// Returns an error if `pg_basebackup` is missing or fails.
    pub fn standby(&self) -> Result<Standby, PostgresError> {
        let folders = &self.folders;
        let program = binaries::find(cluster::version_of(&folders.data)?)?.program("pg_basebackup");
        let data = folders.data.with_extension("standby");
        folders.make_private_folder(&data)?;
        let mut command = Command::new(&program);
        command.args(["--pgdata", ".", "--checkpoint=fast", "--no-sync", "--no-password"]);
        command.args(["--dbname", &self.admin_url()]);
        cluster::set_environment(&mut command);
        command.current_dir(&data).stdin(Stdio::null());
        folders.user.runs(&mut command);
        let output = command.output().map_err(PostgresError::io("run", &program))?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            return Err(PostgresError::Basebackup(error::error_message_in(&messages)));
        }
        let signal = data.join(RECOVERY_SIGNAL);
        fs::write(&signal, "").map_err(PostgresError::io("write", &signal))?;
        folders.give(&signal)?;
        Ok(Standby { data })
    }

    /// Kills the server and promotes the standby at the same address. All commits since
    /// [`standby`](Self::standby) are lost. `settings` are the server's.
    ///
    /// # Errors
    ///
    /// Returns an error if a process of the server cannot be killed, or as
    /// [`start`](Self::start) does.
    pub fn fail_over(
        self,
        standby: Standby,
        mut settings: PostgresSettings,
    ) -> Result<Self, PostgresError> {
        let data = self.folders.data.clone();
        process::send(self.pid(), Signal::Kill).map_err(PostgresError::io("stop", &data))?;
        drop(self);
        orphans::stop_all_in(&data)?;
        fs::remove_dir_all(&data).map_err(PostgresError::io("delete", &data))?;
        fs::rename(&standby.data, &data).map_err(PostgresError::io("make", &data))?;
        // The archive is empty, so recovery ends with the standby's own log.
        settings.extra.push(("restore_command".to_owned(), "false".to_owned()));
        // No session is accepted before the promotion, because it could only read.
        settings.extra.push(("hot_standby".to_owned(), "off".to_owned()));
        Self::start(settings)
    }
}
