//! Reads the password file of libpq: `PGPASSFILE`, else `~/.pgpass`.
//!
//! Source: <https://www.postgresql.org/docs/current/libpq-pgpass.html>. A line is
//! `hostname:port:database:username:password`; `*` matches anything, a backslash escapes.

use std::{
    env, fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Returns the password in the first matching line of the file that `PGPASSFILE` names, else of the
/// one in the home directory.
pub(crate) fn password_from_files(
    host: &str,
    port: u16,
    database: &str,
    user: &str,
) -> Option<String> {
    let named = env::var_os("PGPASSFILE").map(PathBuf::from);
    let own = env::home_dir().map(|home| home.join(".pgpass"));
    let port = port.to_string();
    let wanted = [host, &port, database, user];
    named.into_iter().chain(own).find_map(|path| password_in(&read(&path)?, &wanted))
}

/// Returns the file's contents. `None` if it does not exist, or other users may access it.
fn read(path: &Path) -> Option<String> {
    let text = fs::metadata(path).and_then(|metadata| {
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::other("others may read it; its mode must be 0600"));
        }
        fs::read_to_string(path)
    });
    match text {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the password file is not used");
            None
        }
    }
}

fn password_in(text: &str, wanted: &[&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let (password, patterns) = fields.split_last()?;
        let matches = patterns.len() == wanted.len()
            && patterns
                .iter()
                .zip(wanted)
                .all(|(pattern, value)| pattern.is_any || pattern.text == *value);
        matches.then(|| password.text.clone())
    })
}

/// One field of a line, unescaped.
#[derive(Debug, Default)]
struct Field {
    text: String,
    /// Whether the field is a bare `*`.
    is_any: bool,
}

/// Splits a line into five fields. The last one is the rest of the line, because libpq accepts a
/// password with unescaped colons.
fn fields(line: &str) -> Vec<Field> {
    let mut fields = vec![Field::default()];
    let mut escaped = false;
    for character in line.chars() {
        let count = fields.len();
        let Some(field) = fields.last_mut() else { break };
        match character {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            ':' if !escaped && count < 5 => fields.push(Field::default()),
            other => {
                field.is_any = other == '*' && !escaped && field.text.is_empty();
                field.text.push(other);
            }
        }
        escaped = false;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: [&str; 4] = ["db.example", "5432", "everytab", "worker"];

    #[test]
    fn the_first_line_that_matches_gives_the_password() {
        let text = "# a comment\n\
                    other:5432:*:worker:no\n\
                    db.example:5432:*:worker:first\n\
                    *:*:*:*:second\n";
        assert_eq!(password_in(text, &WANTED).as_deref(), Some("first"));
        assert_eq!(password_in("*:*:*:*:any", &WANTED).as_deref(), Some("any"));
        assert_eq!(password_in("*:*:*:nobody:any\nshort:line", &WANTED), None);
    }

    #[test]
    fn colons_and_backslashes_of_a_password_may_be_escaped() {
        let text = r"db.example:5432:everytab:worker:a\:b\\c";
        assert_eq!(password_in(text, &WANTED).as_deref(), Some(r"a:b\c"));
        // A cloud provider's token contains colons; libpq takes the rest of the line.
        let text = "*:*:*:worker:host:5432/?Action=connect&Token=a*";
        assert_eq!(
            password_in(text, &WANTED).as_deref(),
            Some("host:5432/?Action=connect&Token=a*")
        );
        assert_eq!(password_in(r"\*:*:*:*:x", &WANTED), None, "an escaped star is a star");
    }
}
