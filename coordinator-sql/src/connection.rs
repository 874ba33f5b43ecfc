//! Connections to one Postgres server: its URL, TLS and password, the pool, and calls with a time
//! limit.

pub(crate) mod bind;
pub(crate) mod call;
pub(crate) mod database_url;
pub(crate) mod hash;
mod password_file;
pub(crate) mod pool;
pub(crate) mod row;
pub(crate) mod server;
mod server_connection;
mod tls;
pub(crate) mod transient;
mod url_parameters;
