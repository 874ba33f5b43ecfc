//! A private Postgres, created with the system's own programs. It supports only Linux, because it
//! reads `/proc`.
//!
//! * A directory has one owner, which locks `<dir>/lock` (`flock`) while the server runs.
//! * The server stops with the process that started it. If a directory is used again while its old
//!   server still runs, that server is stopped first.
//! * No other user can reach the server: it listens only on a unix socket in a private directory.
//!   Therefore authentication can be `trust`.
//!
//! Postgres refuses to run as root. If the caller is root, the server runs as the cluster's owner,
//! else as `postgres`, else as `nobody`. If that user cannot enter the directory, the cluster is
//! created in `/var/lib/everytab/`, and `<dir>/LOCATION` names it.
//!
//! With the feature `testing`, `shared_for_tests` returns one server without durability. Under
//! `with-postgres -- cargo nextest run` (used by `make test`) all test processes share one server,
//! named by `EVERYTAB_TEST_DATABASE_URL`.

mod binaries;
mod cluster;
mod error;
mod lock;
mod names;
mod orphans;
#[cfg(feature = "testing")]
mod pooler;
mod private_postgres;
mod process;
mod psql;
mod server;
mod server_folders;
mod settings;
#[cfg(feature = "testing")]
mod standby;
mod temporary;
#[cfg(feature = "testing")]
mod testing;

pub use error::PostgresError;
pub use names::{ADMIN_USER, TEST_URL_VARIABLE};
#[cfg(feature = "testing")]
pub use pooler::Pooler;
pub use private_postgres::PrivatePostgres;
pub use settings::PostgresSettings;
#[cfg(feature = "testing")]
pub use standby::Standby;
#[cfg(feature = "testing")]
pub use testing::{TestServer, shared_for_tests};

#[cfg(doctest)]
# [doc = include_str!("../README.md")]
struct Readme;
