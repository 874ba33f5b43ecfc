//! Tests `backup` and `restore` with the real `pg_dump` and `pg_restore`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use everytab_postgres::shared_for_tests;
use everytab_testbed::Mix;

use crate::{
    environment::{Database, Internet, Stores, internet},
    holding_proxy::HoldingProxy,
    setup::{Ended, Running, assert_same, files, published, run, wait_for, worker},
};

fn finished_scan(internet: &Internet, stores: Stores) -> Database {
    let database = Database::new(internet, stores);
    database.start_scan(internet.crawl(), &["--entries-per-bundle", "20"]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    database
}

fn verify(database: &Database, place: &str) -> Ended {
    let mut command = database.owner(&["restore", "--verify", "--from", place]);
    // `restore --verify` starts a private Postgres.
    command.env_remove("DATABASE_URL");
    run(command)
}

/// Returns all rows by table, without what a restore may change: the stores' URLs in `settings`,
/// and the table `migrations`.
fn rows(name: &str) -> BTreeMap<String, String> {
    let psql = |sql: &str| shared_for_tests().psql(name, sql).unwrap();
    let tables = psql(
        "select c.relname from pg_class c where c.relnamespace = 'everytab'::regnamespace
            and c.relkind = 'r' and c.relname not in ('migrations') order by 1",
    );
    let of = |table: &str| {
        let less = if table == "scans" { "- 'settings'" } else { "" };
        psql(&format!("select to_jsonb(t) {less} from everytab.{table} t order by 1"))
    };
    tables.lines().map(|table| (table.to_owned(), of(table))).collect()
}

fn objects(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(folder);
    found.retain(|name, _| !name.starts_with('.'));
    found
}

fn url_of(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

#[test]
fn a_scan_restored_from_a_directory_or_s3_equals_the_original() {
    let internet = internet(120, Mix::none());
    let dir = internet.folder.path();
    let server = internet.s3();
    let mut stores = Stores::folders(&internet, dir);
    stores.s3 = Some(server.endpoint.clone());
    let database = finished_scan(&internet, stores);
    let (site, archive) = (objects(&dir.join("site")), objects(&dir.join("archive")));
    for place in [url_of(&dir.join("backup")), "s3://everytab/backup".to_owned()] {
        let made = run(database.owner(&["backup", "--to", &place])).expect_code(0);
        assert_eq!(made.stdout, format!("{place}/backup.json\n"));
        let whole = verify(&database, &place).expect_code(0);
        assert!(whole.stderr.contains("the backup is intact"), "{}", whole.stderr);
        assert_eq!(whole.stdout, "");

        // Restore into an empty database and other directories. The second restore changes nothing.
        let name = shared_for_tests().fresh_database(None);
        let url = shared_for_tests().url(&name, "postgres");
        let home = dir.join(name.as_str());
        let (to_site, to_archive) = (url_of(&home.join("site")), url_of(&home.join("archive")));
        let restore = || {
            let mut command = database.owner(&["restore", "--from", &place, "--site", &to_site]);
            command.args(["--archive", &to_archive]).env("DATABASE_URL", &url);
            run(command).expect_code(0)
        };
        for _ in 0..2 {
            restore();
            let analyzed = "select count(distinct tablename) from pg_stats
                             where schemaname = 'everytab' and tablename ~ '^(pages|icons)_'";
            let psql = |sql| shared_for_tests().psql(&name, sql).unwrap();
            assert_eq!(psql(analyzed), "2", "the tables have no statistics");
            let back = rows(&name);
            assert_eq!(
                back.keys().collect::<Vec<_>>(),
                rows(&database.name).keys().collect::<Vec<_>>()
            );
            assert!(back.len() > 12 && back.values().filter(|rows| !rows.is_empty()).count() > 8);
            assert_eq!(back, rows(&database.name));
            assert_same(&objects(&home.join("site")), &site, "site");
            assert_same(&objects(&home.join("archive")), &archive, "archive");
        }
        let mut status = worker(["scan", "status", "--json"]);
        status.env("DATABASE_URL", &url);
        assert!(run(status).expect_code(0).stdout.contains("\"finished\""));
        let mut publish = worker(["publish"]);
        publish.env("DATABASE_URL", &url);
        run(publish).expect_code(0);
        assert_same(&published(&home.join("site")), &published(&dir.join("site")), "published");
        let before = rows(&database.name);
        let refused = run(database.owner(&["restore", "--from", &place]));
        assert_eq!(refused.code(), Some(0), "restoring an existing scan must succeed");
        assert_eq!(rows(&database.name), before);
        let other = Database::new(&internet, Stores::folders(&internet, &dir.join("other")));
        other.start_scan(internet.crawl(), &[]);
        let mut command = other.owner(&["restore", "--from", &place, "--site", &to_site]);
        command.args(["--archive", &to_archive]);
        if let Some(endpoint) = &database.stores.s3 {
            crate::environment::with_s3(&mut command, endpoint);
        }
        let refused = run(command).expect_code(1);
        assert!(refused.stderr.contains("give a new database"), "{}", refused.stderr);
    }
}

fn assert_killed_backup_continues(to: &str, held: (&'static str, &'static str)) {
    let internet = internet(150, Mix::none());
    let server = internet.s3();
    let proxy = HoldingProxy::before(&server.endpoint);
    let database = finished_scan(&internet, Stores::s3(&proxy.endpoint));
    let folder = internet.folder.path().join("backup");
    let to = to.replace("FOLDER", &url_of(&folder));
    let held_by = |name: &str| {
        let list = files(&folder);
        let s3 = files(&internet.folder.path().join("s3/everytab"));
        let in_s3 = s3
            .into_iter()
            .filter_map(|(key, bytes)| Some((key.strip_prefix("backup/")?.to_owned(), bytes)));
        let all: BTreeMap<String, Vec<u8>> = list.into_iter().chain(in_s3).collect();
        all.keys().filter(|key| key.starts_with(name)).cloned().collect::<BTreeSet<_>>()
    };
    fs::create_dir_all(&folder).unwrap();
    proxy.hold(held.0, held.1, 3);
    let mut cut_off = Running::start(database.owner(&["backup", "--to", &to]));
    proxy.wait_until_held();
    // One note about the dump, and one about the objects copied so far.
    wait_for("notes of what is copied", || (held_by("progress/0").len() >= 2).then_some(()));
    cut_off.kill();
    proxy.release();
    assert!(held_by("backup.json").is_empty());
    let unfinished = run(database.owner(&["restore", "--verify", "--from", &to])).expect_code(1);
    assert!(unfinished.stderr.contains("no complete backup"), "{}", unfinished.stderr);
    let again = run(database.owner(&["backup", "--to", &to])).expect_code(0);
    assert!(again.stderr.contains("dumped already"), "{}", again.stderr);
    let line = again.stderr.lines().find(|line| line.starts_with("objects: ")).unwrap();
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] > 0 && numbers[1] > 0, "copied and already there: {line}");
    assert!(held_by("progress/").is_empty());
    verify(&database, &to).expect_code(0);
    // A third backup copies only the objects whose names do not depend on their content.
    let third = run(database.owner(&["backup", "--to", &to])).expect_code(0);
    let line = third.stderr.lines().find(|line| line.starts_with("objects: ")).unwrap().to_owned();
    let named_by_content = ["site/scans/", "site/css/", "site/js/"];
    let is_fixed = |key: &&String| !named_by_content.iter().any(|start| key.starts_with(start));
    let fixed = held_by("site/").iter().filter(is_fixed).count();
    assert!(fixed > 3 && line.starts_with(&format!("objects: {fixed} copied")), "{line}");
}

