//! Runs a command with a private Postgres, which stops when the command exits.
//!
//!     with-postgres [--dir DIR] [--] COMMAND [ARGUMENT...]
//!
//! The command gets the superuser's URL in `EVERYTAB_TEST_DATABASE_URL`. Without `--dir` the server
//! is for tests: it is not durable, and is deleted at the end. With `--dir`, this program uses the
//! cluster in DIR and keeps it. For example: `with-postgres --dir DIR sh -c 'psql
//! "$EVERYTAB_TEST_DATABASE_URL"'`.

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, ExitCode},
};

use everytab_postgres::{PostgresSettings, PrivatePostgres, TEST_URL_VARIABLE};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let kept = arguments.next_if(|argument| argument == "--dir").map(|_| arguments.next());
    arguments.next_if(|argument| argument == "--");
    let (Some(program), Some(Some(_)) | None) = (arguments.next(), &kept) else {
        eprintln!("usage: with-postgres [--dir DIR] [--] COMMAND [ARGUMENT...]");
        return ExitCode::from(2);
    };
    let kept = kept.flatten();
    let started = match &kept {
        Some(dir) => PrivatePostgres::start(PostgresSettings::new(dir)),
        None => PrivatePostgres::start_for_tests(),
    };
    let server = match started {
        Ok(server) => server,
        Err(error) => {
            eprintln!("with-postgres: {error}");
            return ExitCode::FAILURE;
        }
    };
    let status =
        Command::new(&program).args(arguments).env(TEST_URL_VARIABLE, server.admin_url()).status();
    let ended = if kept.is_some() { server.stop() } else { server.erase() };
    if let Err(error) = ended {
        eprintln!("with-postgres: {error}");
    }
    match status {
        Ok(status) => {
            let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
            ExitCode::from(u8::try_from(code).unwrap_or(1))
        }
        Err(error) => {
            eprintln!("with-postgres: cannot run {}: {error}", program.display());
            ExitCode::from(127)
        }
    }
}
