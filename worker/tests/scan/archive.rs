//! Tests that the icon archive is valid WARC for our reader and for warcio.

use std::{path::Path, process::Command};

use everytab_commoncrawl::warc::{Limits, RecordType, Records};
use everytab_testbed::{Behaviour, Mix};

use crate::{
    environment::{Database, Stores, internet},
    setup::{files, run},
};

#[test]
fn the_archive_opens_in_our_reader_and_in_another() {
    let internet = internet(200, Mix::none().with(Behaviour::Gzip, 200_000));
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let archives: Vec<_> = files(&dir.join("archive"))
        .into_iter()
        .filter(|(name, _)| name.ends_with(".warc.gz"))
        .collect();
    assert!(!archives.is_empty());
    let mut distinct = 0;
    let mut revisits = 0;
    for (name, bytes) in &archives {
        let mut kinds = Vec::new();
        for (offset, record) in Records::new(bytes, Limits::default()) {
            let record = record.unwrap_or_else(|error| panic!("{name} at {offset}: {error}"));
            let is_table = record.target_uri().as_deref() == Some("urn:everytab:requests");
            assert_eq!(is_table, kinds.len() == 1, "{name} at {offset}");
            kinds.push(record.record_type);
        }
        assert_eq!(kinds.first(), Some(&RecordType::Warcinfo), "{name}");
        assert_eq!(kinds.remove(1), RecordType::Resource, "{name}: the table of requests");
        let count = |wanted: &[RecordType]| kinds.iter().filter(|k| wanted.contains(k)).count();
        assert_eq!(count(&[RecordType::Warcinfo]), 1, "{name}");
        distinct += count(&[RecordType::Response, RecordType::Resource]);
        let again = count(&[RecordType::Revisit]);
        revisits += again;
        assert_eq!(kinds.len(), 1 + count(&[RecordType::Response, RecordType::Resource]) + again);
    }
    // A shard stores each content once, as a response or resource record. Each further URL with
    // this content gets a revisit record.
    let sum = |sql: &str| database.psql(sql).trim().parse::<usize>().unwrap();
    let stored = "select sum((stats -> 'counts' ->> 'unique_icons_stored')::bigint)
                    from everytab.job_results where kind = 'icon'";
    assert_eq!(distinct, sum(stored));
    assert!(revisits > 0, "no two URLs in this internet returned the same icon");
    let directory = dir.join("archive");
    for (name, _) in &archives {
        check_with_warcio(&directory.join(name));
    }
}

fn check_with_warcio(archive: &Path) {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import warcio"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no warcio");
        return;
    }
    let main = "import sys; from warcio.cli import main; main(sys.argv[1:])";
    let output = Command::new(&python).args(["-c", main, "check"]).arg(archive).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {said}", archive.display());
    assert!(!said.contains("failed"), "{}: {said}", archive.display());
}
