//! Values that are sent with a statement, each with its Postgres type.
//!
//! A statement with known types needs no preparation: text, types and values are sent in one
//! message.

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

/// A value and its type, as `tokio_postgres::Client::query_typed` takes them.
pub(crate) type Bound<'a> = (&'a (dyn ToSql + Sync), Type);

/// A Rust type with one Postgres type.
pub(crate) trait Bind: ToSql + Sync {
    /// The Postgres type of the value.
    const TYPE: Type;
    /// The Postgres type of an array of such values.
    const ARRAY: Type;
}

/// Returns the value as a parameter.
pub(crate) fn bind<T: Bind>(value: &T) -> Bound<'_> {
    (value, T::TYPE)
}

macro_rules! types {
    ($($rust:ty => $one:ident, $many:ident;)*) => {
        $(impl Bind for $rust {
            const TYPE: Type = Type::$one;
            const ARRAY: Type = Type::$many;
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
    const TYPE: Type = T::TYPE;
    const ARRAY: Type = T::ARRAY;
}

impl<T: Bind> Bind for Vec<T> {
    const TYPE: Type = T::ARRAY;
    // Postgres has no type for an array of arrays with different lengths.
    const ARRAY: Type = T::ARRAY;
}

/// Returns a string that Postgres can store: NUL, which it rejects, is replaced by U+FFFD.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
