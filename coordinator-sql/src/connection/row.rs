//! Reads result rows as values, by column name.

use tokio_postgres::{Row, types::FromSql};

use crate::error::Error;

pub(crate) trait FromRow: Sized {
    /// Returns an error if a column is missing or has another type.
    fn from_row(row: &Row) -> Result<Self, Error>;
}

macro_rules! from_row {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl crate::connection::row::FromRow for $type {
            fn from_row(row: &tokio_postgres::Row) -> Result<Self, crate::error::Error> {
                Ok(Self { $($field: row.try_get(stringify!($field))?),* })
            }
        }
    };
}
pub(crate) use from_row;

impl<A: ColumnValue> FromRow for (A,) {
    fn from_row(row: &Row) -> Result<Self, Error> {
        Ok((row.try_get(0)?,))
    }
}

impl<A: ColumnValue, B: ColumnValue> FromRow for (A, B) {
    fn from_row(row: &Row) -> Result<Self, Error> {
        Ok((row.try_get(0)?, row.try_get(1)?))
    }
}

impl<A: ColumnValue, B: ColumnValue, C: ColumnValue> FromRow for (A, B, C) {
    fn from_row(row: &Row) -> Result<Self, Error> {
        Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
    }
}

pub(crate) trait ColumnValue: for<'r> FromSql<'r> {}

impl<T: for<'r> FromSql<'r>> ColumnValue for T {}

pub(crate) fn values<T: FromRow>(rows: &[Row]) -> Result<Vec<T>, Error> {
    rows.iter().map(T::from_row).collect()
}

pub(crate) fn first<T: ColumnValue>(rows: &[Row]) -> Result<T, Error> {
    let row = rows.first().ok_or_else(|| Error::Unexpected("no row".into()))?;
    Ok(row.try_get(0)?)
}

/// Returns `count` values in the order of the statement's input. The column `number`, counted from
/// 1, contains a row's input. `None` if an input has no row.
pub(crate) fn by_number<T: FromRow>(rows: &[Row], count: usize) -> Result<Vec<Option<T>>, Error> {
    let mut found: Vec<Option<T>> = (0..count).map(|_| None).collect();
    for row in rows {
        let number: i64 = row.try_get("number")?;
        let place = usize::try_from(number - 1).ok().and_then(|place| found.get_mut(place));
        if let Some(place) = place {
            *place = Some(T::from_row(row)?);
        }
    }
    Ok(found)
}

/// Returns `count` flags, true for the inputs whose number, counted from 1, a row's first column
/// contains.
pub(crate) fn flags(rows: &[Row], count: usize) -> Result<Vec<bool>, Error> {
    let mut flags = vec![false; count];
    for (number,) in values::<(i64,)>(rows)? {
        let flag = usize::try_from(number - 1).ok().and_then(|place| flags.get_mut(place));
        if let Some(flag) = flag {
            *flag = true;
        }
    }
    Ok(flags)
}
