//! Errors in calls to Postgres, each shown as one line.

use std::{error::Error as _, io};

use tokio_postgres::error::SqlState;

/// Class of SQLSTATEs that this schema's functions raise on purpose.
const REFUSAL_CLASS: &str = "ET";
/// SQLSTATE that lock_tables raises if a table was still locked after the maximum wait.
const LOCKED: &str = "ET011";
/// SQLSTATE for a serialization failure.
const LOST_RACE: &str = "40001";
/// SQLSTATEs for a prepared statement that the session no longer has, because a function's result
/// type has changed or a pooler has reset the session.
const STALE_STATEMENT: [&str; 3] = ["0A000", "26000", "42P05"];
/// SQLSTATE for a lock that was not available in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// A coordinator error. `Display` writes one line with the failure and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database URL is invalid.
    #[error("database URL {url}: {reason}; expected postgres://user@host/database")]
    Url {
        /// The URL without its password.
        url: String,
        /// Why the URL is invalid.
        reason: String,
    },
    /// No connection could be made.
    #[error("cannot connect to Postgres at {place}: {reason}")]
    Connect {
        /// Host, port and database, without the password.
        place: String,
        /// The server's or network's message, and what to do.
        reason: String,
        /// Whether a retry may succeed.
        transient: bool,
    },
    /// The database was never migrated.
    #[error("the database has no EveryTab schema; run `everytab-worker migrate` as its owner")]
    NoSchema,
    /// The database has a different schema than this program was built with.
    #[error(
        "the database's schema is {found}, this program's is {own}; run `everytab-worker migrate` \
         with the newer of the two"
    )]
    Schema {
        /// The digest in the database.
        found: String,
        /// This program's digest.
        own: String,
    },
    /// The database's encoding, which is not UTF-8.
    #[error(
        "the database's encoding is {0}, and names and titles of websites need UTF8; create \
         another database with `createdb --encoding UTF8 --template template0 NAME` and migrate \
         that one"
    )]
    Encoding(String),
    /// A version before 0.1.0 migrated the database.
    #[error(
        "a version before 0.1.0 made this database, and this version cannot migrate it; nothing \
         was changed. Create a new database with `createdb` (with `local`, use another --dir), \
         migrate that one, and scan and crawl there"
    )]
    BeforeBaseline,
    /// Another role's objects depend on a function that must be dropped.
    #[error(
        "this version replaces {function}, and {dependents}; nothing was changed. Drop what \
         depends on it, run `everytab-worker migrate` again, and recreate it"
    )]
    Dependents {
        /// The function with its parameters.
        function: String,
        /// The objects that depend on the function.
        dependents: String,
    },
    /// A role has different settings, which this role may not reset.
    #[error(
        "the role {role} has other settings than this version gives it ({found}), and this role \
         may not reset them ({reason}); nothing was changed. Run `{statements}` as a superuser, \
         and `everytab-worker migrate` again"
    )]
    RoleSettings {
        /// The role.
        role: String,
        /// The role's settings.
        found: String,
        /// The statements that reset these settings.
        statements: String,
        /// Postgres' message.
        reason: String,
    },
    /// Postgres rejected a statement, or the connection broke.
    #[error("Postgres: {}", describe(.0))]
    Query(#[from] tokio_postgres::Error),
    /// The call exceeded its time limit, so its connection was closed.
    #[error("Postgres did not respond in time; the connection was closed")]
    TimedOut,
    /// A table or row remained locked for the maximum wait.
    #[error(
        "{holder}; tried for {minutes} minutes. Wait until the session that holds the lock (a \
         backup, a dump, a query or another command) has ended, and repeat the command. In psql, \
         `select pid, usename, query from pg_stat_activity where xact_start < now() - interval \
         '1 minute'` lists such sessions and `select pg_terminate_backend(PID)` ends one"
    )]
    Locked {
        /// The table and the session that held its lock, or the row.
        holder: String,
        /// How long the call waited.
        minutes: u64,
    },
    /// The client was closed before the call.
    #[error("Postgres: the client has closed its connections")]
    Closed,
    /// Postgres returned a value that this program does not expect.
    #[error("unexpected result from Postgres: {0}")]
    Unexpected(String),
}

