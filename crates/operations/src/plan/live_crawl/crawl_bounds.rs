//! Computes how many workers and databases a live crawl needs, and what limits its pages per
//! second. Pure.
//!
//! Invariants: the crawl is as fast as its scarcest resource, but no faster than requested. The
//! databases' numbers of frontier slots differ by at most one, each database has at least one
//! worker, and every worker has a slot.

use everytab_frontier::SLOTS;

use super::{
    crawl_rates::{
        DISK_GB_AT_LEAST, DISK_IN_USE, DISK_OPERATIONS, FAST_DISK_GB, FAST_DISK_OPERATIONS,
        HOST_ROW_BYTES, HOSTS_A_WORKER, MACHINES_IN_USE, REQUESTS, SLOW_DISK_OPERATIONS,
    },
    figure::{bytes, counted, number, seconds},
    page_use::PageUse,
};
use crate::{
    error::OperationError,
    plan::{
        cost::GB,
        prices::{Database, Machine},
        rates::FETCH_SLOT,
    },
};

/// Seconds per day.
pub(super) const DAY: f64 = 86_400.0;

/// A live crawl to plan, with its instances.
#[derive(Debug, Clone)]
pub(super) struct CrawlOrder<'a> {
    pub(super) pages: f64,
    pub(super) days: f64,
    pub(super) hosts: f64,
    /// Maximum gigabytes of disk of one Postgres.
    pub(super) database_gb: f64,
    pub(super) workers: Option<f64>,
    pub(super) in_flight: f64,
    pub(super) core_speed: f64,
    pub(super) machine: &'a Machine,
    pub(super) database: &'a Database,
    pub(super) page: PageUse,
}

/// The pages per second that a resource allows.
#[derive(Debug, Clone)]
pub(super) struct CrawlBound {
    pub(super) name: &'static str,
    pub(super) pages_a_second: f64,
    pub(super) formula: String,
}

/// The instances of a live crawl, and its speed.
#[derive(Debug, Clone)]
pub(super) struct CrawlFleet {
    pub(super) workers: f64,
    pub(super) databases: f64,
    /// Gigabytes of disk of each database.
    pub(super) disk_gb: f64,
    /// Bytes that remain in all databases together.
    pub(super) row_bytes: f64,
    pub(super) bounds: Vec<CrawlBound>,
    pub(super) pages_a_second: f64,
    /// The resource that runs out first, or the requested days.
    pub(super) bound_by: &'static str,
    /// The next limit if this one were removed.
    pub(super) then_by: &'static str,
}

/// The pages per second that one worker, or one database, allows.
struct Share {
    name: &'static str,
    each: f64,
    formula: String,
}