#[test]
fn a_backup_to_a_folder_that_was_killed_copies_only_what_is_missing() {
    assert_killed_backup_continues("FOLDER", ("GET", "/private/archive/"));
}

#[test]
fn a_backup_to_s3_that_was_killed_copies_only_what_is_missing() {
    assert_killed_backup_continues("s3://everytab/backup", ("PUT", "/backup/archive/"));
}

#[test]
fn a_flipped_bit_in_any_part_is_found_and_named() {
    let internet = internet(60, Mix::none());
    let dir = internet.folder.path();
    let database = finished_scan(&internet, Stores::folders(&internet, dir));
    let backup = dir.join("backup");
    let place = url_of(&backup);
    run(database.owner(&["backup", "--to", &place])).expect_code(0);
    verify(&database, &place).expect_code(0);
    let all: Vec<String> = objects(&backup).into_keys().collect();
    let is_full = |name: &String| fs::metadata(backup.join(name)).unwrap().len() > 0;
    let starts = |wanted: &str| {
        all.iter().find(|name| name.starts_with(wanted) && is_full(name)).unwrap().clone()
    };
    for name in [
        "backup.json".to_owned(),
        "database.dump".to_owned(),
        starts("archive/archive/"),
        starts("site/scans/"),
        "site/manifest.json".to_owned(),
    ] {
        let path = backup.join(&name);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        fs::write(&path, &flipped).unwrap();
        let found = verify(&database, &place).expect_code(1);
        let said = found.stdout + &found.stderr;
        assert!(said.contains(&name), "{name}: {said}");
        fs::write(&path, &whole).unwrap();
    }
    // One run reports all faults, missing objects included.
    let (first, second) = (starts("site/scans/"), starts("archive/archive/"));
    let bytes: Vec<(PathBuf, Vec<u8>)> = [&first, &second]
        .map(|name| (backup.join(name), fs::read(backup.join(name)).unwrap()))
        .to_vec();
    for (path, _) in &bytes {
        fs::remove_file(path).unwrap();
    }
    let found = verify(&database, &place).expect_code(1);
    for name in [&first, &second] {
        assert!(found.stdout.contains(&format!("{name} is missing")), "{}", found.stdout);
    }
    assert!(found.stderr.contains("2 faults"), "{}", found.stderr);
    for (path, bytes) in bytes {
        fs::write(path, bytes).unwrap();
    }
    verify(&database, &place).expect_code(0);
}

