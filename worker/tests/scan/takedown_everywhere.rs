//! Tests that after `takedown --everywhere` no stored data contains the host, other hosts lose
//! nothing, and a restored backup does not bring the host back.

use std::{collections::BTreeMap, fs, path::Path};

use everytab_commoncrawl::warc::{Limits, Records};
use everytab_postgres::shared_for_tests;
use everytab_testbed::Mix;
use serde_json::Value;

use crate::{
    cloudfront::{Aws, SITE, between},
    environment::{Database, Stores, internet},
    setup::{files, run},
};

/// Returns whether bytes name the host in a URL, a search line or a link page.
fn names(bytes: &[u8], host: &str) -> bool {
    let text = format!("\n{}", String::from_utf8_lossy(bytes));
    let marks = [
        format!("\n{host}\t"),
        format!("://{host}\""),
        format!("://{host}/"),
        format!("<li>{host}</li>"),
        format!("#site={host}\""),
    ];
    marks.iter().any(|mark| text.contains(mark))
}

/// Returns an archive's decompressed records. Fails if a byte does not belong to a record.
fn records(archive: &[u8]) -> Vec<u8> {
    let records = Records::new(archive, Limits::default());
    let text = records.map(|(_, record)| {
        let record = record.unwrap();
        let fields = record.headers.fields().to_vec();
        [format!("{fields:?}").into_bytes(), record.block].concat()
    });
    text.collect::<Vec<_>>().concat()
}

fn assert_archive_without(folder: &Path, host: &str) {
    let mut archives = 0;
    for (name, bytes) in files(folder) {
        if name.ends_with(".warc.gz") {
            archives += 1;
            assert!(!names(&records(&bytes), host), "{name} names {host}");
        } else {
            assert!(!names(&bytes, host), "{name} names {host}");
        }
    }
    assert!(archives > 0);
}

/// Counts the rows that contain the host, except in takedown lists.
fn rows_of(database: &str, host: &str) -> u64 {
    let psql = |sql: &str| shared_for_tests().psql(database, sql).unwrap();
    let tables = psql(
        "select c.relname from pg_class c where c.relnamespace = 'everytab'::regnamespace
            and c.relkind = 'r' and c.relname !~ 'blocklist|exclusions'",
    );
    let of = |table: &str| {
        let sql = format!(
            "select count(*) from everytab.{table} t where to_jsonb(t)->>'hostname' = '{host}'
                or to_jsonb(t)->>'url' like '%://{host}/%'"
        );
        psql(&sql).trim().parse::<u64>().unwrap()
    };
    tables.lines().map(of).sum()
}

