//! A private Postgres, made from the system's own programs and reached over a unix socket only.
//!
//! Owns: finding the programs, making a cluster, starting and stopping its server, cleaning up
//! after a killed owner. Runs SQL only to make databases for tests, and does not know what the
//! databases hold. Linux only (it reads `/proc`).
//!
//! Invariants:
//!
//! * A folder has one owner: an advisory lock (`flock`) on `<dir>/lock` is held as long as the
//!   server runs, and the kernel releases it when the owner ends.
//! * The server ends with its owner. It is started by a thread that lives as long as the server
//!   (the kernel's parent-death signal belongs to the *thread* that forked) and gets a fast
//!   shutdown (SIGINT) when the owner ends. A server that still runs when the folder is used again
//!   is stopped first; it is found by its working folder, not by a process number alone.
//! * A cluster is complete or missing: `initdb` works in a folder beside it, which is renamed at
//!   the end.
//! * No other user of the machine reaches the server: it does not listen on TCP, and its socket is
//!   in a folder with mode 0700 that no other user made. Therefore authentication can be `trust`.
//! * Ctrl-C in a terminal does not reach the server (it has a session of its own), so that workers
//!   can finish first.
//!
//! Postgres refuses to run as root. If the caller is root, the server runs as the owner of the
//! cluster, else as `postgres`, else as `nobody`. If that user cannot enter the folder (`/root` has
//! mode 0700), the cluster is made in `/var/lib/everytab/`, and `<dir>/LOCATION` names it.
//!
//! # Tests
//!
//! With the feature `testing`, `shared_for_tests` returns one server without durability. Under
//! `with-postgres -- cargo nextest run` (this package's program; `make test` does it) all test
//! processes share one server, named by `EVERYTAB_TEST_DATABASE_URL`. Without that variable each
//! test process starts its own, which takes about 0.7 s. The next test run removes the folders that
//! killed runs left in the temporary folder.

mod binaries;
mod cluster;
mod error;
mod lock;
mod names;
mod orphans;
mod private_postgres;
mod process;
mod psql;
mod server;
mod server_folders;
mod settings;
mod temporary;
#[cfg(feature = "testing")]
mod testing;

pub use error::PostgresError;
pub use names::{ADMIN_USER, TEST_URL_VARIABLE};
pub use private_postgres::PrivatePostgres;
pub use settings::PostgresSettings;
#[cfg(feature = "testing")]
pub use testing::{TestServer, shared_for_tests};

/// The example of the README, compiled and run as a doc test.
#[cfg(doctest)]
# [doc = include_str!("../README.md")]
struct Readme;
