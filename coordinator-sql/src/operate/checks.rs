//! Checks of the database, its server and the connected role.

use crate::{client::coordinator::Coordinator, error::Error, operate::schema::schema_digest};

impl Coordinator {
    /// Checks that the database was migrated to this program's schema.
    ///
    /// # Errors
    /// Returns [`Error::NoSchema`] or [`Error::Schema`] if it was not.
    pub async fn check_schema(&self) -> Result<(), Error> {
        let own = schema_digest();
        let found: Option<String> =
            match self.value("select coordinator.schema_digest()", &[]).await {
                Ok(digest) => digest,
                // The schema, function or table is missing.
                Err(error) if matches!(error.sqlstate(), Some("3F000" | "42883" | "42P01")) => None,
                Err(error) => return Err(error),
            };
        match found {
            Some(found) if found == own => Ok(()),
            Some(found) => Err(Error::Schema { found, own }),
            None => Err(Error::NoSchema),
        }
    }

    /// Returns the server's version as a number, such as 150018.
    pub async fn server_version(&self) -> Result<i32, Error> {
        self.value("select current_setting('server_version_num')::integer", &[]).await
    }

    /// Returns the database's encoding, such as UTF8.
    pub async fn encoding(&self) -> Result<String, Error> {
        self.value("select current_setting('server_encoding')", &[]).await
    }

    /// Returns the isolation level for transactions that do not specify one.
    pub async fn default_isolation(&self) -> Result<String, Error> {
        self.value("select current_setting('default_transaction_isolation')", &[]).await
    }

    /// Returns whether the connected role may create roles and schemas, as `migrate` requires.
    pub async fn may_migrate(&self) -> Result<bool, Error> {
        self.value(
            "select rolsuper or (rolcreaterole and has_database_privilege(current_database(), \
             'create')) from pg_roles where rolname = current_user",
            &[],
        )
        .await
    }

    /// Returns whether the connected role may call the HTTP service's functions.
    ///
    /// # Errors
    /// Returns an error if the database was never migrated.
    pub async fn may_serve(&self) -> Result<bool, Error> {
        self.value("select has_schema_privilege('api', 'usage')", &[]).await
    }
}
