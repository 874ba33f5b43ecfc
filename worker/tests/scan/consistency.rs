//! Checks that an ended scan's rows, objects and counters agree with each other, and with a scan
//! that ran without faults.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use serde_json::Value;

use crate::{
    environment::Database,
    outcomes,
    setup::{assert_same, files, published, run},
};

pub(crate) trait OwnedDatabase {
    fn psql(&self, sql: &str) -> String;
    fn owner(&self, arguments: &[&str]) -> Command;

    fn status(&self) -> Value {
        let ended = run(self.owner(&["scan", "status", "--json"])).expect_code(0);
        serde_json::from_str(&ended.stdout).unwrap()
    }
}

impl OwnedDatabase for Database {
    fn psql(&self, sql: &str) -> String {
        self.psql(sql)
    }

    fn owner(&self, arguments: &[&str]) -> Command {
        self.owner(arguments)
    }
}

/// Options for `scan start` that divide few hosts into many jobs.
pub(crate) const SMALL_SHARDS: [&str; 2] = ["--entries-per-bundle", "20"];

pub(crate) struct ScanResult {
    files: BTreeMap<String, Vec<u8>>,
    /// Outcomes of warc and icon jobs. The key is the kind, shard, host and candidate.
    outcomes: BTreeMap<String, String>,
}

/// The newest scan's rows of completed leases.
const OUTCOMES: &str = "
    select 'icon ' || i.shard || ' ' || i.host_no || ' ' || i.candidate_no || ' ' || i.url
           || ' = ' || i.outcome || ' ' || coalesce(encode(i.sha256, 'hex'), '')
      from everytab.icons i
      join everytab.jobs j on j.run = i.scan and j.kind = 'icon' and j.part = i.shard
       and j.lease_number = i.lease_number and j.state = 'completed'
     where i.scan = (select max(scan) from everytab.scans)
    union all
    select 'warc ' || p.shard || ' ' || p.host_no || ' ' || p.hostname || ' = ' || p.outcome
      from everytab.pages p
      join everytab.jobs j on j.run = p.scan and j.kind = 'warc' and j.part = p.shard
       and j.lease_number = p.lease_number and j.state = 'completed'
     where p.scan = (select max(scan) from everytab.scans)";

impl ScanResult {
    fn new(site: &Path, rows: &str) -> Self {
        outcomes::assert_totals(site);
        let mut outcomes = BTreeMap::new();
        for row in rows.lines() {
            let (input, outcome) = row.rsplit_once(" = ").unwrap();
            let before = outcomes.insert(input.to_owned(), outcome.to_owned());
            assert_eq!(before, None, "two rows of {input}");
        }
        Self { files: published(site), outcomes }
    }

    pub(crate) fn undisturbed(database: &Database, crawl: &str, site: &Path) -> Self {
        database.start_scan(crawl, &SMALL_SHARDS);
        run(database.worker(&["--exit-when-done"])).expect_code(0);
        Self::of(database, site)
    }

    pub(crate) fn of(database: &dyn OwnedDatabase, site: &Path) -> Self {
        Self::new(site, &database.psql(OUTCOMES))
    }

    /// Fails if `other` differs. Compares outcomes first, because they explain different bytes.
    pub(crate) fn assert_same(&self, other: &Self, what: &str) {
        let changed: Vec<String> = self
            .outcomes
            .iter()
            .filter(|(input, outcome)| other.outcomes.get(*input) != Some(*outcome))
            .map(|(input, outcome)| {
                format!("{input}: {outcome}, then {:?}", other.outcomes.get(input))
            })
            .collect();
        let shown = changed.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
        assert!(changed.is_empty(), "{what}: {} outcomes changed:\n{shown}", changed.len());
        assert_eq!(self.outcomes.len(), other.outcomes.len(), "{what}: rows without an input");
        assert_same(&self.files, &other.files, what);
    }
}

/// Fails unless the newest scan has finished, its counters agree with its rows, and each job was
/// completed exactly once.
pub(crate) fn assert_consistent(database: &dyn OwnedDatabase) {
    let status = database.status();
    let why = "select count(*), event, min(left(message, 300)) from everytab.job_events
                where event <> 'expired' group by event, left(message, 20)
                order by 1 desc limit 20";
    assert_eq!(status["state"], "finished", "{}", database.psql(why));
    assert_eq!(status["drift"].as_array().map(Vec::len), Some(0), "{}", status["drift"]);
    let jobs = "select count(*) from everytab.jobs j
                 where j.run = (select max(scan) from everytab.scans)";
    let one = |sql: &str| database.psql(&format!("{jobs} and {sql}"));
    assert_eq!(one("j.state <> 'completed'"), "0");
    let twice = "1 <> (select count(*) from everytab.job_results r where r.job_id = j.job_id)";
    assert_eq!(one(twice), "0", "jobs were not completed exactly once");
    let stale = "j.lease_number <> (select max(r.lease_number) from everytab.job_results r
                                     where r.job_id = j.job_id)";
    assert_eq!(one(stale), "0", "a result belongs to another lease than its job's");
}

pub(crate) fn stored_archives(database: &dyn OwnedDatabase, store: &Path) -> BTreeSet<String> {
    let scan = database.status()["scan"].as_str().unwrap().to_owned();
    let folder = store.join("archive").join(&scan);
    files(&folder).into_keys().filter(|name| name.ends_with(".warc.gz")).collect()
}

pub(crate) fn archive_objects(
    database: &dyn OwnedDatabase,
    store: &Path,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let there = stored_archives(database, store);
    let sql = "select distinct i.shard || '-' || i.lease_number || '-'
                      || left(replace(r.token::text, '-', ''), 16) || '.warc.gz'
                 from everytab.icons i join everytab.jobs j
                   on j.run = i.scan and j.kind = 'icon' and j.part = i.shard
                  and j.lease_number = i.lease_number and j.state = 'completed'
                 join everytab.job_results r
                   on r.job_id = j.job_id and r.lease_number = j.lease_number
                where i.archive_offset is not null
                  and i.scan = (select max(scan) from everytab.scans)";
    let referenced: BTreeSet<String> = database.psql(sql).lines().map(str::to_owned).collect();
    assert!(referenced.is_subset(&there), "referenced: {referenced:?}, but stored: {there:?}");
    let others = there.difference(&referenced).cloned().collect();
    (referenced, others)
}

/// Fails unless `scan gc` deletes exactly the archive objects without rows. Returns their number.
pub(crate) fn assert_garbage_collected(database: &dyn OwnedDatabase, store: &Path) -> usize {
    let (referenced, others) = archive_objects(database, store);
    run(database.owner(&["scan", "gc"])).expect_code(0);
    assert_eq!(archive_objects(database, store), (referenced, BTreeSet::new()));
    others.len()
}
