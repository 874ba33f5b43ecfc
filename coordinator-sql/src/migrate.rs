//! Migrating: tables by append-only files, then every function's and view's current text again.

use crate::{
    coordinator::Coordinator,
    error::Error,
    schema::{FUNCTIONS, GRANTS, MIGRATIONS, schema_digest},
};

/// Makes the schemas and the worker's role, which belongs to the whole cluster: another database's
/// migration may make it at the same moment.
const PRELUDE: &str = "
-- Functions are made in the order of their names, and may call one that comes later.
set local check_function_bodies = off;
create schema if not exists everytab;
create schema if not exists coordinator;
do $$ begin
    if not exists (select from pg_roles where rolname = 'everytab_worker') then
        create role everytab_worker login;
    end if;
exception when duplicate_object or unique_violation then null;
end $$;
do $$ declare
    stale regprocedure;
begin
    -- A function whose parameters changed would stay beside the new one.
    for stale in select p.oid from pg_proc p
                  where p.pronamespace = 'coordinator'::regnamespace and p.prokind = 'f' loop
        execute format('drop function if exists %s cascade', stale);
    end loop;
end $$;
create table if not exists everytab.migrations (
    name text primary key,
    digest text not null,
    applied_at timestamptz not null default clock_timestamp());
";

impl Coordinator {
    /// Brings the database to this program's schema, in one transaction. Answers the names of the
    /// migrations that were new. Where the schema is this program's already nothing is touched, so
    /// that a machine may migrate while others work.
    ///
    /// # Errors
    /// When a statement fails, or the role may not create roles and schemas; nothing is changed.
    pub async fn migrate(&self) -> Result<Vec<&'static str>, Error> {
        let mut transaction = self.begin_long().await?;
        let lock = "select pg_advisory_xact_lock(4937291844)";
        sqlx::raw_sql(lock).execute(&mut *transaction).await?;
        if matches!(self.check_schema().await, Ok(())) {
            return Ok(Vec::new());
        }
        sqlx::raw_sql(PRELUDE).execute(&mut *transaction).await?;
        let known: Vec<String> =
            sqlx::query_scalar("select name from everytab.migrations order by name")
                .persistent(false)
                .fetch_all(&mut *transaction)
                .await?;
        let mut applied = Vec::new();
        for (name, text) in MIGRATIONS {
            if !known.iter().any(|k| k == name) {
                sqlx::raw_sql(*text).execute(&mut *transaction).await?;
                applied.push(*name);
            }
        }
        for (_, text) in FUNCTIONS {
            sqlx::raw_sql(*text).execute(&mut *transaction).await?;
        }
        sqlx::raw_sql(GRANTS).execute(&mut *transaction).await?;
        for (name, _) in MIGRATIONS {
            sqlx::query(
                "insert into everytab.migrations (name, digest) values ($1, $2)
                 on conflict (name) do update set digest = excluded.digest,
                 applied_at = excluded.applied_at",
            )
            .bind(name)
            .bind(schema_digest())
            .persistent(false)
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(applied)
    }
}