impl CrawlOrder<'_> {
    fn worker_shares(&self) -> [Share; 4] {
        let (machine, page) = (self.machine, &self.page);
        let cores = machine.vcpus * self.core_speed;
        // A network card has this bandwidth in each direction.
        let carried = page.received.max(page.stored + page.sent);
        let network = machine.network_gbit * 1e9 / 8.0;
        [
            Share {
                name: "CPU of the workers",
                each: cores * MACHINES_IN_USE / page.cpu,
                formula: format!(
                    "{} x {MACHINES_IN_USE} / {}",
                    counted(cores, "core"),
                    seconds(page.cpu)
                ),
            },
            Share {
                name: "network of the workers",
                each: network * MACHINES_IN_USE / carried,
                formula: format!("{}/s x {MACHINES_IN_USE} / {}", bytes(network), bytes(carried)),
            },
            Share {
                name: "requests in flight",
                each: self.in_flight / (REQUESTS * FETCH_SLOT),
                formula: format!(
                    "{} / ({} requests x {FETCH_SLOT} s)",
                    number(self.in_flight),
                    number(REQUESTS)
                ),
            },
            Share {
                name: "hosts of a worker",
                each: HOSTS_A_WORKER / page.host_seconds,
                formula: format!("{} / {}", number(HOSTS_A_WORKER), seconds(page.host_seconds)),
            },
        ]
    }

    /// Returns the limits of one database. `disk_gb` is the size of its disk; a smaller disk is
    /// slower.
    fn database_shares(&self, disk_gb: f64) -> [Share; 2] {
        let cores = self.database.vcpus * self.core_speed;
        let disk = if disk_gb < FAST_DISK_GB { SLOW_DISK_OPERATIONS } else { FAST_DISK_OPERATIONS };
        let operations = self.database.disk_operations.min(disk);
        [
            Share {
                name: "CPU of Postgres",
                each: cores * MACHINES_IN_USE / self.page.database_cpu,
                formula: format!(
                    "{} x {MACHINES_IN_USE} / {}",
                    counted(cores, "core"),
                    seconds(self.page.database_cpu)
                ),
            },
            Share {
                name: "disk of Postgres",
                each: operations * MACHINES_IN_USE / DISK_OPERATIONS,
                formula: format!(
                    "{} operations/s x {MACHINES_IN_USE} / {DISK_OPERATIONS}",
                    number(operations)
                ),
            },
        ]
    }

    /// Computes the instances for this crawl.
    ///
    /// # Errors
    /// Returns an error if there are too few slots for the workers or databases, or too few workers
    /// for the databases.
    pub(super) fn fleet(&self) -> Result<CrawlFleet, OperationError> {
        let worker_shares = self.worker_shares();
        let of_a_worker = least(&worker_shares);
        let asked = self.pages / (self.days * DAY);
        let polite = self.hosts / self.page.host_seconds;
        let given = self.workers.map_or(f64::INFINITY, |workers| workers * of_a_worker);
        let wanted = asked.min(polite).min(given);
        let row_bytes = self.pages * self.page.rows + self.hosts * HOST_ROW_BYTES;
        let databases = self.databases(row_bytes, wanted)?;
        let disk_gb = self.disk_gb(row_bytes, databases, wanted);
        let workers = match self.workers {
            Some(workers) => check_workers(workers, databases)?,
            None => workers_for(wanted / of_a_worker, databases),
        };
        let times = |count: f64, noun: &str, share: Share| CrawlBound {
            name: share.name,
            pages_a_second: count * share.each,
            formula: format!("{} x {}", counted(count, noun), share.formula),
        };
        let mut bounds: Vec<CrawlBound> =
            worker_shares.into_iter().map(|share| times(workers, "worker", share)).collect();
        let shares = self.database_shares(disk_gb).into_iter();
        bounds.extend(shares.map(|share| times(databases, "database", share)));
        bounds.push(CrawlBound {
            name: "politeness",
            pages_a_second: polite,
            formula: format!(
                "{} / {}",
                counted(self.hosts, "host"),
                seconds(self.page.host_seconds)
            ),
        });
        bounds.push(CrawlBound {
            name: "the days that it may take",
            pages_a_second: asked,
            formula: format!("{} / {}", counted(self.pages, "page"), counted(self.days, "day")),
        });
        let (pages_a_second, bound_by) = scarcest(&bounds, "");
        let (_, then_by) = scarcest(&bounds, bound_by);
        Ok(CrawlFleet {
            workers,
            databases,
            disk_gb,
            row_bytes,
            bounds,
            pages_a_second,
            bound_by,
            then_by,
        })
    }

    /// Returns how many databases the rows, the CPU and the disk operations need.
    fn databases(&self, row_bytes: f64, wanted: f64) -> Result<f64, OperationError> {
        let by_rows = row_bytes / DISK_IN_USE / (self.database_gb * GB);
        // A database that needs the operations of a larger disk gets one.
        let by_rate = wanted / least(&self.database_shares(self.database_gb));
        let databases = whole_up(by_rows.max(by_rate)).max(1.0);
        if databases > SLOTS as f64 {
            return Err(OperationError::usage(format!(
                "--crawl-pages {}: they need {} databases, and the frontier has {SLOTS} slots; \
                 give fewer pages, more --crawl-days, or a larger --crawl-database-gb or \
                 --database-instance",
                self.pages,
                number(databases)
            )));
        }
        Ok(databases)
    }

    fn disk_gb(&self, row_bytes: f64, databases: f64, wanted: f64) -> f64 {
        let of_rows = (row_bytes / DISK_IN_USE / databases / GB).max(DISK_GB_AT_LEAST);
        let is_fast_enough = wanted <= databases * least(&self.database_shares(of_rows));
        if is_fast_enough { of_rows } else { of_rows.max(FAST_DISK_GB.min(self.database_gb)) }
    }
}

/// Describes the slots per database: all, or the numbers when the 256 are divided.
pub(super) fn slots_text(databases: f64) -> String {
    let (slots, databases) = (SLOTS, databases as usize);
    let fewest = slots / databases.max(1);
    match databases {
        0 | 1 => format!("all {slots}"),
        _ if slots.is_multiple_of(databases) => format!("{fewest} of {slots} each"),
        _ => format!("{fewest} or {} of {slots} each", fewest + 1),
    }
}

fn least(shares: &[Share]) -> f64 {
    shares.iter().map(|share| share.each).fold(f64::INFINITY, f64::min)
}

/// Returns the smallest bound except the one named `without`. Among equal ones it is the last,
/// which is the requested days.
fn scarcest(bounds: &[CrawlBound], without: &str) -> (f64, &'static str) {
    let mut least = (f64::INFINITY, "");
    for bound in bounds.iter().filter(|bound| bound.name != without) {
        if bound.pages_a_second <= least.0 {
            least = (bound.pages_a_second, bound.name);
        }
    }
    least
}

/// Returns enough workers, with equal numbers for each database, and a slot for every worker.
fn workers_for(needed: f64, databases: f64) -> f64 {
    let most = (SLOTS as f64 / databases).floor();
    databases * whole_up(needed / databases).clamp(1.0, most)
}

fn check_workers(workers: f64, databases: f64) -> Result<f64, OperationError> {
    if workers > SLOTS as f64 {
        return Err(OperationError::usage(format!(
            "--workers {workers}: the frontier has {SLOTS} slots, and a worker without one does \
             nothing; give at most {SLOTS}, of a larger --instance"
        )));
    }
    if workers < databases {
        return Err(OperationError::usage(format!(
            "--workers {workers}: the crawl needs {databases} databases, and each a worker; give \
             at least {databases}, or a larger --crawl-database-gb"
        )));
    }
    Ok(workers)
}

/// Rounds up to a whole number, ignoring rounding errors above one.
fn whole_up(amount: f64) -> f64 {
    (amount - 1e-9).ceil()
}
