//! Migrates the database: applies new migrations, then replaces all functions.

use crate::{
    client::coordinator::Coordinator,
    connection::{bind::bind, call::Transaction, row::values},
    error::Error,
    operate::{
        replaced_functions::replace_functions,
        schema::{GRANTS, MIGRATIONS, schema_digest},
    },
};

const APPLIED: &str = "
    insert into everytab.migrations (name, digest) values ($1, $2)
    on conflict (name) do update set digest = excluded.digest, applied_at = excluded.applied_at";

const ROLES: &str = include_str!("../../roles.sql");

const DENIED: &str = "42501";

const ROLE_SETTINGS: &str = include_str!("../../role_settings.sql");

/// The first migration of versions before 0.1.0.
const BEFORE_BASELINE: &str = "0001_tables.sql";

/// The encoding that the database must have, because SQL functions compare names and titles.
const ENCODING: &str = "UTF8";

const PRELUDE: &str = "
-- Functions are made in the order of their names, and may call one that comes later.
set local check_function_bodies = off;
create schema if not exists everytab;
create schema if not exists coordinator;
create schema if not exists api;
create table if not exists everytab.migrations (
    name text primary key,
    digest text not null,
    applied_at timestamptz not null default clock_timestamp());
";

impl Coordinator {
    /// Migrates the database to this program's schema in one transaction. Returns the names of the
    /// new migrations. If it already has this schema, changes only role settings that differ, so
    /// that this may run while workers are running.
    ///
    /// # Errors
    /// Returns [`Error::Encoding`] if the database does not store UTF-8, [`Error::BeforeBaseline`]
    /// if a version before 0.1.0 migrated it, [`Error::Dependents`] if another role's objects
    /// depend on a function that must be dropped, and [`Error::RoleSettings`] if this role may not
    /// reset another role's settings. Returns another error if a statement fails. An error leaves
    /// the database unchanged.
    pub async fn migrate(&self) -> Result<Vec<&'static str>, Error> {
        let transaction = self.begin_long().await?;
        let lock = "select pg_advisory_xact_lock(4937291844)";
        transaction.script(lock).await?;
        let encoding = self.encoding().await?;
        if encoding != ENCODING {
            return Err(Error::Encoding(encoding));
        }
        reset_role_settings(&transaction).await?;
        if matches!(self.check_schema().await, Ok(())) {
            transaction.commit().await?;
            return Ok(Vec::new());
        }
        transaction.script(ROLES).await?;
        transaction.script(PRELUDE).await?;
        let known = "select name from everytab.migrations order by name";
        let known: Vec<(String,)> = values(&transaction.rows(known, &[]).await?)?;
        if known.iter().any(|(known,)| known == BEFORE_BASELINE) {
            return Err(Error::BeforeBaseline);
        }
        let mut applied = Vec::new();
        for (name, text) in MIGRATIONS {
            if !known.iter().any(|(known,)| known == name) {
                transaction.script(text).await?;
                applied.push(*name);
            }
        }
        let grants = replace_functions(&transaction).await?;
        transaction.script(GRANTS).await?;
        for grant in grants {
            transaction.script(&grant).await?;
        }
        for (name, _) in MIGRATIONS {
            transaction.rows(APPLIED, &[bind(name), bind(&schema_digest())]).await?;
        }
        transaction.commit().await?;
        Ok(applied)
    }
}

async fn reset_role_settings(transaction: &Transaction) -> Result<(), Error> {
    let changed = transaction.rows(ROLE_SETTINGS, &[]).await?;
    for (role, found, statements) in values::<(String, String, String)>(&changed)? {
        transaction.script(&statements).await.map_err(|error| {
            if error.sqlstate() == Some(DENIED) {
                let (role, found) = (role.clone(), found.clone());
                let statements = statements.trim_end().to_owned();
                Error::RoleSettings { role, found, statements, reason: error.to_string() }
            } else {
                error
            }
        })?;
        tracing::warn!(role, found, "resetting the settings of a role to those of this version");
    }
    Ok(())
}
