//! Names that callers and several modules share.

/// The superuser of every cluster created here.
pub const ADMIN_USER: &str = "postgres";

/// The environment variable that `with-postgres` sets to the superuser's URL for its command.
pub const TEST_URL_VARIABLE: &str = "EVERYTAB_TEST_DATABASE_URL";

/// The server does not listen on TCP. The port is only part of the socket's file name.
pub(crate) const PORT: u16 = 5432;
