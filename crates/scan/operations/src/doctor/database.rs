//! Checks the database: connection, version, rights, schema and drift.

use everytab_coordinator::{ConnectSettings, Coordinator, Digests, Error, LeaseCursors, Transport};

use super::{
    check::{Check, NewestScan},
    role_needs::RoleNeeds,
};

const SCANS_AUDITED: usize = 10;
/// The oldest supported version, as a server_version_num.
const OLDEST_VERSION: i32 = 150_000;
const DENIED: &str = "42501";
const RIGHTS: &str = "rights";

/// Returns the checks, and the newest scan with its stores. `needs` is `None` for an operator.
pub async fn check(url: &str, needs: Option<&RoleNeeds>) -> (Vec<Check>, Option<NewestScan>) {
    let coordinator = match Coordinator::connect(url, &ConnectSettings::default()).await {
        Ok(coordinator) => coordinator,
        Err(error) => {
            let remedy = "correct --database-url, or start the server";
            return (vec![Check::fail("database", error.to_string(), remedy)], None);
        }
    };
    let mut checks = vec![version(&coordinator).await, isolation(&coordinator).await];
    checks.push(transport(url));
    let schema = coordinator.check_schema().await;
    if needs.is_none() {
        checks.push(rights(&coordinator, schema.is_ok()).await);
    }
    checks.push(encoding(&coordinator).await);
    match schema {
        Ok(()) => checks.push(Check::ok("schema", everytab_coordinator::schema_digest())),
        Err(error) => {
            let remedy = "run `everytab-worker migrate` as the owner";
            checks.push(Check::fail("schema", error.to_string(), remedy));
            coordinator.close().await;
            return (checks, None);
        }
    }
    if let Some(needs) = needs {
        checks.push(role(&coordinator, needs).await);
        if needs.is_api {
            coordinator.close().await;
            return (checks, None);
        }
    }
    let (check, newest) = match newest_scan(&coordinator).await {
        Ok(found) => found,
        Err(error) => (failed("newest scan", &error), None),
    };
    checks.push(check);
    checks.push(audit(&coordinator).await.unwrap_or_else(|error| failed("audit", &error)));
    coordinator.close().await;
    (checks, newest)
}

fn failed(check: &'static str, error: &Error) -> Check {
    Check::fail(check, error.to_string(), "see the server's log")
}

async fn version(coordinator: &Coordinator) -> Check {
    match coordinator.server_version().await {
        Ok(version) => {
            let shown = format!("Postgres {}.{}", version / 10_000, version % 10_000);
            if version >= OLDEST_VERSION {
                Check::ok("database", format!("{shown} answers"))
            } else {
                Check::fail("database", shown, "use Postgres 15 or newer")
            }
        }
        Err(error) => failed("database", &error),
    }
}

async fn isolation(coordinator: &Coordinator) -> Check {
    let check = "database isolation";
    match coordinator.default_isolation().await {
        Ok(level) if level == "read committed" => Check::ok(check, format!("{level} by default")),
        Ok(level) => {
            let found = format!("{level} by default; workers and commands use read committed");
            Check::ok(check, found)
        }
        Err(error) => failed(check, &error),
    }
}

fn transport(url: &str) -> Check {
    match everytab_coordinator::transport(url) {
        Ok(Transport::Local) => Check::ok("database TLS", "the server is on this machine"),
        Ok(Transport::Verified) => Check::ok("database TLS", "the server is verified"),
        Ok(Transport::Unverified) => Check::fail(
            "database TLS",
            "the URL sets a weaker mode than sslmode=verify-full",
            "leave sslmode out of --database-url, and name the authority with sslrootcert=FILE",
        ),
        Err(error) => failed("database TLS", &error),
    }
}

async fn encoding(coordinator: &Coordinator) -> Check {
    match coordinator.encoding().await {
        Ok(encoding) if encoding == "UTF8" => Check::ok("encoding", encoding),
        Ok(encoding) => Check::fail(
            "encoding",
            format!("the database stores {encoding}, and names and titles need UTF8"),
            "create another with `createdb --encoding UTF8 --template template0 NAME`",
        ),
        Err(error) => failed("encoding", &error),
    }
}

