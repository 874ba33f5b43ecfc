//! The books of a scan: what its rows, objects and counters say when it has ended, and that they
//! agree with each other and with those of an undisturbed scan.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use serde_json::Value;

use crate::{
    outcomes,
    places::Database,
    setup::{assert_same, files, published, run},
};

/// A database that holds a scan.
pub(crate) trait Books {
    /// What the owner's psql says.
    fn psql(&self, sql: &str) -> String;
    /// The program as the owner.
    fn owner(&self, arguments: &[&str]) -> Command;

    /// `scan status --json`.
    fn status(&self) -> Value {
        let ended = run(self.owner(&["scan", "status", "--json"])).expect_code(0);
        serde_json::from_str(&ended.stdout).unwrap()
    }
}

impl Books for Database {
    fn psql(&self, sql: &str) -> String {
        self.psql(sql)
    }

    fn owner(&self, arguments: &[&str]) -> Command {
        self.owner(arguments)
    }
}

/// Options of `scan start` that make many jobs of few hosts.
pub(crate) const SMALL_SHARDS: [&str; 2] = ["--entries-per-bundle", "20"];

/// What a scan found, by (shard, host, candidate), and what it published.
pub(crate) struct Found {
    files: BTreeMap<String, Vec<u8>>,
    /// Warc and icon outcomes, each under the place of its input.
    outcomes: BTreeMap<String, String>,
}

/// The rows of jobs that count, of the newest scan.
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

impl Found {
    fn new(site: &Path, rows: &str) -> Self {
        outcomes::add_up(site);
        let mut outcomes = BTreeMap::new();
        for row in rows.lines() {
            let (place, outcome) = row.rsplit_once(" = ").unwrap();
            let before = outcomes.insert(place.to_owned(), outcome.to_owned());
            assert_eq!(before, None, "two rows of {place}");
        }
        Self { files: published(site), outcomes }
    }

    /// The counts of a scan by one worker that nothing disturbs.
    pub(crate) fn undisturbed(database: &Database, crawl: &str, site: &Path) -> Self {
        database.start_scan(crawl, &SMALL_SHARDS);
        run(database.worker(&["--exit-when-done"])).expect_code(0);
        Self::of(database, site)
    }

    /// The counts of the newest scan of a database.
    pub(crate) fn of(books: &dyn Books, site: &Path) -> Self {
        Self::new(site, &books.psql(OUTCOMES))
    }

    /// Says where `other` differs, in outcomes first: they explain bytes.
    pub(crate) fn assert_same(&self, other: &Self, what: &str) {
        let changed: Vec<String> = self
            .outcomes
            .iter()
            .filter(|(place, outcome)| other.outcomes.get(*place) != Some(*outcome))
            .map(|(place, outcome)| {
                format!("{place}: {outcome}, then {:?}", other.outcomes.get(place))
            })
            .collect();
        let shown = changed.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
        assert!(changed.is_empty(), "{what}: {} outcomes changed:\n{shown}", changed.len());
        assert_eq!(self.outcomes.len(), other.outcomes.len(), "{what}: rows without an input");
        assert_same(&self.files, &other.files, what);
    }
}

/// What holds of the newest scan of a database once it has ended, whatever happened to it.
pub(crate) fn assert_sound(books: &dyn Books) {
    let status = books.status();
    let why = "select count(*), event, min(left(message, 300)) from everytab.job_events
                where event <> 'expired' group by event, left(message, 20)
                order by 1 desc limit 20";
    assert_eq!(status["state"], "finished", "{}", books.psql(why));
    assert_eq!(status["drift"].as_array().map(Vec::len), Some(0), "{}", status["drift"]);
    let jobs = "select count(*) from everytab.jobs j
                 where j.run = (select max(scan) from everytab.scans)";
    let one = |sql: &str| books.psql(&format!("{jobs} and {sql}"));
    assert_eq!(one("j.state <> 'completed'"), "0");
    let twice = "1 <> (select count(*) from everytab.job_results r where r.job_id = j.job_id)";
    assert_eq!(one(twice), "0", "jobs were not completed exactly once");
    let stale = "j.lease_number <> (select max(r.lease_number) from everytab.job_results r
                                     where r.job_id = j.job_id)";
    assert_eq!(one(stale), "0", "a result of another lease than the job's");
}

/// Archive objects of the newest scan: those that rows refer to, and the others.
pub(crate) fn archives(books: &dyn Books, store: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let scan = books.status()["scan"].as_str().unwrap().to_owned();
    let folder = store.join("archive").join(&scan);
    let there: BTreeSet<String> =
        files(&folder).into_keys().filter(|name| name.ends_with(".warc.gz")).collect();
    let sql = "select distinct i.shard || '-' || i.lease_number || '.warc.gz'
                 from everytab.icons i join everytab.jobs j
                   on j.run = i.scan and j.kind = 'icon' and j.part = i.shard
                  and j.lease_number = i.lease_number and j.state = 'completed'
                where i.archive_offset is not null
                  and i.scan = (select max(scan) from everytab.scans)";
    let referenced: BTreeSet<String> = books.psql(sql).lines().map(str::to_owned).collect();
    assert!(referenced.is_subset(&there), "referenced and not there: {referenced:?} {there:?}");
    let others = there.difference(&referenced).cloned().collect();
    (referenced, others)
}

/// `scan gc` leaves what is referenced, and nothing else.
pub(crate) fn assert_collected(books: &dyn Books, store: &Path) -> usize {
    let (referenced, others) = archives(books, store);
    run(books.owner(&["scan", "gc"])).expect_code(0);
    assert_eq!(archives(books, store), (referenced, BTreeSet::new()));
    others.len()
}
