//! Tests that invalid input ends the program with one line that names it and gives advice, and that
//! the corrected command succeeds.

use std::{fs, path::Path, process::Command};

use everytab_postgres::{PostgresSettings, PrivatePostgres, shared_for_tests};
use everytab_testbed::Mix;
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, copy_folder, internet, unused_address, with_s3},
    netns, outcomes,
    setup::{Ended, Running, assert_same, files, folder, published, run, tabs, wait_for, worker},
};

/// Fails unless stderr has one error line, with all `parts`.
#[track_caller]
fn assert_refused(ended: Ended, code: i32, parts: &[&str]) {
    let ended = ended.expect_code(code);
    let errors: Vec<&str> =
        ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    let [line] = errors[..] else { panic!("{} error lines: {}", errors.len(), ended.stderr) };
    for part in parts {
        assert!(line.contains(part), "no {part:?} in: {line}");
    }
    for crash in ["panicked", "backtrace", "RUST_BACKTRACE"] {
        assert!(!ended.stderr.contains(crash), "{}", ended.stderr);
    }
}

fn status_of(database_url: &str) -> Ended {
    run(worker(["scan", "status", "--database-url", database_url]))
}

#[test]
fn a_database_that_cannot_be_reached_is_named() {
    let place = unused_address().to_string();
    let url = format!("postgres://someone:secret-word@{place}/everytab");
    let ended = status_of(&url);
    assert!(!ended.stderr.contains("secret-word"), "{}", ended.stderr);
    assert_refused(ended, 1, &[&place, "--database-url"]);
    assert_refused(run(worker(["scan", "status"])), 2, &["--database-url", "DATABASE_URL"]);
    assert_refused(status_of("nonsense"), 1, &["postgres://"]);
}

#[test]
fn a_wrong_password_is_named_and_not_shown() {
    let folder = folder();
    let hba = folder.path().join("hba.conf");
    fs::write(&hba, "local all postgres trust\nlocal all all scram-sha-256\n").unwrap();
    let settings = PostgresSettings {
        durable: false,
        extra: vec![("hba_file".to_owned(), hba.display().to_string())],
        ..PostgresSettings::new(folder.path().join("postgres"))
    };
    let postgres = PrivatePostgres::start(settings).unwrap();
    postgres.psql("postgres", "create role someone login password 'the-right-one'").unwrap();
    let url =
        |password: &str| format!("{}&password={password}", postgres.url("postgres", "someone"));
    let ended = status_of(&url("a-wrong-one"));
    assert!(!ended.stderr.contains("a-wrong-one"), "{}", ended.stderr);
    assert_refused(ended, 1, &["password", "someone", "DATABASE_URL"]);
    // With the right password, the next error is that the database has no schema.
    assert_refused(status_of(&url("the-right-one")), 1, &["everytab-worker migrate"]);
    postgres.stop().unwrap();
}

#[test]
fn the_error_for_an_unmigrated_database_names_the_command_to_run() {
    let server = shared_for_tests();
    let name = server.fresh_database(None);
    let url = server.url(&name, "postgres");
    assert_refused(status_of(&url), 1, &["schema", "everytab-worker migrate"]);
    assert_refused(run(worker(["run", "--database-url", &url])), 1, &["everytab-worker migrate"]);
    run(worker(["migrate", "--database-url", &url])).expect_code(0);
    assert_refused(status_of(&url), 1, &["no scan yet", "scan start"]);
    assert_refused(
        status_of(&server.url("no_such_database", "postgres")),
        1,
        &["no_such_database"],
    );
}

