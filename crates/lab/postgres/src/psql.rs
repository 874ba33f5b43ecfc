//! Connection URLs, and SQL through the system's psql.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    error::{self, PostgresError},
    names::PORT,
};

pub(crate) fn url(socket_folder: &Path, database: &str, user: &str) -> String {
    let folder = encode(socket_folder.as_os_str().as_encoded_bytes());
    let (database, user) = (encode(database.as_bytes()), encode(user.as_bytes()));
    format!("postgres:///{database}?host={folder}&port={PORT}&user={user}&sslmode=disable")
}

pub(crate) fn socket_in(socket_folder: &Path) -> PathBuf {
    socket_folder.join(format!(".s.PGSQL.{PORT}"))
}

#[cfg(any(feature = "testing", test))]
pub(crate) fn parameter_of(url: &str, name: &str) -> Option<String> {
    let query = url.strip_prefix("postgres:///")?.split_once('?')?.1;
    let value = query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key == name).then_some(value)
    })?;
    decode(value)
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(*byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(any(feature = "testing", test))]
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Each statement in `sql` is its own transaction.
pub(crate) fn run(psql: &Path, url: &str, sql: &str) -> Result<String, PostgresError> {
    let mut command = Command::new(psql);
    command.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--no-password"]);
    command.args(["--set", "ON_ERROR_STOP=1", "--dbname", url]);
    crate::cluster::set_environment(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(PostgresError::io("run", psql))?;
    let written = std::thread::scope(|scope| {
        let mut input = child.stdin.take();
        // Write on a separate thread, because psql may fill its output pipe before it has read all
        // input.
        let writer = scope.spawn(move || match input.as_mut() {
            Some(input) => input.write_all(sql.as_bytes()),
            None => Ok(()),
        });
        let output = child.wait_with_output();
        (output, writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked"))))
    });
    let output = written.0.map_err(PostgresError::io("run", psql))?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(PostgresError::Psql(error::error_message_in(&messages)));
    }
    written.1.map_err(PostgresError::io("write to", psql))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_every_part_and_reads_back() {
        let made = url(Path::new("/tmp/a folder&b"), "d?b", "o'neil/x");
        assert_eq!(
            made,
            "postgres:///d%3Fb?host=%2Ftmp%2Fa%20folder%26b&port=5432&user=o%27neil%2Fx\
             &sslmode=disable"
        );
        assert_eq!(parameter_of(&made, "host").as_deref(), Some("/tmp/a folder&b"));
        assert_eq!(parameter_of(&made, "user").as_deref(), Some("o'neil/x"));
        assert_eq!(parameter_of("postgres://h/d?host=x", "host"), None);
        assert_eq!(parameter_of("postgres:///d?host=%4", "host"), None);
    }
}
