//! Calls that are one statement with its values written in: by the simple protocol, so one round
//! trip and a transaction of its own.
//!
//! A prepared statement takes two round trips without a transaction around them, between which a
//! pooler in transaction mode may change the server, and four with one. Values are numbers, UUIDs
//! and quoted text, nothing else. Must not know: what is called.

use std::fmt::{Display, Write as _};

use sqlx::{AssertSqlSafe, postgres::PgRow};

use crate::{call::Bounded, error::Error, pool::Pool};

/// Runs one statement in a transaction of its own.
pub(crate) async fn call(pool: &Pool, sql: String) -> Result<Vec<PgRow>, Error> {
    let mut connection = Bounded::acquire(pool, pool.limit).await?;
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut connection).await?;
    connection.keep();
    Ok(rows)
}

/// A text literal. As an escape string it means the same whatever `standard_conforming_strings`
/// says. Postgres cannot hold a NUL.
pub(crate) fn text(value: &str) -> String {
    let mut literal = String::with_capacity(value.len() + 3);
    literal.push_str("E'");
    for character in value.chars() {
        match character {
            '\'' => literal.push_str("''"),
            '\\' => literal.push_str(r"\\"),
            '\0' => literal.push('\u{fffd}'),
            other => literal.push(other),
        }
    }
    literal.push('\'');
    literal
}

/// An array of values that need no quoting: numbers, UUIDs.
pub(crate) fn array<T: Display>(values: impl IntoIterator<Item = T>, element: &str) -> String {
    let mut literal = String::from("'{");
    for (place, value) in values.into_iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(literal, "{}{value}", if place > 0 { "," } else { "" });
    }
    let _ = write!(literal, "}}'::{element}[]");
    literal
}

/// An array of texts, as elements of that type.
pub(crate) fn texts<T: AsRef<str>>(values: impl IntoIterator<Item = T>, element: &str) -> String {
    let literals: Vec<String> = values.into_iter().map(|value| text(value.as_ref())).collect();
    format!("array[{}]::{element}[]", literals.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_backslashes_and_nul_stay_inside_a_literal() {
        assert_eq!(text(r"a'b\c"), r"E'a''b\\c'");
        assert_eq!(text("a\0b"), "E'a\u{fffd}b'");
        assert_eq!(text(r"\'); drop table jobs; --"), r"E'\\''); drop table jobs; --'");
    }

    #[test]
    fn arrays_of_nothing_have_a_type_too() {
        assert_eq!(array([1, 2], "bigint"), "'{1,2}'::bigint[]");
        assert_eq!(array(Vec::<i32>::new(), "bigint"), "'{}'::bigint[]");
        assert_eq!(texts(["a", "b'"], "jsonb"), r"array[E'a',E'b''']::jsonb[]");
        assert_eq!(texts(Vec::<&str>::new(), "text"), "array[]::text[]");
    }
}