#[test]
fn a_local_scan_rejects_invalid_settings_before_it_creates_anything() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").display().to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let wrong: [(&[&str], &str); 7] = [
        (&[], "what to scan? give --sample"),
        (&["--sample", &missing], &missing),
        (&["--sample", "--sample-mix", "heavy"], "heavy"),
        (&["--sample", "--ca-file", &missing], "--ca-file"),
        (&["--sample", "--user-agent", "a\nb"], "user agent"),
        (&["--sample", "--distribution", "no id"], "no id"),
        (&["--sample", "--serve", &taken], &taken),
    ];
    let dir = folder.path().join("data");
    let refused = |arguments: &[&str], metrics: Option<&str>, named: &str| {
        let mut command = worker(["local", "--dir"]);
        command.arg(&dir).args(arguments);
        if let Some(metrics) = metrics {
            command.env("EVERYTAB_METRICS", metrics);
        }
        let ended = run(command);
        assert!(matches!(ended.code(), Some(1 | 2)), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(named), "{}", ended.stderr);
        assert!(!dir.exists(), "{arguments:?} created the directory");
    };
    for (arguments, named) in wrong {
        refused(arguments, None, named);
    }
    refused(&["--sample"], Some(&taken), &taken);
    refused(&["--sample"], Some("here"), "--metrics");
}

#[test]
fn the_environment_of_a_worker_does_not_break_other_commands() {
    // A console's environment has variables for its worker, for scans and for backups. A usage
    // error would give exit code 2.
    let variables = [
        ("EVERYTAB_METRICS", "127.0.0.1:9464"),
        ("EVERYTAB_BACKUPS", "file:///b"),
        ("EVERYTAB_LIMIT", "1000"),
        ("EVERYTAB_INSTANCE", "c7g.xlarge"),
    ];
    let commands: [(i32, &[&str]); 5] = [
        (0, &["plan", "--hosts", "1000"]),
        (1, &["doctor", "--role", "index"]),
        (1, &["scan", "status"]),
        (1, &["crawl", "status", "0198c5d2-7d2e-7cc3-b2a4-6d1d3f1e9a10"]),
        (1, &["takedown", "--site", "file:///nowhere/at/all", "a.example"]),
    ];
    for (code, arguments) in commands {
        let mut command = worker(arguments);
        command.env("DATABASE_URL", "postgres://127.0.0.1:1/none").envs(variables);
        run(command).expect_code(code);
    }
}

#[test]
fn missing_crawls_buckets_and_directories_are_named_and_a_rerun_succeeds() {
    let internet = internet(40, Mix::none());
    let s3 = internet.s3();
    let database = Database::new(&internet, Stores::s3(&s3.endpoint));
    let start = |crawl: &str, source: &str, site: &str| {
        let mut arguments = vec!["scan", "start", "--crawl", crawl, "--source", source];
        arguments.extend(["--archive", "s3://everytab/private", "--site", site]);
        run(database.owner(&arguments))
    };
    let crawl = internet.crawl();
    let source = "s3://crawl";
    let site = "s3://everytab/site";
    assert_refused(start("CC-MAIN-1999-01", source, site), 1, &["CC-MAIN-1999-01", "--crawl"]);
    assert_refused(start("yesterday", source, site), 2, &["yesterday", "CC-MAIN-2026-05"]);
    assert_refused(start(crawl, "s3://no-such-bucket", site), 1, &["no-such-bucket"]);
    assert_refused(start(crawl, source, "s3://no-such-bucket/site"), 1, &["no-such-bucket"]);
    assert_refused(start(crawl, "ftp://somewhere", site), 1, &["ftp://somewhere", "s3://"]);
    let mut wrong_keys = database.owner(&["scan", "start", "--crawl", crawl]);
    wrong_keys.args(database.stores.arguments()).env("AWS_SECRET_ACCESS_KEY", "another");
    assert_refused(run(wrong_keys), 1, &["s3://crawl", "secret key"]);
    assert_refused(run(database.owner(&["scan", "status"])), 1, &["no scan yet"]);
    start(crawl, source, site).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);

    let empty = folder();
    let dir = internet.folder.path().join("local").display().to_string();
    let sample = empty.path().display().to_string();
    let local = |arguments: &[&str]| {
        let mut command = worker(["local", "--dir", &dir, "--exit-when-done"]);
        command.args(arguments);
        with_s3(&mut command, &s3.endpoint);
        run(command)
    };
    assert_refused(local(&["--sample", &sample]), 1, &[&sample]);
    assert_refused(local(&["--sample", "/no/such/folder"]), 2, &["/no/such/folder", "--sample"]);
    assert_refused(local(&[]), 2, &["--sample", "--crawl"]);
    assert_refused(
        local(&["--source", "s3://no-such-bucket", "--crawl", crawl]),
        1,
        &["no-such-bucket"],
    );
    local(&["--sample", "--sample-hosts", "30", "--sample-mix", "none"]).expect_code(0);
}

