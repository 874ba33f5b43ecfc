//! Postgres failovers that lose commits.

use std::{
    thread,
    time::{Duration, Instant},
};

use everytab_postgres::{PostgresSettings, PrivatePostgres};

const LAG: Duration = Duration::from_secs(1);
/// The lag grows up to this, until the standby lacks a commit by a worker.
const MAX_LAG: Duration = Duration::from_secs(5);
const MARK_INTERVAL: Duration = Duration::from_millis(100);

/// Commits that clients saw succeed, and that the promoted standbys lacked.
#[derive(Debug, Default)]
pub(crate) struct LostCommits {
    /// Commits by this test, each of which adds a row.
    pub(crate) marks: usize,
    /// Commits by workers: leases, completed jobs and recorded fetches.
    pub(crate) of_workers: usize,
}

impl LostCommits {
    /// Kills `postgres` and promotes an asynchronous standby at its address. Fails unless the
    /// standby has exactly the commits from before its connection to the primary broke.
    pub(crate) fn fail_over(
        &mut self,
        postgres: PrivatePostgres,
        settings: PostgresSettings,
        database: &str,
    ) -> PrivatePostgres {
        let before = mark(&postgres);
        let standby = postgres.standby().unwrap();
        let copied = Instant::now();
        let work_before = work(&postgres, database);
        let (mut confirmed, mut work_done) = (before, work_before);
        while copied.elapsed() < LAG || (work_done == work_before && copied.elapsed() < MAX_LAG) {
            confirmed = mark(&postgres);
            work_done = work(&postgres, database);
            thread::sleep(MARK_INTERVAL);
        }
        let postgres = postgres.fail_over(standby, settings).unwrap();
        assert_eq!(marks(&postgres), before, "commits that the promoted standby has");
        assert!(confirmed > before, "no commit was lost");
        self.marks += confirmed - before;
        // Dropping a scan removes its rows, so the difference may be negative.
        self.of_workers += work_done.saturating_sub(work_before);
        postgres
    }
}

fn mark(postgres: &PrivatePostgres) -> usize {
    let sql = "create table if not exists marks (made timestamptz default clock_timestamp());
               insert into marks default values;
               select count(*) from marks";
    postgres.psql("postgres", sql).unwrap().parse().unwrap()
}

fn marks(postgres: &PrivatePostgres) -> usize {
    postgres.psql("postgres", "select count(*) from marks").unwrap().parse().unwrap()
}

fn work(postgres: &PrivatePostgres, database: &str) -> usize {
    let sql = "select (select coalesce(sum(lease_number), 0) from everytab.jobs)
                    + (select count(*) from everytab.job_results)
                    + (select count(*) from everytab.fetches)";
    postgres.psql(database, sql).unwrap().parse().unwrap()
}
