//! What an older version of the program made is a scan of this version: a backup that is restored,
//! and the folder of `local`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use everytab_postgres::{PostgresSettings, PrivatePostgres, shared_for_tests};
use serde_json::Value;

use crate::setup::{assert_same, files, folder, manifest, run, scan_locally, worker};

/// A finished scan of 20 hosts of the generated internet, backed up by the version before runs
/// (migrations 0001 and 0002) after another scan had been published.
const BEFORE_RUNS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/backup_before_runs.tar.gz");

fn unpack(archive: &str, to: &Path) {
    fs::create_dir(to).unwrap();
    let done = Command::new("tar").args(["-xzf", archive, "-C"]).arg(to).status().unwrap();
    assert!(done.success());
}

fn url_of(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

/// The objects of a store in a folder, without the file that marks it as a store.
fn objects(folder: PathBuf) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(&folder);
    found.retain(|name, _| !name.starts_with('.'));
    found
}

#[test]
fn a_backup_of_the_version_before_runs_is_whole_and_comes_back() {
    let dir = folder();
    let backup = dir.path().join("backup");
    unpack(BEFORE_RUNS, &backup);
    let from = url_of(&backup);
    let whole = run(worker(["restore", "--verify", "--from", &from])).expect_code(0);
    assert!(whole.stderr.contains("the backup is whole"), "{}", whole.stderr);

    let name = shared_for_tests().fresh_database(None);
    let database = shared_for_tests().url(&name, "postgres");
    let (site, archive) = (dir.path().join("site"), dir.path().join("archive"));
    let with_database = |arguments: &[&str]| {
        let mut command = worker(arguments.iter().copied());
        command.env("DATABASE_URL", &database);
        run(command).expect_code(0)
    };
    let stores = [url_of(&site), url_of(&archive)];
    // The second time, it finds what the first one brought back.
    for _ in 0..2 {
        with_database(&["restore", "--from", &from, "--site", &stores[0], "--archive", &stores[1]]);
    }
    assert_same(&objects(archive), &objects(backup.join("archive")), "archive");
    assert_same(&objects(site.clone()), &objects(backup.join("site")), "site");

    let shown = with_database(&["scan", "status", "--json"]).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let made: Value =
        serde_json::from_slice(&fs::read(backup.join("backup.json")).unwrap()).unwrap();
    for key in ["scan_id", "state", "shards", "bundles_per_shard", "started_at", "finished_at"] {
        let name = if key == "scan_id" { "scan" } else { key };
        assert_eq!(shown[name], made["list"]["scan"][key], "{key}");
    }
    assert_eq!(shown["drift"], serde_json::json!([]));
    // A scan of this version can be published and backed up again.
    with_database(&["publish"]);
    assert_eq!(manifest(&site)["scan"], shown["scan"]);
    with_database(&["backup", "--to", &url_of(&dir.path().join("again"))]);
}

#[test]
fn local_knows_a_scan_again_whose_settings_an_older_version_wrote() {
    let dir = folder();
    let sample = ["--sample", "--sample-hosts", "20"];
    scan_locally(dir.path(), 1, &sample);
    let first = manifest(&dir.path().join("site"))["scan"].clone();
    let postgres =
        PrivatePostgres::start(PostgresSettings::new(dir.path().join("postgres"))).unwrap();
    let older = "update everytab.scans set settings = settings || '{\"bundle_format\": \"json\"}'";
    postgres.psql("everytab", older).unwrap();
    postgres.stop().unwrap();
    scan_locally(dir.path(), 1, &sample);
    assert_eq!(manifest(&dir.path().join("site"))["scan"], first, "the hosts were scanned again");
}
