//! Dumps a schema and restores it with the system's `pg_dump` and `pg_restore`.
//!
//! A password is passed in the environment, because every user on the host can read the command
//! line. Owners and grants are not dumped, because roles belong to a cluster and a migration grants
//! their rights again. The search paths are repeated in `crates/lab/postgres/src/binaries.rs`,
//! because the fleet's program must not link that crate.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use everytab_coordinator::{Transport, transport};
use percent_encoding::percent_decode_str;

#[derive(Debug, thiserror::Error)]
pub(super) enum PostgresProgramError {
    #[error(
        "the server is Postgres {server}, and {}: apt-get install postgresql-client-{server}",
        newest.map_or_else(
            || format!("{name} was not found (looked in $EVERYTAB_PG_BIN, pg_config --bindir, \
                        /usr/lib/postgresql/*/bin and PATH)"),
            |newest| format!("the newest {name} here is {newest}"),
        )
    )]
    Missing { name: &'static str, server: u32, newest: Option<u32> },
    #[error("{name}: {message}")]
    Refused { name: &'static str, message: String },
    #[error("no space left on the disk of {}", .0.display())]
    DiskFull(PathBuf),
    #[error("cannot run {}: {source}", path.display())]
    Run { path: PathBuf, source: std::io::Error },
}

/// The system's CA certificates in one file, from Debian's package ca-certificates.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// URL parameters that libpq does not support, with libpq's name if there is one.
const LIBPQ_NAMES: [(&str, Option<&str>); 7] = [
    ("ssl-mode", Some("sslmode")),
    ("ssl-root-cert", Some("sslrootcert")),
    ("ssl-ca", Some("sslrootcert")),
    ("ssl-cert", Some("sslcert")),
    ("ssl-key", Some("sslkey")),
    ("statement-cache-capacity", None),
    ("application_name", None),
];

/// `snapshot` belongs to an open transaction. `server` is the server's major version.
pub(super) fn dump_schema(
    url: &str,
    server: u32,
    schema: &str,
    snapshot: &str,
    to: &Path,
) -> Result<(), PostgresProgramError> {
    let mut command = command("pg_dump", url, server)?;
    // Level 1 compresses rows to a quarter and takes little CPU time.
    command.args(["--format=custom", "--compress=1", "--no-owner", "--no-privileges"]);
    // Set the encoding, because the database or the URL may set one that lacks characters.
    command.arg("--encoding=UTF8");
    command.arg(format!("--schema={schema}")).arg(format!("--snapshot={snapshot}"));
    command.arg("--file").arg(to);
    run(command, "pg_dump", to)
}

/// `dumped_by` is the dumped server's major version.
pub(super) fn restore_dump(
    url: &str,
    dumped_by: u32,
    from: &Path,
) -> Result<(), PostgresProgramError> {
    let mut command = command("pg_restore", url, dumped_by)?;
    command.args(["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]);
    command.arg(from);
    run(command, "pg_restore", from)
}

fn command(name: &'static str, url: &str, server: u32) -> Result<Command, PostgresProgramError> {
    let mut command = Command::new(program(name, server)?);
    let (url, password) = without_password(url);
    command.args(["--no-password", "--dbname", &url]);
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    verify_like_the_client(&mut command, &url);
    // Error messages are parsed, so they must be in English.
    command.env("LC_ALL", "C").env("PGAPPNAME", name);
    Ok(command)
}

/// The coordinator's client verifies a remote server, but by default libpq does not.
fn verify_like_the_client(command: &mut Command, url: &str) {
    let says = |name: &str| url.contains(&format!("{name}="));
    if says("sslmode") || !matches!(transport(url), Ok(Transport::Verified)) {
        return;
    }
    command.env("PGSSLMODE", "verify-full");
    if !says("sslrootcert") && env::var_os("PGSSLROOTCERT").is_none() {
        command.env("PGSSLROOTCERT", SYSTEM_AUTHORITIES);
    }
}

fn run(mut command: Command, name: &'static str, file: &Path) -> Result<(), PostgresProgramError> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let path = PathBuf::from(command.get_program());
    let output = command.output().map_err(|source| PostgresProgramError::Run { path, source })?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("No space left on device") {
        return Err(PostgresProgramError::DiskFull(file.to_path_buf()));
    }
    Err(PostgresProgramError::Refused { name, message: error_message_in(&stderr) })
}

/// Chooses the oldest program that is new enough, because most other versions can read its output.
fn program(name: &'static str, server: u32) -> Result<PathBuf, PostgresProgramError> {
    let found: Vec<(u32, PathBuf)> = folders()
        .into_iter()
        .filter_map(|folder| {
            let program = folder.join(name);
            let output = Command::new(&program).arg("--version").output().ok()?;
            Some((major_in(&String::from_utf8_lossy(&output.stdout))?, program))
        })
        .collect();
    choose(name, server, found)
}

fn choose(
    name: &'static str,
    server: u32,
    found: Vec<(u32, PathBuf)>,
) -> Result<PathBuf, PostgresProgramError> {
    let newest = found.iter().map(|(major, _)| *major).max();
    let fit = found.into_iter().filter(|(major, _)| *major >= server);
    // Choose the first of equal versions, because wrappers in PATH come after the program itself.
    let oldest = fit.reduce(|best, next| if next.0 < best.0 { next } else { best });
    oldest.map(|(_, program)| program).ok_or(PostgresProgramError::Missing { name, server, newest })
}

fn folders() -> Vec<PathBuf> {
    if let Some(folder) = env::var_os("EVERYTAB_PG_BIN") {
        return vec![PathBuf::from(folder)];
    }
    let mut folders = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    let path = env::var_os("PATH").unwrap_or_default();
    folders.extend(env::split_paths(&path));
    folders
}

/// Parses strings such as `pg_dump (PostgreSQL) 15.18 (Debian ...)`.
fn major_in(version: &str) -> Option<u32> {
    let number = version.split_once("(PostgreSQL) ")?.1;
    let digits = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
    number.get(..digits)?.parse().ok()
}

/// Returns the last line with an error prefix, or else the last line.
fn error_message_in(output: &str) -> String {
    let prefixes = ["FATAL: ", "ERROR: ", "error: "];
    let without_prefix = |line: &str| {
        prefixes.iter().find_map(|prefix| Some(line.split_once(prefix)?.1.trim().to_owned()))
    };
    let lines = || output.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let last = || lines().next().unwrap_or("no error message").to_owned();
    lines().find_map(without_prefix).unwrap_or_else(last)
}

fn decode(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(String::from)
}

fn without_password(url: &str) -> (String, Option<String>) {
    let mut password = None;
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let mut base = base.to_owned();
    if let Some((scheme, rest)) = base.split_once("://")
        && let Some((user_info, host)) =
            rest.split_once('/').unwrap_or((rest, "")).0.rsplit_once('@')
        && let Some((user, secret)) = user_info.split_once(':')
    {
        password = decode(secret);
        let after = rest.split_once('/').map_or(String::new(), |(_, path)| format!("/{path}"));
        base = format!("{scheme}://{user}@{host}{after}");
    }
    let mut kept = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match LIBPQ_NAMES.iter().find(|(other, _)| *other == name) {
            _ if name == "password" => password = decode(value),
            Some((_, Some(name))) => kept.push(format!("{name}={value}")),
            Some((_, None)) => {}
            None => kept.push(pair.to_owned()),
        }
    }
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    (base + &query, password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_leaves_the_url_and_the_rest_stays() {
        for (url, expected, password) in [
            ("postgres://u:p%40ss@h:1/d?sslmode=x", "postgres://u@h:1/d?sslmode=x", Some("p@ss")),
            ("postgres://u:p@h", "postgres://u@h", Some("p")),
            ("postgres://u@h/d", "postgres://u@h/d", None),
            ("postgres:///d?host=%2Ftmp&user=u", "postgres:///d?host=%2Ftmp&user=u", None),
            ("postgres:///d?host=h&password=a%26b", "postgres:///d?host=h", Some("a&b")),
            (
                "postgres://h/d?ssl-mode=verify-full&ssl-ca=/ca&statement-cache-capacity=0",
                "postgres://h/d?sslmode=verify-full&sslrootcert=/ca",
                None,
            ),
        ] {
            let found = without_password(url);
            assert_eq!((found.0.as_str(), found.1.as_deref()), (expected, password), "{url}");
        }
    }

    #[test]
    fn a_dump_over_the_network_verifies_the_server_as_the_client_does() {
        let mode = |url: &str| {
            let mut command = Command::new("pg_dump");
            verify_like_the_client(&mut command, url);
            let mode = command.get_envs().find(|(name, _)| *name == "PGSSLMODE");
            mode.and_then(|(_, value)| value?.to_str().map(str::to_owned))
        };
        assert_eq!(mode("postgres://u@db.example/d").as_deref(), Some("verify-full"));
        assert_eq!(mode("postgres://u@db.example/d?sslmode=require"), None);
        assert_eq!(mode("postgres:///d?host=/run/pg"), None);
    }

    #[test]
    fn versions_and_errors_are_read_as_the_programs_print_them() {
        assert_eq!(major_in("pg_dump (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_in("pg_restore (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_in("mysqldump 8"), None);
        let said = "pg_restore: while PROCESSING TOC:\n\
                    pg_restore: error: could not execute query: ERROR:  type \"x\" exists\n";
        assert_eq!(error_message_in(said), "type \"x\" exists");
        assert_eq!(error_message_in("one\ntwo\n\n"), "two");
        assert_eq!(error_message_in(""), "no error message");
    }

    #[test]
    fn the_oldest_program_that_is_new_enough_for_the_server_is_taken() {
        let found = |majors: &[u32]| {
            majors.iter().map(|major| (*major, PathBuf::from(format!("/{major}")))).collect()
        };
        let chosen = choose("pg_dump", 15, found(&[17, 14, 16]));
        assert_eq!(chosen.unwrap(), Path::new("/16"));
        let error = choose("pg_dump", 17, found(&[15, 16])).unwrap_err().to_string();
        assert!(error.contains("server is Postgres 17") && error.contains("here is 16"), "{error}");
        assert!(error.ends_with("apt-get install postgresql-client-17"), "{error}");
        let error = choose("pg_restore", 15, Vec::new()).unwrap_err().to_string();
        assert!(error.contains("pg_restore was not found"), "{error}");
    }
}