#[test]
fn a_scan_of_the_public_internet_must_identify_its_operator() {
    let folder = tempfile::tempdir().unwrap();
    let database = shared_for_tests().fresh_database(None);
    let url = shared_for_tests().url(&database, "postgres");
    run(worker(["migrate", "--database-url", &url])).expect_code(0);
    let dir = folder.path().join("data");
    let (site, contact) = (["--site-url", "https://tabs.page/"], ["--contact", "bot@tabs.page"]);
    let reserved_site = ["--site-url", "https://tabs.example/"];
    let reserved_contact = ["--contact", "me@example.com"];
    let wrong: [([&[&str]; 2], &[&str]); 4] = [
        ([&[], &[]], &["--site-url", "EVERYTAB_SITE_URL"]),
        ([&site, &[]], &["--contact", "EVERYTAB_CONTACT"]),
        ([&reserved_site, &contact], &["https://tabs.example/", "reserved"]),
        ([&site, &reserved_contact], &["me@example.com", "reserved"]),
    ];
    for (more, named) in wrong {
        let more = more.concat();
        let mut start = worker(["scan", "start", "--crawl", "latest", "--database-url", &url]);
        start.args(["--archive", "file:///nowhere", "--site", "file:///nowhere"]);
        let mut local = worker(["local", "--crawl", "latest"]);
        local.arg("--dir").arg(&dir);
        for mut command in [start, local] {
            command.env_remove("EVERYTAB_INTERNET").args(&more);
            assert_refused(run(command), 2, named);
        }
        assert!(!dir.exists(), "{more:?} created the directory");
    }
    assert_refused(status_of(&url), 1, &["no scan yet"]);
}

#[test]
fn the_page_about_the_robot_shows_the_user_agent_of_the_scan() {
    let internet = internet(40, Mix::none());
    let out = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &out));
    let identity = ["--site-url", "https://tabs.page/all", "--contact", "bot@tabs.page"];
    database.start_scan(internet.crawl(), &[&["--internet", "public"][..], &identity].concat());
    let own = ["--exit-when-done", "--user-agent", "OwnBot/1.0"];
    let worker = run(database.worker(&own)).expect_code(0);
    assert!(worker.stderr.contains("--user-agent"), "{}", worker.stderr);
    let page = fs::read_to_string(out.join("site/bot.html")).unwrap();
    let sent = "EveryTabBot/1.0 (+https://tabs.page/all/bot.html; bot@tabs.page)";
    assert!(page.contains(&format!("<code>{sent}</code>")), "{page}");
    assert!(!page.contains("OwnBot") && page.contains("mailto:bot@tabs.page"), "{page}");
    let settings = database.psql("select settings->>'user_agent' from everytab.scans");
    assert_eq!(settings.trim(), sent);
}

#[test]
fn a_corrupt_gzip_member_costs_its_host_and_no_other() {
    let internet = internet(120, Mix::none());
    let dir = internet.folder.path();
    let bucket = dir.join("damaged");
    copy_folder(&internet.running.client.bucket_dir, &bucket);
    let hostname = corrupt_a_member(&bucket);
    let scan = |bucket: &Path, name: &str| {
        let database = Database::new(&internet, Stores::folders_of(bucket, &dir.join(name)));
        database.start_scan(internet.crawl(), &[]);
        run(database.worker(&["--exit-when-done"])).expect_code(0);
        dir.join(name).join("site")
    };
    let (damaged, whole) = (scan(&bucket, "out"), scan(&internet.running.client.bucket_dir, "all"));
    let stats: Value =
        serde_json::from_slice(&fs::read(damaged.join("stats.json")).unwrap()).unwrap();
    assert_eq!(stats["stages"]["warc"]["outcomes"]["warc_corrupt"], 1, "{stats}");
    outcomes::assert_totals(&damaged);
    let urls = |site: &Path| -> Vec<String> {
        let mut urls: Vec<String> =
            tabs(site).iter().map(|tab| tab["url"].as_str().unwrap().to_owned()).collect();
        urls.sort();
        urls
    };
    let is_other = |url: &String| !url.ends_with(&format!("://{hostname}"));
    let others: Vec<String> = urls(&whole).into_iter().filter(is_other).collect();
    assert_eq!(urls(&damaged), others);
    assert_eq!(others.len() + 1, urls(&whole).len(), "{hostname} had no tab before");
}

