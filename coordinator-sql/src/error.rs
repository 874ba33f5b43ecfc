//! What can go wrong between a worker and Postgres, as one clear line each.

/// An error of the coordinator. `Display` is one line that names what failed and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database URL is not one.
    #[error("database URL {url}: {reason}; expected postgres://user@host/database")]
    Url {
        /// The URL with its password taken out.
        url: String,
        /// Why it was refused.
        reason: String,
    },
    /// No connection could be made.
    #[error("cannot connect to Postgres at {place}: {reason}")]
    Connect {
        /// Host, port and database, without the password.
        place: String,
        /// What the server or the network said, and what to do.
        reason: String,
        /// Whether trying again later may help.
        transient: bool,
    },
    /// The database was never migrated.
    #[error("the database has no EveryTab schema; run `everytab-worker migrate` as its owner")]
    NoSchema,
    /// The schema is not the one that this program was built with.
    #[error(
        "the database's schema is {found}, this program's is {own}; run `everytab-worker migrate` \
         with the newer of the two"
    )]
    Schema {
        /// The digest in the database.
        found: String,
        /// The digest of this program.
        own: String,
    },
    /// A statement failed.
    #[error("Postgres: {0}")]
    Query(#[from] sqlx::Error),
    /// A value from the database is not what the contract says.
    #[error("Postgres answered {0}, which this program does not know")]
    Unexpected(String),
}

impl Error {
    /// Whether the same call may succeed later: broken connections, restarts, failovers,
    /// serialization failures and deadlocks.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { transient, .. } => *transient,
            Self::Query(error) => is_transient(error),
            Self::Url { .. } | Self::NoSchema | Self::Schema { .. } | Self::Unexpected(_) => false,
        }
    }
}

/// SQLSTATE classes and codes that pass by themselves: connection exceptions, insufficient
/// resources, operator intervention, the kinds of lost race, a server that was demoted to a
/// standby, and a transaction that we left in silence for too long.
fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(database) => database.code().is_some_and(|code| {
            let class = code.get(..2).unwrap_or_default();
            matches!(class, "08" | "53" | "57")
                || matches!(&*code, "40001" | "40P01" | "55P03" | "25006" | "25P03")
        }),
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_)
        | sqlx::Error::Tls(_) => true,
        _ => false,
    }
}
