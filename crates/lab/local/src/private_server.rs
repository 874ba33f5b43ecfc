//! The `doctor` check that a private Postgres can start.

use std::path::Path;

use everytab_operations::doctor::Check;
use everytab_postgres::{PostgresSettings, PrivatePostgres};

/// Checks that a private Postgres can start below `temporary`, and stops it.
pub async fn check_private_server(temporary: &Path) -> Check {
    let parent = temporary.to_owned();
    let started = tokio::task::spawn_blocking(move || {
        let folder = tempfile::TempDir::new_in(&parent).map_err(|error| {
            format!("cannot create a directory in {}: {error}", parent.display())
        })?;
        let settings = PostgresSettings::new(folder.path().join("postgres"));
        let server = PrivatePostgres::start(settings).map_err(|error| error.to_string())?;
        let version = server.psql("postgres", "show server_version");
        server.stop().map_err(|error| error.to_string())?;
        version.map_err(|error| error.to_string())
    });
    let remedy = "install Postgres 15 or newer (its initdb and postgres programs)";
    match started.await {
        Ok(Ok(version)) => {
            let found = format!("Postgres {} starts and stops", version.trim());
            Check::ok("private server", found)
        }
        Ok(Err(error)) => Check::fail("private server", error, remedy),
        Err(error) => Check::fail("private server", error.to_string(), remedy),
    }
}
