//! Dumps a schema to a file and restores it, by the system's `pg_dump` and `pg_restore`.
//!
//! Works with any server, not only a private one. A password is passed in the environment, never on
//! the command line, which every user of the machine can read. Owners and grants are not dumped:
//! roles belong to a cluster, and migrating grants again.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    binaries::{self, major_in},
    error::{PostgresError, complaint_in},
    psql,
};

/// URL parameters that sqlx knows and libpq does not, with libpq's name; none: no such parameter.
const OTHER_NAMES: [(&str, Option<&str>); 7] = [
    ("ssl-mode", Some("sslmode")),
    ("ssl-root-cert", Some("sslrootcert")),
    ("ssl-ca", Some("sslrootcert")),
    ("ssl-cert", Some("sslcert")),
    ("ssl-key", Some("sslkey")),
    ("statement-cache-capacity", None),
    ("application_name", None),
];

/// Writes a schema in custom format to the file `to`, as the `snapshot` of an open transaction sees
/// it. `server` is the server's major version. Blocks.
///
/// # Errors
/// There is no `pg_dump` for that server, or its first error message.
pub fn dump_schema(
    url: &str,
    server: u32,
    schema: &str,
    snapshot: &str,
    to: &Path,
) -> Result<(), PostgresError> {
    let mut command = command("pg_dump", url, server)?;
    // Level 1: rows shrink to a quarter, and compressing a million takes 1.5 s of a core.
    command.args(["--format=custom", "--compress=1", "--no-owner", "--no-privileges"]);
    command.arg(format!("--schema={schema}")).arg(format!("--snapshot={snapshot}"));
    command.arg("--file").arg(to);
    run(command, "pg_dump", to)
}

/// Restores a dump of a server of major version `dumped_by` into a database without its schema, in
/// one transaction. Blocks.
///
/// # Errors
/// There is no `pg_restore` for it, or its first error message.
pub fn restore_dump(url: &str, dumped_by: u32, from: &Path) -> Result<(), PostgresError> {
    let mut command = command("pg_restore", url, dumped_by)?;
    command.args(["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]);
    command.arg(from);
    run(command, "pg_restore", from)
}

fn command(name: &'static str, url: &str, server: u32) -> Result<Command, PostgresError> {
    let mut command = Command::new(program(name, server)?);
    let (url, password) = without_password(url);
    command.args(["--no-password", "--dbname", &url]);
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    // The messages are read in English.
    command.env("LC_ALL", "C").env("PGAPPNAME", name);
    Ok(command)
}

fn run(mut command: Command, name: &'static str, file: &Path) -> Result<(), PostgresError> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let path = PathBuf::from(command.get_program());
    let output = command.output().map_err(PostgresError::io("run", &path))?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    if messages.contains("No space left on device") {
        return Err(PostgresError::DiskFull(file.to_path_buf()));
    }
    Err(PostgresError::Tool { name, complaint: complaint_in(&messages) })
}

/// The oldest program that can read the server: most other versions can read what it writes.
fn program(name: &'static str, server: u32) -> Result<PathBuf, PostgresError> {
    let found: Vec<(u32, PathBuf)> = binaries::folders()
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
) -> Result<PathBuf, PostgresError> {
    let newest = found.iter().map(|(major, _)| *major).max();
    let fit = found.into_iter().filter(|(major, _)| *major >= server);
    // The first of several with one version: a wrapper in the PATH comes after the program.
    let oldest = fit.reduce(|best, next| if next.0 < best.0 { next } else { best });
    oldest.map(|(_, program)| program).ok_or(PostgresError::NoTool { name, server, newest })
}

/// The URL for libpq without the password, and the password.
fn without_password(url: &str) -> (String, Option<String>) {
    let mut password = None;
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let mut base = base.to_owned();
    if let Some((scheme, rest)) = base.split_once("://")
        && let Some((user_info, host)) =
            rest.split_once('/').unwrap_or((rest, "")).0.rsplit_once('@')
        && let Some((user, secret)) = user_info.split_once(':')
    {
        password = psql::decode(secret);
        let after = rest.split_once('/').map_or(String::new(), |(_, path)| format!("/{path}"));
        base = format!("{scheme}://{user}@{host}{after}");
    }
    let mut kept = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match OTHER_NAMES.iter().find(|(other, _)| *other == name) {
            _ if name == "password" => password = psql::decode(value),
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
    fn the_oldest_tool_that_understands_the_server_is_taken() {
        let found = |majors: &[u32]| {
            majors.iter().map(|major| (*major, PathBuf::from(format!("/{major}")))).collect()
        };
        let chosen = choose("pg_dump", 15, found(&[17, 14, 16]));
        assert_eq!(chosen.unwrap(), Path::new("/16"));
        let error = choose("pg_dump", 17, found(&[15, 16])).unwrap_err().to_string();
        assert!(error.contains("server is Postgres 17") && error.contains("here is 16"), "{error}");
        assert!(error.ends_with("apt-get install postgresql-client-17"), "{error}");
        let error = choose("pg_restore", 15, Vec::new()).unwrap_err().to_string();
        assert!(error.contains("no pg_restore"), "{error}");
    }
}
