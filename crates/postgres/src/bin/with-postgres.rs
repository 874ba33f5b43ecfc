//! Runs a command with a private Postgres that lives as long as the command does.
//!
//!     with-postgres [--dir DIR] [--] COMMAND [ARGUMENT...]
//!
//! `EVERYTAB_TEST_DATABASE_URL` names it to the command. Ends with the command's exit code.
//! Without `--dir` the server is for tests: no durability, and deleted at the end. With it, the
//! cluster in DIR is used and kept, say to look into it: `with-postgres --dir DIR sh -c 'psql
//! "$EVERYTAB_TEST_DATABASE_URL"'`.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

use everytab_postgres::{PostgresSettings, PrivatePostgres, TEST_URL_VARIABLE};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    let kept = words.next_if(|word| word == "--dir").map(|_| words.next());
    words.next_if(|word| word == "--");
    let (Some(program), Some(Some(_)) | None) = (words.next(), &kept) else {
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
        Command::new(&program).args(words).env(TEST_URL_VARIABLE, server.admin_url()).status();
    let ended = if kept.is_some() { server.stop() } else { server.erase() };
    if let Err(error) = ended {
        eprintln!("with-postgres: {error}");
    }
    match status {
        Ok(status) => {
            // As a shell says it: 128 and the signal's number.
            let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
            ExitCode::from(u8::try_from(code).unwrap_or(1))
        }
        Err(error) => {
            eprintln!("with-postgres: cannot run {}: {error}", program.display());
            ExitCode::from(127)
        }
    }
}
