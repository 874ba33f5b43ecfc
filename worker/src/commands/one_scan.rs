//! Finds the scan that a command names.

use clap::Args;
use everytab_coordinator::Coordinator;
use uuid::Uuid;

use crate::{cli_error::CliError, commands::database, options::DatabaseArgs};

/// A scan and its database.
#[derive(Debug, Args)]
pub struct OneScan {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The scan's id [default: the newest scan]
    #[arg(long, env = "EVERYTAB_SCAN")]
    scan: Option<Uuid>,
}

impl OneScan {
    /// Returns the database and the scan's number in it.
    ///
    /// # Errors
    /// Returns an error if the database fails, or if it has no such scan.
    pub async fn find(&self) -> Result<(Coordinator, i32), CliError> {
        let coordinator = database::connect(&self.database).await?;
        let number = self.number(&coordinator).await?;
        Ok((coordinator, number))
    }

    /// Returns the scan's number.
    ///
    /// # Errors
    /// Returns an error if the database fails, or if it has no such scan.
    pub async fn number(&self, coordinator: &Coordinator) -> Result<i32, CliError> {
        everytab_operations::database::scan_number(coordinator, self.scan).await
    }
}
