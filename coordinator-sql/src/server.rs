//! One Postgres server by its URL: how to connect to it, and what a failure to connect means.
//!
//! Must not know: how many connections there are, or what is called over them.

use std::{
    str::FromStr,
    sync::{Arc, atomic::AtomicBool},
};

use sqlx::postgres::PgConnectOptions;

use crate::error::Error;

/// The server, by its URL. The password file (`PGPASSFILE`, `~/.pgpass`) is read for each
/// connection: where a token is the password, it is another one every few minutes.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) application_name: String,
    /// Whether it has let us in before.
    pub(crate) was_let_in: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn options(&self) -> Result<PgConnectOptions, Error> {
        let options = PgConnectOptions::from_str(&self.url).map_err(|error| Error::Url {
            url: without_password(&self.url),
            reason: error.to_string(),
        })?;
        Ok(options
            .application_name(&self.application_name)
            // Poolers refuse what they do not know of; numbers travel in binary anyway.
            .extra_float_digits(None)
            .statement_cache_capacity(0))
    }
}

/// What a failure to connect means. A refusal by a server that let us in before will pass: the
/// password is being changed, or a token has ended before the next was there.
pub(crate) fn connect_error(
    options: &PgConnectOptions,
    error: sqlx::Error,
    was_let_in: bool,
) -> Error {
    let place = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let place = format!("{place}/{}", options.get_database().unwrap_or_default());
    let code = error.as_database_error().and_then(|d| d.code()).map(|c| c.to_string());
    let user = options.get_username();
    let (reason, transient) = match code.as_deref() {
        Some("28P01") => (
            format!("the password of user {user} was refused; correct it in DATABASE_URL"),
            was_let_in,
        ),
        Some("28000") => (format!("user {user} may not connect: {error}"), was_let_in),
        Some("3D000") => ("that database does not exist; create it first".to_owned(), false),
        _ => (format!("{error}; is it running, and is --database-url right?"), true),
    };
    Error::Connect { place, reason, transient }
}

/// A database URL that may be shown: the password is replaced by three dots.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "(not a URL)".into() };
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{scheme}://{name}:...@{host}")
        }
        None => format!("{scheme}://{rest}"),
    }
}