#[test]
fn an_object_that_was_lost_before_the_backup_is_found_through_the_rows() {
    let internet = internet(60, Mix::none());
    let dir = internet.folder.path();
    let database = finished_scan(&internet, Stores::folders(&internet, dir));
    let place = url_of(&dir.join("backup"));
    let first_of = |store: &str, end: &str| {
        let names = files(&dir.join(store)).into_keys();
        names.into_iter().find(|name| name.ends_with(end)).unwrap()
    };
    for (store, end, kind) in
        [("archive", ".warc.gz", "--kind icon"), ("site", "tabs/1.json", "--kind bundle-shard")]
    {
        let name = first_of(store, end);
        let path = dir.join(store).join(&name);
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let refused = run(database.owner(&["backup", "--to", &place])).expect_code(1).stderr;
        for part in [name.as_str(), kind, "lacks 1 objects"] {
            assert!(refused.contains(part), "{refused}");
        }
        assert!(!dir.join("backup").exists());
        fs::write(&path, bytes).unwrap();
    }
    // `scan gc` leaves an old scan in this state.
    fs::remove_dir_all(dir.join("site/scans")).unwrap();
    fs::remove_file(dir.join("site/manifest.json")).unwrap();
    run(database.owner(&["backup", "--to", &place])).expect_code(0);
    let found = verify(&database, &place).expect_code(1);
    assert!(found.stdout.contains("tabs/1.json did not exist when"), "{}", found.stdout);
}

#[test]
fn a_database_whose_clients_use_another_encoding_is_backed_up() {
    let internet = internet(20, Mix::none());
    let dir = internet.folder.path();
    let database = finished_scan(&internet, Stores::folders(&internet, dir));
    database.psql("update everytab.pages set title = 'Ελλάδα'");
    let latin = format!("alter database \"{}\" set client_encoding = 'LATIN1'", database.name);
    database.psql(&latin);
    let place = url_of(&dir.join("backup"));
    run(database.owner(&["backup", "--to", &place])).expect_code(0);
    verify(&database, &place).expect_code(0);
}

#[test]
fn backup_and_restore_report_errors_in_one_line() {
    let internet = internet(40, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let place = url_of(&dir.join("backup"));
    let says = |command: std::process::Command, code: i32, what: &str| {
        let ended = run(command).expect_code(code);
        assert!(ended.stderr.contains(what), "{}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    };
    says(database.owner(&["backup", "--to", &place]), 1, "there is no scan yet");
    database.start_scan(internet.crawl(), &[]);
    says(database.owner(&["backup", "--to", &place]), 1, "is running; wait for its end");
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    says(database.owner(&["backup"]), 2, "--to");
    says(database.owner(&["backup", "--to", "ftp://x/y"]), 1, "the scheme is unknown");
    says(database.owner(&["restore", "--from", &place]), 1, "no complete backup");
    says(database.owner(&["restore", "--verify", "--from", &place]), 1, "no complete backup");
    says(
        database.owner(&["restore", "--verify", "--from", &place, "--site", "file:///x"]),
        2,
        "--site",
    );
    let without_database = worker(["restore", "--from", &place]);
    says(without_database, 2, "no database");
    let mut without_tools = database.owner(&["backup", "--to", &place]);
    without_tools.env("EVERYTAB_PG_BIN", dir);
    says(without_tools, 1, "apt-get install postgresql-client-");
    run(database.owner(&["backup", "--to", &place])).expect_code(0);
    let other = finished_scan(&internet, Stores::folders(&internet, &dir.join("other")));
    says(other.owner(&["backup", "--to", &place]), 1, "contains a backup of scan");
    let list = dir.join("backup/backup.json");
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replacen("site/", "sitE/", 1)).unwrap();
    says(database.owner(&["backup", "--to", &place]), 1, "backup.json");
}
