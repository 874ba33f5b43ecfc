//! Replaces the functions of an earlier version.
//!
//! Invariant: migrating keeps other roles' grants and views. A function with unchanged parameters
//! and result is replaced in place. Any other is dropped without `cascade`, and other roles get
//! their grants on it back.

use crate::{
    connection::{
        bind::bind,
        call::Transaction,
        row::{from_row, values},
    },
    error::{Error, dependents},
    operate::schema::FUNCTIONS,
};

const CREATE: &str = "create or replace function ";
/// SQLSTATE if a function's result or parameter names differ.
const INVALID_FUNCTION_DEFINITION: &str = "42P13";

/// A replaced function keeps its oid and gets another xmin. The grants are those of roles that are
/// not in `grants.sql`.
const EARLIER: &str = "
    select p.oid::bigint as oid, p.xmin::text::bigint as version,
           n.nspname || '.' || p.proname as name,
           array(select format('grant execute on function %I.%I to %I', n.nspname, p.proname,
                               r.rolname)
                        || case when a.is_grantable then ' with grant option' else '' end
                   from aclexplode(p.proacl) a join pg_roles r on r.oid = a.grantee
                  where a.grantee <> p.proowner
                    and r.rolname not in ('everytab_worker', 'everytab_worker_crawl',
                                          'everytab_worker_icons', 'everytab_worker_site',
                                          'everytab_api')) as grants
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('coordinator', 'api') and p.prokind = 'f'";

const NAMED: &str = "
    select p.oid::regprocedure::text
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname || '.' || p.proname = $1 and p.prokind = 'f'";

const NOT_REPLACED: &str = "
    select p.oid::regprocedure::text
      from pg_proc p join unnest($1::bigint[], $2::bigint[]) as earlier (oid, version)
        on p.oid::bigint = earlier.oid and p.xmin::text::bigint = earlier.version";

const GONE: &str = "
    select earlier.oid from unnest($1::bigint[]) as earlier (oid)
     where not exists (select from pg_proc p where p.oid::bigint = earlier.oid)";

#[derive(Debug)]
struct EarlierFunction {
    oid: i64,
    version: i64,
    name: String,
    grants: Vec<String>,
}

from_row!(EarlierFunction { oid, version, name, grants });

/// Returns statements that restore other roles' grants, which the caller runs after its own grants.
/// Returns [`Error::Dependents`] if another role's objects depend on a function that must be
/// dropped.
pub(super) async fn replace_functions(transaction: &Transaction) -> Result<Vec<String>, Error> {
    let earlier: Vec<EarlierFunction> = values(&transaction.rows(EARLIER, &[]).await?)?;
    let mut names = Vec::with_capacity(FUNCTIONS.len());
    for (file, text) in FUNCTIONS {
        let name = name_of(text).ok_or_else(|| {
            Error::Unexpected(format!("{file}, which does not create a function"))
        })?;
        create(transaction, name, text).await?;
        names.push(name);
    }
    let oids: Vec<i64> = earlier.iter().map(|function| function.oid).collect();
    let versions: Vec<i64> = earlier.iter().map(|function| function.version).collect();
    // Otherwise a function whose parameters changed would remain next to the new one.
    let stale = transaction.rows(NOT_REPLACED, &[bind(&oids), bind(&versions)]).await?;
    drop_all(transaction, values(&stale)?).await?;
    let gone: Vec<(i64,)> = values(&transaction.rows(GONE, &[bind(&oids)]).await?)?;
    let is_gone = |function: &EarlierFunction| gone.contains(&(function.oid,));
    let is_there = |function: &EarlierFunction| names.contains(&function.name.as_str());
    let replaced = earlier.into_iter().filter(|function| is_gone(function) && is_there(function));
    Ok(replaced.flat_map(|function| function.grants).collect())
}

fn name_of(text: &str) -> Option<&str> {
    text.split_once(CREATE)?.1.split('(').next()
}

async fn create(transaction: &Transaction, name: &str, text: &str) -> Result<(), Error> {
    let script = format!("savepoint before_function; {text}; release savepoint before_function");
    match transaction.script(&script).await {
        Err(error) if error.sqlstate() == Some(INVALID_FUNCTION_DEFINITION) => {
            transaction.script("rollback to savepoint before_function").await?;
            let named = transaction.rows(NAMED, &[bind(&name)]).await?;
            drop_all(transaction, values(&named)?).await?;
            transaction.script(text).await
        }
        created => created,
    }
}

async fn drop_all(transaction: &Transaction, functions: Vec<(String,)>) -> Result<(), Error> {
    for (function,) in functions {
        let dropped = transaction.script(&format!("drop function {function}")).await;
        dropped.map_err(|error| match dependents(&error) {
            Some(dependents) => Error::Dependents { function, dependents },
            None => error,
        })?;
    }
    Ok(())
}