impl Aws<'_> {
    /// Returns the bytes of all versions of all objects on the site.
    fn versions(&self) -> Vec<(String, Vec<u8>)> {
        let url = format!("{}/{SITE}", self.endpoint);
        let list = self.request("s3", self.client.get(format!("{url}?versions&max-keys=1000"))).1;
        assert!(!list.contains("<IsTruncated>true"), "the list of versions is truncated");
        let listed = list.split("<Version>").skip(1).map(|version| {
            let version = version.split("</Version>").next().unwrap();
            let (key, id) =
                (between(version, "Key").remove(0), between(version, "VersionId").remove(0));
            let get = self.client.get(format!("{url}/{key}?versionId={id}"));
            (key, self.request("s3", get).1.into_bytes())
        });
        listed.collect()
    }

    fn icons(&self, scan: &str) -> BTreeMap<String, String> {
        let url = format!("{}/{SITE}", self.endpoint);
        let list = format!("{url}?list-type=2&prefix=scans/{scan}/tabs/");
        let keys = between(&self.request("s3", self.client.get(list)).1, "Key");
        let mut icons = BTreeMap::new();
        for key in keys {
            let bundle = self.request("s3", self.client.get(format!("{url}/{key}"))).1;
            let bundle: Value = serde_json::from_str(&bundle).unwrap();
            for tab in bundle["entries"].as_array().unwrap() {
                let text = |field: &str| tab[field].as_str().unwrap().to_owned();
                icons.insert(text("url"), text("icon"));
            }
        }
        icons
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "one host is followed through every place in turn")]
fn a_host_that_is_taken_down_everywhere_is_not_stored_and_no_backup_restores_it() {
    let internet = internet(150, Mix::none());
    let Some(aws) = Aws::start(&internet) else { return };
    let versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    let put = aws.client.put(format!("{}/{SITE}?versioning", aws.endpoint)).body(versioning);
    aws.request("s3", put);
    let dir = internet.folder.path();
    let site = format!("s3://{SITE}");
    let stores = Stores {
        site: site.clone(),
        s3: Some(aws.endpoint.clone()),
        ..Stores::folders(&internet, dir)
    };
    let database = Database::new(&internet, stores);
    let scan = || {
        database.start_scan(internet.crawl(), &["--entries-per-bundle", "10"]);
        run(database.worker(&["--exit-when-done"])).expect_code(0);
        database.status()["scan"].as_str().unwrap().to_owned()
    };
    let first = scan();
    let backups = format!("file://{}", dir.join("backups").display());
    let back_up = |name: &str| {
        let to = format!("{backups}/{name}");
        run(database.owner(&["backup", "--scan", &first, "--to", &to])).expect_code(0);
    };
    back_up("one");
    back_up("again");
    let second = scan();
    let icons = aws.icons(&second);
    // Prefer a host that shares its icon record with another one.
    let host = database.psql(
        "select p.hostname || ' ' || count(o) from everytab.pages p
           join everytab.icons i using (scan, shard, host_no)
           left join everytab.icons o on o.scan = i.scan and o.shard = i.shard
            and o.archive_offset = i.archive_offset and o.host_no <> i.host_no
          where p.scan = 2 and p.title is not null and i.archive_offset is not null
          group by p.hostname order by count(o) desc, 1 limit 1",
    );
    let (host, shared) = host.trim().split_once(' ').unwrap();
    let rows = rows_of(&database.name, host);
    println!("{host} has {rows} rows and shares {shared} records");
    assert!(rows > 2);
    let is_its = |url: &str| url.ends_with(&format!("//{host}"));
    assert!(icons.keys().any(|url| is_its(url)));
    let sizes = |folder: &Path| -> BTreeMap<String, usize> {
        let found = files(&folder.join("archive")).into_iter();
        found.filter(|(name, _)| name.ends_with(".gz")).map(|(name, b)| (name, b.len())).collect()
    };
    let before = sizes(dir);

    let private = format!("file://{}", dir.join("private").display());
    let takedown = |more: &[&str]| {
        let mut command = database.owner(&["takedown", host, "--everywhere", "--site", &site]);
        command.args(["--private", &private]).args(more);
        run(command)
    };
    // Simulates a takedown that stopped after it had changed the site.
    let mut command = database.owner(&["takedown", host, "--site", &site, "--private", &private]);
    command.env_remove("DATABASE_URL");
    run(command).expect_code(0);
    assert!(
        aws.versions().iter().any(|(_, bytes)| names(bytes, host)),
        "old versions must still contain the host"
    );
    let ended = takedown(&["--backups", &backups]).expect_code(0);
    println!("{}", ended.stdout);
    for place in ["archive of scan", "rows of scan", "backup file://", "old versions"] {
        assert!(ended.stdout.contains(place), "{place}: {}", ended.stdout);
    }
    for (key, bytes) in aws.versions() {
        assert!(!names(&bytes, host), "a version of {key} names {host}");
    }
    assert_archive_without(&dir.join("archive"), host);
    assert_eq!(sizes(dir), before);
    assert_eq!(rows_of(&database.name, host), 0);
    let note = fs::read_to_string(dir.join("backups/one/takedowns.txt")).unwrap();
    assert_eq!(note, format!("{host}\n"));
    let again = takedown(&["--backups", &backups]).expect_code(0);
    assert!(again.stdout.contains("\told versions\t0 of"), "{}", again.stdout);

    // A new backup to the same location contains the current archives.
    back_up("again");
    assert_archive_without(&dir.join("backups/again/archive"), host);

    // The archive still has the other hosts' icons, so bundles that are written again show them.
    database.psql(
        "select coordinator.reopen(2, array(select job_id from everytab.jobs
          where run = 2 and kind = 'bundle-shard'), 'test')",
    );
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let expected: BTreeMap<_, _> = icons.into_iter().filter(|(url, _)| !is_its(url)).collect();
    assert_eq!(aws.icons(&second), expected);

    // The old backup still contains the host. Restoring it, even twice, must not bring the host
    // back.
    let name = shared_for_tests().fresh_database(None);
    let url = shared_for_tests().url(&name, "postgres");
    let home = dir.join("restored");
    let at = |folder: &str| format!("file://{}", home.join(folder).display());
    let from = format!("{backups}/one");
    for _ in 0..2 {
        let mut restore = database.owner(&["restore", "--from", &from, "--site", &at("site")]);
        restore.args(["--archive", &at("archive")]).env("DATABASE_URL", &url);
        run(restore).expect_code(0);
        assert_eq!(rows_of(&name, host), 0);
        assert_archive_without(&home.join("archive"), host);
        for (key, bytes) in files(&home.join("site").join("scans").join(&first)) {
            assert!(!names(&bytes, host), "{key} names {host}");
        }
    }
    let blocked = "select count(*) from everytab.blocklist where pattern = ";
    let blocked = shared_for_tests().psql(&name, &format!("{blocked}'{host}'")).unwrap();
    assert_eq!(blocked.trim(), "1");

    // A running scan keeps its rows until it has ended.
    database.start_scan(internet.crawl(), &[]);
    let refused = takedown(&[]).expect_code(1);
    assert!(refused.stderr.contains("scan exclude"), "{}", refused.stderr);
}