/// A role that can read the schema's digest may execute the coordinator's functions, as a worker
/// must.
async fn rights(coordinator: &Coordinator, may_work: bool) -> Check {
    match coordinator.may_migrate().await {
        Ok(true) => Check::ok("rights", "may migrate and work"),
        Ok(false) if may_work => Check::ok("rights", "may work, not migrate"),
        Ok(false) => Check::fail(
            "rights",
            "this role may neither migrate nor work",
            "connect as the owner, or as everytab_worker once the database is migrated",
        ),
        Err(error) => failed("rights", &error),
    }
}

async fn role(coordinator: &Coordinator, needs: &RoleNeeds) -> Check {
    let tried = if needs.is_api {
        coordinator.may_serve().await
    } else {
        let digests = Digests { encoder: String::new() };
        // Lease no job, and skip the sweep that starts a full scan.
        let mut cursors = LeaseCursors::default();
        cursors.note(&[]);
        let leased = coordinator.lease("doctor", &needs.kinds, 0, &digests, &cursors).await;
        leased.map(|_| true)
    };
    rights_of_role(tried, needs.database_role())
}

/// `wanted` names a database role that may make this call.
fn rights_of_role(tried: Result<bool, Error>, wanted: &str) -> Check {
    let found = match tried {
        Ok(true) => {
            return Check::ok(RIGHTS, "this database role has the rights that --role needs");
        }
        Ok(false) => "this database role may not serve the HTTP service".to_owned(),
        Err(error) if error.sqlstate() == Some(DENIED) => error.to_string(),
        Err(error) => return failed(RIGHTS, &error),
    };
    Check::fail(RIGHTS, found, format!("sign in as {wanted}, or name other roles with --role"))
}

async fn audit(coordinator: &Coordinator) -> Result<Check, Error> {
    let scans = coordinator.list_scans().await?;
    let newest = scans.get(..SCANS_AUDITED.min(scans.len())).unwrap_or_default();
    let mut found = Vec::new();
    for scan in newest {
        let Some(number) = coordinator.scan_number(Some(scan.scan_id)).await? else { continue };
        for (kind, outstanding, unfinished) in coordinator.audit_run(number).await? {
            found.push(format!(
                "{} of {}: {outstanding} outstanding, {unfinished} rows unfinished",
                kind, scan.scan_id
            ));
        }
    }
    Ok(if found.is_empty() {
        Check::ok("audit", format!("counters and rows agree in the newest {} scans", newest.len()))
    } else {
        Check::fail("audit", found.join(", "), "this is a bug: keep the database and report it")
    })
}

async fn newest_scan(coordinator: &Coordinator) -> Result<(Check, Option<NewestScan>), Error> {
    let Some(number) = coordinator.scan_number(None).await? else {
        return Ok((Check::ok("newest scan", "there is no scan yet"), None));
    };
    let status = coordinator.scan_status(number).await?;
    let info = coordinator.load_scan(number).await?;
    let id = info.scan_id;
    let settings = match serde_json::from_value(info.settings) {
        Ok(settings) => settings,
        Err(error) => {
            let found = format!("the settings of scan {id} cannot be parsed: {error}");
            return Ok((Check::fail("newest scan", found, "use the worker that started it"), None));
        }
    };
    let drift = &status.drift;
    let state = status.state;
    let check = if drift.is_empty() {
        Check::ok("newest scan", format!("{id} of {} is {state}, its counts agree", info.crawl))
    } else {
        let drift: Vec<String> =
            drift.iter().map(|drift| serde_json::to_string(drift).unwrap_or_default()).collect();
        let found = format!("{id} is {state}, and counts disagree with rows: {}", drift.join(" "));
        Check::fail("newest scan", found, "report it; `scan retry` recounts the closing jobs")
    };
    let is_open = state.is_open();
    Ok((check, Some(NewestScan { crawl: info.crawl, settings, id, is_open })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_denied_call_is_a_matter_of_the_database_role() {
        let wanted = "everytab_worker_crawl";
        let remedy = |tried| rights_of_role(tried, wanted).remedy.unwrap();
        assert!(remedy(Ok(false)).contains(wanted));
        assert_eq!(remedy(Err(Error::TimedOut)), "see the server's log");
    }
}