impl Error {
    /// Returns whether a repeated call may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { transient, .. } => *transient,
            Self::Query(error) => is_transient(error),
            Self::TimedOut | Self::Closed => true,
            Self::Url { .. }
            | Self::NoSchema
            | Self::Schema { .. }
            | Self::Encoding(_)
            | Self::BeforeBaseline
            | Self::Dependents { .. }
            | Self::RoleSettings { .. }
            | Self::Locked { .. }
            | Self::Unexpected(_) => false,
        }
    }

    /// Returns the SQLSTATE with which Postgres rejected a statement.
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Query(error) => error.code().map(SqlState::code),
            _ => None,
        }
    }

    /// Returns true if a function of this schema raised the error on purpose, so that the session
    /// can be reused.
    pub(crate) fn is_refusal(&self) -> bool {
        self.sqlstate().is_some_and(|code| code.starts_with(REFUSAL_CLASS))
    }

    /// Returns true if an operator's call changed nothing because a table or row was locked.
    pub(crate) fn is_locked(&self) -> bool {
        matches!(self.sqlstate(), Some(LOCKED | LOCK_NOT_AVAILABLE))
    }

    /// Returns true if a transaction that reads one snapshot found a row that another transaction
    /// has changed since.
    pub(crate) fn is_lost_race(&self) -> bool {
        self.sqlstate() == Some(LOST_RACE)
    }

    /// Returns true if the server cannot write, because it was demoted to a standby.
    pub(crate) fn is_read_only(&self) -> bool {
        self.sqlstate() == Some(SqlState::READ_ONLY_SQL_TRANSACTION.code())
    }

    pub(crate) fn is_stale_statement(&self) -> bool {
        self.sqlstate().is_some_and(|code| STALE_STATEMENT.contains(&code))
    }

    /// Returns whether a function or column is missing, has other parameters, or may not be used by
    /// this role.
    pub fn is_other_schema(&self) -> bool {
        match self {
            Self::NoSchema | Self::Schema { .. } => true,
            Self::Query(_) => matches!(
                self.sqlstate(),
                Some("3F000" | "42501" | "42703" | "42704" | "42883" | "42P01")
            ),
            _ => false,
        }
    }

    /// Returns whether this statement always fails with these values, because Postgres rejected one
    /// (SQLSTATE classes 22 and 23) or returned one that this program cannot read.
    pub fn is_fault_of_values(&self) -> bool {
        match self {
            Self::Unexpected(_) => true,
            Self::Query(_) => {
                self.sqlstate().is_some_and(|code| code.starts_with("22") || code.starts_with("23"))
            }
            _ => false,
        }
    }

    pub(crate) fn url(url: &str, reason: String) -> Self {
        Self::Url { url: without_password(url), reason }
    }
}

/// The classes are connection exceptions, insufficient resources and operator intervention. 40P01
/// is a deadlock, 25006 a server that was demoted to a standby, and 25P03 a transaction that was
/// idle for too long.
fn is_transient(error: &tokio_postgres::Error) -> bool {
    match error.code().map(SqlState::code) {
        Some(code) => {
            let class = code.get(..2).unwrap_or_default();
            matches!(class, "08" | "53" | "57")
                || STALE_STATEMENT.contains(&code)
                || matches!(code, LOST_RACE | "40P01" | LOCK_NOT_AVAILABLE | "25006" | "25P03")
        }
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<io::Error>()),
    }
}

pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        return match refusal.detail() {
            Some(detail) => format!("{} ({detail})", refusal.message()),
            None => refusal.message().to_owned(),
        };
    }
    let text = error.to_string();
    match error.source().map(ToString::to_string) {
        Some(source) if !text.contains(&source) => format!("{text}: {source}"),
        _ => text,
    }
}

/// Returns the objects that kept Postgres from dropping another one.
pub(crate) fn dependents(error: &Error) -> Option<String> {
    let Error::Query(error) = error else { return None };
    let refusal = error.as_db_error()?;
    let is_depended_on = *refusal.code() == SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
    let detail = refusal.detail().unwrap_or_else(|| refusal.message());
    is_depended_on.then(|| detail.lines().collect::<Vec<_>>().join("; "))
}

fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "(not a URL)".into() };
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{scheme}://{name}:...@{host}")
        }
        None => format!("{scheme}://{rest}"),
    }
}