/// Damages one host's WARC record in the crawl, and returns the hostname.
fn corrupt_a_member(bucket: &Path) -> String {
    let index = files(&bucket.join("cc-index"));
    let name = index.keys().find(|name| name.contains("subset=warc")).unwrap();
    let parquet = bucket.join("cc-index").join(name).display().to_string();
    let listed = run(worker(["inspect", "index", &parquet])).expect_code(0);
    let rows = listed.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for row in rows {
        let path = bucket.join(row["warc_filename"].as_str().unwrap());
        let number = |field: &str| usize::try_from(row[field].as_u64().unwrap()).unwrap();
        let (offset, length) = (number("warc_record_offset"), number("warc_record_length"));
        let mut bytes = fs::read(&path).unwrap();
        let member = bytes.get_mut(offset..offset + length).unwrap();
        // Only a page with a title becomes a tab.
        if !member_has_title(member) {
            continue;
        }
        for byte in member.iter_mut().skip(12) {
            *byte = !*byte;
        }
        fs::write(&path, bytes).unwrap();
        return row["hostname"].as_str().unwrap().to_owned();
    }
    panic!("no page with a title in {parquet}");
}

fn member_has_title(member: &[u8]) -> bool {
    use everytab_commoncrawl::warc::{Limits, read_record};
    let record = read_record(member, Limits::default()).unwrap();
    let response = record.http_response().unwrap();
    let url = record.target_uri().unwrap();
    let page = everytab_webpage::understand(&url, response.headers.fields(), &response.body);
    !everytab_webpage::tab_title(&page.title.text).is_empty()
}

#[test]
fn a_site_that_cannot_be_written_is_named_and_a_re_run_finishes() {
    let internet = internet(40, Mix::none());
    let dir = internet.folder.path();
    // Root may write into any directory, so put a file where the directory should be.
    fs::write(dir.join("site"), "in the way").unwrap();
    let site = dir.join("site/of/tabs");
    assert_refused(local(&internet, &site).finish(), 1, &[&dir.join("site").display().to_string()]);
    fs::remove_file(dir.join("site")).unwrap();
    local(&internet, &site).finish().expect_code(0);
    assert!(!published(&site).is_empty());
}

fn local(internet: &Internet, site: &Path) -> Running {
    let dir = internet.folder.path();
    let stores = Stores {
        site: format!("file://{}", site.display()),
        ..Stores::folders(internet, &dir.join("local"))
    };
    let mut command = worker(["local", "--exit-when-done", "--lease", "2s", "--dir"]);
    command.arg(dir.join("local")).args(["--crawl", internet.crawl()]).args(stores.arguments());
    command.args(internet.running.client.arguments());
    Running::start(command)
}

struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "everytab-test"])
            .arg(at)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(at.to_path_buf())),
            _ => {
                println!("skipped: only root can mount a small file system");
                None
            }
        }
    }

    fn grow(&self) {
        let grown = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&self.0).status();
        assert!(grown.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A lazy unmount succeeds even while a process has a file open.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_named_and_with_room_again_the_scan_goes_on_to_the_same_bytes() {
    let internet = internet(120, Mix::none());
    let small = internet.folder.path().join("small");
    let Some(disk) = SmallDisk::mount(&small) else { return };
    let site = small.join("site");
    let running = local(&internet, &site);
    let disk_name = small.display().to_string();
    wait_for("a line about the full disk", || {
        let said = running.stderr_text();
        let named = said.lines().any(|line| line.contains(&disk_name) && line.contains("space"));
        named.then_some(())
    });
    disk.grow();
    running.finish().expect_code(0);
    let undisturbed = internet.folder.path().join("undisturbed");
    let database = Database::new(&internet, Stores::folders(&internet, &undisturbed));
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let expected = published(&undisturbed.join("site"));
    assert_same(&expected, &published(&site), "undisturbed and after a full disk");
}

#[test]
fn few_open_files_mean_a_warning_and_fewer_concurrent_requests_and_the_same_scan() {
    let internet = internet(40, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    let mut command = database.worker(&["--exit-when-done", "--in-flight", "5000"]);
    netns::limit_open_files(&mut command, 600);
    let ended = run(command).expect_code(0);
    let warning = "--in-flight is too high: open files: the limit is 600, --in-flight 5000 \
                   needs 20000; using 150";
    assert!(ended.stderr.contains(warning), "{}", ended.stderr);
    assert!(!ended.stderr.contains("Too many open files"), "{}", ended.stderr);
    outcomes::assert_totals(&internet.folder.path().join("site"));

    let mut command = worker(["doctor", "--in-flight", "5000"]);
    netns::limit_open_files(&mut command, 600);
    let ended = run(command);
    let line = ended.stdout.lines().find(|line| line.contains("open files")).unwrap_or_default();
    assert!(line.contains("FAIL") && line.contains("ulimit -n"), "{}", ended.stdout);
}

#[test]
fn a_plan_without_a_crawl_shows_what_limits_each_stage_and_knows_instance_types() {
    let plan = |more: &[&str]| {
        let mut command = worker(["plan", "--hosts", "30000000"]);
        command.args(more);
        command.env_remove("EVERYTAB_ARCHIVE_RATE").env_remove("EVERYTAB_IN_FLIGHT");
        run(command)
    };
    let document = |more: &[&str]| {
        let ended = plan(&[&["--json"], more].concat()).expect_code(0);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    };
    let usual = document(&["--workers", "8", "--instance", "c7g.large"]);
    let stages = usual["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 5);
    for stage in stages {
        assert!(stage["hours"].as_f64().unwrap() > 0.0, "{stage}");
        assert!(stage["dollars"].as_f64().unwrap() > 0.0, "{stage}");
        assert!(!stage["bound_by"].as_str().unwrap().is_empty(), "{stage}");
    }
    let costs = usual["costs"].as_array().unwrap().iter();
    let sum: f64 = costs.map(|cost| cost["dollars"].as_f64().unwrap()).sum();
    assert!((sum - usual["dollars"].as_f64().unwrap()).abs() < 0.01, "{usual}");
    assert!(usual["prices"]["date"].as_str().unwrap().starts_with("20"));
    let sources = usual["rates"].as_array().unwrap().iter();
    assert!(sources.map(|rate| rate["source"].as_str().unwrap()).all(|source| !source.is_empty()));
    let text = plan(&["--workers", "8", "--instance", "c7g.large"]).expect_code(0);
    let line = text.stdout.lines().find(|line| line.trim_start().starts_with("a scan")).unwrap();
    assert!(line.contains(&format!("{:.2}", usual["dollars"].as_f64().unwrap())), "{line}");
    assert!(text.stderr.contains("remembered"), "{}", text.stderr);
    // docs/cost.md quotes this output.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cost.md");
    let page = fs::read_to_string(page).unwrap();
    let table = text.stdout.lines().skip(1).take_while(|line| !line.contains(" GB come in"));
    for line in table.map(str::trim) {
        assert!(page.contains(line), "not in docs/cost.md: {line}");
    }
    // The instance has memory for only this many requests in flight.
    let many = document(&["--workers", "8", "--in-flight", "20000"]);
    assert_eq!(many["in_flight"], 10_752, "{many}");
    for (arguments, what) in [
        (&["--instance", "c99.mega"][..], "c7g.large"),
        (&["--database-instance", "db.x"], "db.m7g.large"),
        (&["--core-speed", "0"], "--core-speed"),
        (&["--days-until-teardown", "-1"], "--days-until-teardown"),
        (&["--limit", "5"], "--limit"),
        (&["--workers", "0"], "--workers"),
    ] {
        let refused = plan(arguments).expect_code(2);
        assert!(refused.stderr.contains(what), "{arguments:?}: {}", refused.stderr);
    }
}
