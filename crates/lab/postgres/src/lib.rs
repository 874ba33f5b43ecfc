//! A private Postgres, created with the system's own programs and accessible only through a unix
//! socket.
//!
//! This crate finds the programs, creates a cluster, starts and stops its server, and cleans up
//! after a killed owner. Its own SQL only creates databases for tests. It supports only Linux,
//! because it reads `/proc`.
//!
//! Invariants:
//!
//! * A directory has one owner, which holds an advisory lock (`flock`) on `<dir>/lock` while the
//!   server runs. The kernel releases this lock when the owner exits.
//! * The server stops with its owner. The kernel's parent-death signal belongs to the *thread* that
//!   forked. Therefore a thread that lives as long as the server starts it, and the server gets a
//!   fast shutdown (SIGINT) when the owner exits. If a directory is used again while its old server
//!   still runs, this server is stopped first. It is found by its working directory, not only by a
//!   process ID.
//! * A cluster is complete or missing, because `initdb` works in a directory next to it, which is
//!   renamed at the end.
//! * No other user of the host can reach the server. It does not listen on TCP, and its socket is
//!   in a directory with mode 0700 that no other user created. Therefore authentication can be
//!   `trust`.
//! * Ctrl-C in a terminal does not reach the server, which has its own session, so workers can
//!   finish first.
//!
//! Postgres refuses to run as root. If the caller is root, the server runs as the cluster's owner,
//! else as `postgres`, else as `nobody`. If that user cannot enter the directory (`/root` has mode
//! 0700), the cluster is created in `/var/lib/everytab/`, and `<dir>/LOCATION` names it.
//!
//! # Tests
//!
//! With the feature `testing`, `shared_for_tests` returns one server without durability, and a
//! private server can fail over to a `Standby` that lacks its last commits. Under `with-postgres --
//! cargo nextest run` (this package's program, used by `make test`) all test processes share one
//! server, named by `EVERYTAB_TEST_DATABASE_URL`. Without this variable each test process starts
//! its own, which takes about 0.7 s. The next test run removes the directories that killed runs
//! left in the temporary directory.

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

/// Compiles and runs the README's example as a doc test.
#[cfg(doctest)]
# [doc = include_str!("../README.md")]
struct Readme;
