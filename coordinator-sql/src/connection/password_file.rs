//! Reads libpq's password file, `PGPASSFILE` or `~/.pgpass`
//! (<https://www.postgresql.org/docs/current/libpq-pgpass.html>).
//!
//! A line has the form `hostname:port:database:username:password`. A field `*` matches anything,
//! and a backslash escapes the next character.

use std::{
    env, fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

pub(super) fn password_from_files(wanted: &[String; 4]) -> Option<(String, PathBuf)> {
    paths().find_map(|path| Some((password_in(&read(&path)?, wanted)?, path)))
}

/// Returns the file to which the user should add a password.
pub(super) fn usual_path() -> Option<PathBuf> {
    paths().next()
}

fn paths() -> impl Iterator<Item = PathBuf> {
    let named = env::var_os("PGPASSFILE").map(PathBuf::from);
    let own = env::home_dir().map(|home| home.join(".pgpass"));
    named.into_iter().chain(own)
}

/// `None` if the file does not exist, cannot be read, or is accessible to other users.
fn read(path: &Path) -> Option<String> {
    let text = fs::metadata(path).and_then(|metadata| {
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::other("other users can access it; run `chmod 600` on it"));
        }
        fs::read_to_string(path)
    });
    match text {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "ignoring the password file");
            None
        }
    }
}

fn password_in(text: &str, wanted: &[String; 4]) -> Option<String> {
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

#[derive(Debug, Default)]
struct Field {
    text: String,
    is_any: bool,
}

/// The last of up to five fields is the rest of the line, because libpq accepts unescaped colons in
/// a password.
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

    fn found_in(text: &str) -> Option<String> {
        password_in(text, &["db.example", "5432", "everytab", "worker"].map(str::to_owned))
    }

    #[test]
    fn the_first_line_that_matches_gives_the_password() {
        let text = "# a comment\n\
                    other:5432:*:worker:no\n\
                    db.example:5432:*:worker:first\n\
                    *:*:*:*:second\n";
        assert_eq!(found_in(text).as_deref(), Some("first"));
        assert_eq!(found_in("*:*:*:*:any").as_deref(), Some("any"));
        assert_eq!(found_in("*:*:*:nobody:any\nshort:line"), None);
    }

    #[test]
    fn colons_and_backslashes_of_a_password_may_be_escaped() {
        let text = r"db.example:5432:everytab:worker:a\:b\\c";
        assert_eq!(found_in(text).as_deref(), Some(r"a:b\c"));
        // A cloud provider's token contains colons.
        let text = "*:*:*:worker:host:5432/?Action=connect&Token=a*";
        assert_eq!(found_in(text).as_deref(), Some("host:5432/?Action=connect&Token=a*"));
        assert_eq!(found_in(r"\*:*:*:*:x"), None, "an escaped star is a star");
    }
}
