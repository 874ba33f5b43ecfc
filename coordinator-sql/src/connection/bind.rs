//! Statement parameters with their Postgres types.

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

pub(crate) type Bound<'a> = (&'a (dyn ToSql + Sync), SqlType);

/// The Postgres type of a parameter.
#[derive(Debug, Clone)]
pub(crate) enum SqlType {
    BuiltIn(Type),
    Row(&'static str),
    /// An array of this composite type, by name.
    Rows(&'static str),
}

pub(crate) trait Bind: ToSql + Sync {
    const TYPE: SqlType;
    const ARRAY: SqlType;
}

pub(crate) fn bind<T: Bind>(value: &T) -> Bound<'_> {
    (value, T::TYPE)
}

macro_rules! types {
    ($($rust:ty => $one:ident, $many:ident;)*) => {
        $(impl Bind for $rust {
            const TYPE: SqlType = SqlType::BuiltIn(Type::$one);
            const ARRAY: SqlType = SqlType::BuiltIn(Type::$many);
        })*
    };
}

types! {
    bool => BOOL, BOOL_ARRAY;
    i16 => INT2, INT2_ARRAY;
    i32 => INT4, INT4_ARRAY;
    i64 => INT8, INT8_ARRAY;
    f64 => FLOAT8, FLOAT8_ARRAY;
    &str => TEXT, TEXT_ARRAY;
    String => TEXT, TEXT_ARRAY;
    &[u8] => BYTEA, BYTEA_ARRAY;
    Uuid => UUID, UUID_ARRAY;
    DateTime<Utc> => TIMESTAMPTZ, TIMESTAMPTZ_ARRAY;
    Value => JSONB, JSONB_ARRAY;
    &Value => JSONB, JSONB_ARRAY;
}

impl<T: Bind> Bind for Option<T> {
    const TYPE: SqlType = T::TYPE;
    const ARRAY: SqlType = T::ARRAY;
}

impl<T: Bind> Bind for Vec<T> {
    const TYPE: SqlType = T::ARRAY;
    // Postgres has no arrays whose elements are arrays of different lengths.
    const ARRAY: SqlType = T::ARRAY;
}

/// Declares the composite type as which a Rust struct is sent.
macro_rules! sql_row {
    (
        $name:tt: $sql:ident from $rust:ty as |$row:ident| {
            $($column:ident: $type:ty = $value:expr),* $(,)?
        }
    ) => {
        #[doc = concat!("A row of the composite type `everytab.", $name, "`.")]
        #[derive(Debug, ::postgres_types::ToSql)]
        #[postgres(name = $name)]
        pub(crate) struct $sql<'a> {
            $($column: $type),*
        }

        impl<'a> From<&'a $rust> for $sql<'a> {
            fn from($row: &'a $rust) -> Self {
                Self { $($column: $value),* }
            }
        }

        impl $crate::connection::bind::Bind for $sql<'_> {
            const TYPE: $crate::connection::bind::SqlType =
                $crate::connection::bind::SqlType::Row($name);
            const ARRAY: $crate::connection::bind::SqlType =
                $crate::connection::bind::SqlType::Rows($name);
        }
    };
}
pub(crate) use sql_row;

pub(crate) fn sql_rows<'a, R, S: From<&'a R>>(rows: &'a [R]) -> Vec<S> {
    rows.iter().map(S::from).collect()
}

/// Replaces NUL by U+FFFD, because Postgres rejects strings that contain NUL.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
