//! Tests the `crawl` commands' options and output with a real Postgres. No worker crawls here, so
//! tests write the counters that a checkpoint would write.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed, and says where"
)]

use std::{
    fs,
    io::Write as _,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::Duration,
};

use everytab_postgres::shared_for_tests;
use serde_json::{Value, json};
use tempfile::TempDir;

const TEMPLATE: &str = "everytab_crawl_tests";

struct Crawls {
    database: String,
    folder: TempDir,
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails unless the program exited with this code and one error line that contains all `parts`.
    #[track_caller]
    fn refused(self, code: i32, parts: &[&str]) {
        let ended = self.expect(code);
        let errors: Vec<&str> =
            ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", ended.stderr);
        for part in parts {
            assert!(errors[0].contains(part), "{part:?} is not in {}", ended.stderr);
        }
        assert_eq!(ended.stdout, "");
    }

    fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn started(&self) -> (String, String) {
        let (id, name) = self.stdout.trim().split_once(' ').unwrap();
        (id.to_owned(), name.to_owned())
    }
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everytab-worker"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_ours = text.starts_with("EVERYTAB_") && text != "EVERYTAB_PG_BIN";
        if is_ours || text.starts_with("AWS_") || text == "DATABASE_URL" {
            command.env_remove(&name);
        }
    }
    command.args(arguments);
    command
}

fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Crawls {
    fn new() -> Self {
        let server = shared_for_tests();
        server.template(TEMPLATE, |url| {
            ended(program(&["migrate", "--database-url", url]).output().unwrap()).expect(0);
        });
        let database = server.fresh_database(Some(TEMPLATE));
        Self { database, folder: tempfile::tempdir().unwrap() }
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, b"")
    }

    fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut command = program(&[&["crawl"], arguments].concat());
        command
            .env("DATABASE_URL", shared_for_tests().url(&self.database, "postgres"))
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The program may not read its input, and must not block on a full pipe.
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        ended(output)
    }

    fn start(&self, arguments: &[&str]) -> (String, String) {
        self.run(&[&["start", "--to", "store"], arguments].concat()).expect(0).started()
    }

    fn status(&self, id: &str) -> Value {
        self.run(&["status", id, "--json"]).expect(0).json().remove(0)
    }

    fn psql(&self, sql: &str) -> String {
        shared_for_tests().psql(&self.database, sql).unwrap().trim().to_owned()
    }
}

#[test]
fn a_crawl_is_started_with_its_seeds_and_settings_and_shown() {
    let crawls = Crawls::new();
    let given =
        "a.example\n\n# no seed\nmailto:me@a.example\nhttps://b.example/x?y=1\n1,c.example\n";
    fs::write(crawls.folder.path().join("seeds.txt"), given).unwrap();
    let started = crawls
        .run(&[
            "start",
            "--to",
            "store",
            "--seeds",
            "seeds.txt",
            "d.example",
            "nothing",
            "--depth",
            "3",
            "--limit",
            "500",
            "--include",
            "*/x*",
            "--for",
            "2h",
        ])
        .expect(0);
    let refusals: Vec<&str> =
        started.stderr.lines().filter(|line| line.starts_with("refused: ")).collect();
    assert_eq!(
        refusals,
        [
            "refused: \"nothing\": neither a URL nor a hostname such as example.com",
            "refused: seeds.txt:4: \"mailto:me@a.example\": the scheme is neither http nor https",
            "refused: seeds.txt:6: \"1,c.example\": the hostname has an invalid character",
        ]
    );
    assert!(started.stderr.contains("3 seeds, 3 refused"), "{}", started.stderr);
    let (id, name) = started.started();
    assert!(name.starts_with("LIVE-") && name.ends_with(&id[..8]), "{id} {name}");
    let status = crawls.status(&id);
    assert_eq!((&status["state"], &status["seeding"]), (&"running".into(), &false.into()));
    assert_eq!((&status["seeds"], &status["page_limit"]), (&3.into(), &500.into()));
    assert_eq!(status["owner"], "operator");
    assert_eq!(
        (&status["settings"]["depth"], &status["settings"]["scope"]),
        (&3.into(), &"site".into())
    );
    assert_eq!(status["settings"]["include"][0], "*/x*");
    let store = crawls.folder.path().canonicalize().unwrap().join("store");
    assert_eq!(status["store"], format!("file://{}", store.display()));
    let ends = "select extract(epoch from ends_at - started_at)::int / 60 from everytab.crawls";
    let minutes: i64 = crawls.psql(ends).parse().unwrap();
    assert!((118..=121).contains(&minutes), "{minutes}");
    assert_eq!(crawls.psql("select sum(amount) from everytab.links"), "3");
    let shown = crawls.run(&["status", &id]).expect(0).stdout;
    assert!(shown.contains("3 seeds, 3 links not read yet"), "{shown}");
    assert!(shown.contains("500 pages: 500 left"), "{shown}");
}

#[test]
fn seeds_are_read_from_a_pipe_in_batches() {
    let crawls = Crawls::new();
    let lines: String = (0..45_000).map(|number| format!("host{number}.example\n")).collect();
    let arguments = ["start", "--to", "store", "--seeds", "-", "--json"];
    let started = crawls.run_with(&arguments, lines.as_bytes()).expect(0);
    let document = &started.json()[0];
    assert_eq!((&document["seeds"], &document["refused"]), (&45_000.into(), &0.into()));
    let status = crawls.status(document["id"].as_str().unwrap());
    assert_eq!((&status["seeds"], &status["seeding"]), (&45_000.into(), &false.into()));
    let sums = "select sum(amount) || ' ' || count(distinct slot_group) || ' ' ||
                       bit_or(slot_mask) from everytab.links";
    assert_eq!(crawls.psql(sums), "45000 16 65535");
}

#[test]
fn the_scope_list_has_the_sites_of_the_seeds() {
    let crawls = Crawls::new();
    let arguments = ["start", "--to", "store", "--scope", "list", "--seeds", "-", "c.co.uk"];
    let seeds = b"www.a.com\nb.a.com/x\nno seed\n";
    let started = crawls.run_with(&arguments, seeds).expect(0);
    assert_eq!(started.stderr.matches("refused: ").count(), 1, "{}", started.stderr);
    let settings = "select settings->>'scope' || ' ' || jsonb_array_length(settings->'list_sites')
                      from everytab.crawls";
    assert_eq!(crawls.psql(settings), "list 2");
    assert_eq!(crawls.psql("select sum(amount) from everytab.links"), "3");
    let (id, _) = started.started();
    assert_eq!(crawls.status(&id)["settings"].get("list_sites"), None);
}

#[test]
fn without_a_usable_seed_no_crawl_is_started() {
    let crawls = Crawls::new();
    let start = |arguments: &[&str], input: &[u8]| {
        crawls.run_with(&[&["start", "--to", "store"], arguments].concat(), input)
    };
    for input in [&b""[..], b"\n# nothing\n", b"nothing\n\xff\xfe\n"] {
        for more in [&["--seeds", "-"][..], &["--seeds", "-", "--scope", "list"]] {
            start(more, input).refused(1, &["no valid seeds; no crawl was started"]);
        }
    }
    start(&["ftp://a.example/"], b"").refused(1, &["no valid seeds"]);
    start(&[], b"").refused(2, &["no seeds", "--seeds"]);
    start(&["--seeds", "missing.txt"], b"").refused(1, &["--seeds missing.txt", "No such file"]);
    start(&["--seeds", "."], b"").refused(1, &["--seeds .", "directory"]);
    assert_eq!(crawls.psql("select count(*) from everytab.crawls"), "0");
    crawls.run(&["status"]).refused(1, &["no crawl yet", "crawl start"]);
    assert_eq!(crawls.run(&["list"]).expect(0).stdout, "");
}

#[test]
fn an_option_out_of_its_bounds_is_named_in_one_line() {
    let crawls = Crawls::new();
    for (option, value, said) in [
        ("--depth", "1001", "1000"),
        ("--limit", "0", "expected 1 to"),
        ("--site-pages", "0", "1000000000"),
        ("--include", "https://a.example/", "leave out the scheme"),
        ("--exclude", "re:(", "pattern 1"),
        ("--priority", "news=9", "-7 to 7"),
        ("--media-bytes", "33MiB", "33554432"),
        ("--max-bytes", "0", "16777216"),
        ("--types", "htlm", "htlm"),
        ("--delay", "2h", "3600000"),
        ("--max-delay", "2h", "3600000"),
        ("--delay-factor", "NaN", "expected 0 to 100"),
        ("--for", "366d", "31536000"),
        ("--max-store", "0", "expected 1 to"),
    ] {
        let option_and_value = format!("{option}={value}");
        let refused = crawls.run(&["start", "--to", "store", &option_and_value, "a.example"]);
        refused.refused(2, &[option, said]);
    }
    // Clap itself rejects these values, and prints its usage.
    for option in ["--scope=world", "--media=some", "--delay=soon", "--max-bytes=2MB", "--for=-1"] {
        let ended = crawls.run(&["start", "--to", "store", option, "a.example"]).expect(2);
        assert!(ended.stderr.contains(option.split('=').next().unwrap()), "{}", ended.stderr);
    }
    let store = ["start", "--to", "ftp://somewhere", "a.example"];
    crawls.run(&store).refused(1, &["ftp://somewhere"]);
    assert_eq!(crawls.psql("select count(*) from everytab.crawls"), "0");
}

#[test]
fn a_crawl_is_paused_resumed_and_cancelled_once() {
    let crawls = Crawls::new();
    let (id, name) = crawls.start(&["a.example"]);
    let said = |verb: &str| crawls.run(&[verb, &name]).expect(0).stdout;
    let refused = |verb: &str, parts: &[&str]| crawls.run(&[verb, &id]).refused(1, parts);
    assert_eq!(said("pause"), "paused\n");
    assert_eq!(crawls.status(&id)["state"], "paused");
    refused("pause", &["nothing was changed", "paused already"]);
    assert_eq!(said("resume"), "running\n");
    refused("resume", &["running already"]);
    assert_eq!(said("cancel"), "cancelled\n");
    let status = crawls.status(&id);
    assert_eq!((&status["state"], &status["ended_by"]), (&"ended".into(), &"cancel".into()));
    for verb in ["pause", "resume", "cancel"] {
        refused(verb, &["nothing was changed", &name, "has ended"]);
    }
    crawls.run(&["add", &id, "b.example"]).refused(1, &["has ended"]);
    crawls.run(&["set", &id, "for=1h"]).refused(1, &["has ended"]);
    let watched = crawls.run(&["status", &id, "--watch"]).expect(0);
    assert!(watched.stdout.starts_with("ended (cancel): 0 known"), "{}", watched.stdout);
}

#[test]
fn seeds_are_added_to_a_running_crawl() {
    let crawls = Crawls::new();
    let (id, name) = crawls.start(&["a.example"]);
    let arguments = ["add", &name, "b.example", "--seeds", "-", "--urgent", "--json"];
    let added = crawls.run_with(&arguments, b"c.example\nnothing\n").expect(0);
    assert!(added.stderr.contains("refused: -:2: \"nothing\""), "{}", added.stderr);
    let document = &added.json()[0];
    assert_eq!((&document["seeds"], &document["refused"]), (&2.into(), &1.into()));
    assert_eq!(document["id"], id.as_str());
    let status = crawls.status(&id);
    assert_eq!((&status["seeds"], &status["seeding"]), (&3.into(), &false.into()));
    let urgent = "select string_agg(amount::text, ' ') from everytab.links where is_urgent";
    assert!(["2", "1 1"].contains(&crawls.psql(urgent).as_str()));
    let plain = crawls.run(&["add", &id, "d.example"]).expect(0);
    assert_eq!(plain.stdout, "1 seeds added, 0 refused\n");
    crawls.run(&["add", &id, "nothing"]).refused(1, &["nothing was added"]);
    crawls.run(&["add", &id]).refused(2, &["no seeds"]);
}

#[test]
fn a_crawl_has_a_store_for_each_range_of_slots() {
    let crawls = Crawls::new();
    let arguments = ["start", "--to", "00-7f=one", "--to", "80-ff=two", "--media-to", "media"];
    let started = crawls.run(&[&arguments[..], &["example.com"]].concat()).expect(0).started();
    let settings = &crawls.status(&started.0)["settings"];
    let url = |name: &str| format!("file://{}", crawls.folder.path().join(name).display());
    assert_eq!(settings["stores"][1]["store"], url("two"));
    assert_eq!(
        (&settings["stores"][1]["first"], &settings["media_store"]),
        (&json!(128), &json!(url("media")))
    );
    let store = crawls.psql("select store from everytab.crawls");
    assert_eq!(store, url("one"));
    for (stores, said) in [
        (&["--to", "00-7f=one"][..], "--to: no store is given for slot 80"),
        (&["--to", "00-80=one", "--to", "80-ff=two"], "--to: slot 80 has two stores"),
        (&["--to", "one", "--to", "80-ff=two"], "--to one: invalid store range"),
    ] {
        let arguments = [&["start"], stores, &["example.com"]].concat();
        crawls.run(&arguments).refused(2, &[said]);
    }
}

#[test]
fn the_limits_of_a_running_crawl_are_changed() {
    let crawls = Crawls::new();
    let (limited, _) = crawls.start(&["a.example", "--limit", "10"]);
    let set = |id: &str, change: &str| crawls.run(&["set", id, change]);
    let changed = crawls.run(&["set", &limited, "limit=20", "max-store=1GiB", "for=3h"]).expect(0);
    assert_eq!(changed.stdout, "limit=20\nmax-store=1GiB\nfor=3h\n");
    let status = crawls.status(&limited);
    assert_eq!((&status["page_limit"], &status["budget_left"]), (&20.into(), &20.into()));
    crawls.psql("update everytab.crawls set budget_left = 15");
    set(&limited, "limit=4").refused(1, &["limit=4", "5 pages"]);
    let (unlimited, _) = crawls.start(&["a.example"]);
    set(&unlimited, "limit=4").refused(1, &["limit=4", "--limit"]);
    let misspelt = set(&limited, "delay=1s").expect(2);
    assert!(misspelt.stderr.contains("limit=NUMBER"), "{}", misspelt.stderr);
}

#[test]
fn a_crawl_is_found_by_its_id_an_id_prefix_or_its_name() {
    let crawls = Crawls::new();
    let (first, first_name) = crawls.start(&["a.example"]);
    let (second, _) = crawls.start(&["b.example"]);
    let id = |arguments: &[&str]| {
        let ended = crawls.run(&[&["status", "--json"], arguments].concat()).expect(0);
        ended.json()[0]["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(id(&[]), second);
    for text in [&first, &first[..13], &first.to_uppercase(), &first_name] {
        assert_eq!(id(&[text]), first);
    }
    crawls.psql(&format!(
        "update everytab.crawls set id = overlay(id::text placing '{}' from 1 for 8)::uuid",
        &first[..8]
    ));
    crawls.run(&["status", &first[..8]]).refused(1, &["several", &first]);
    for text in ["nonsense", "LIVE-", "00000000-0000-0000-0000-000000000000", "%"] {
        for verb in ["status", "pause", "hosts", "fetches"] {
            crawls.run(&[verb, text]).refused(1, &["there is no crawl", text, "crawl list"]);
        }
    }
    crawls.run(&["cancel", ""]).refused(2, &["empty"]);
    let listed = crawls.run(&["list"]).expect(0).stdout;
    assert!(listed.lines().count() == 2 && listed.contains(&first_name), "{listed}");
    let listed = crawls.run(&["list", "--json"]).expect(0).json();
    assert_eq!(listed[1]["name"], first_name.as_str());
    assert_eq!(listed[0]["state"], "running");
}

#[test]
fn progress_hosts_and_fetches_are_shown() {
    let crawls = Crawls::new();
    let (id, _) = crawls.start(&["a.example"]);
    // A slot's worker would record these counts.
    crawls.psql(
        "select coordinator.count_in_slot(7::smallint, 1, 9, 4, 2, '{\"timeout\": 1}',
         '{\"robots\": 1}', '{\"host_dead\": 1}', '{\"scope\": 5, \"depth\": 6}',0, 1, 0, 0, 2048)",
    );
    crawls.psql(
        "insert into everytab.frontier_hosts (slot, host_hash, site_hash, free_at, delay_ms,
                                              response_ms, hostname)
         select 7, n, n, '2026-01-02', 1000, 30, n || '.example' from generate_series(1, 3) n;
         insert into everytab.frontier_chunks (crawl, slot, is_snapshot, host_hash, seq, known,
                                               pending, data)
         select 1, 7, true, n, 1, 5, 4, '' from generate_series(1, 3) n;
         insert into everytab.frontier_due (crawl, slot, host_hash, next_due)
         select 1, 7, n, '2026-01-03' from generate_series(1, 3) n;
         insert into everytab.fetches (crawl, slot, lease_number, host_hash, url_hash, url, at,
                                       depth, outcome, status, bytes, duration_ms)
         select 1, 7, 1, 1, n, 'https://1.example/' || n, '2026-01-02', 1, 'captured', 200, 50, 9
           from generate_series(1, 3) n",
    );
    let shown = crawls.run(&["status", &id]).expect(0).stdout;
    for line in [
        "known         9 = 4 pending + 2 captured + 1 failed + 1 refused + 1 left",
        "refused       robots 1",
        "left          host_dead 1",
        "links refused depth 6 + scope 5",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    assert!(shown.contains("2.0 KiB"), "{shown}");
    assert_eq!(crawls.status(&id)["links_refused"]["scope"], 5);

    let hosts = crawls.run(&["hosts", &id, "--limit", "2"]).expect(0);
    assert_eq!(hosts.stdout.lines().count(), 3, "{}", hosts.stdout);
    assert!(hosts.stdout.lines().nth(1).unwrap().ends_with("  1.example"), "{}", hosts.stdout);
    assert!(hosts.stderr.contains("--limit"), "{}", hosts.stderr);
    let hosts = crawls.run(&["hosts", &id, "--json"]).expect(0).json();
    assert_eq!((hosts.len(), &hosts[2]["hostname"]), (3, &"3.example".into()));

    // Other tests' transactions delay when these fetches become visible.
    while crawls.run(&["fetches", &id]).expect(0).stdout.lines().count() < 3 {
        sleep(Duration::from_millis(50));
    }
    let page = crawls.run(&["fetches", &id, "--limit", "2", "--json"]).expect(0);
    let fetches = page.json();
    assert_eq!((fetches.len(), &fetches[1]["url"]), (2, &"https://1.example/2".into()));
    let last = fetches[1]["position"].as_str().unwrap();
    assert!(page.stderr.contains(&format!("--after {last}")), "{}", page.stderr);
    let rest = crawls.run(&["fetches", &id, "--after", last]).expect(0);
    assert_eq!(rest.stdout.lines().count(), 1, "{}", rest.stdout);
    assert!(rest.stdout.contains("200 captured") && rest.stdout.ends_with("/3\n"));
    let refused = crawls.run(&["fetches", &id, "--after", "7"]).expect(2);
    assert!(refused.stderr.contains("expected three numbers"), "{}", refused.stderr);
    for (verb, limit) in [("hosts", "0"), ("hosts", "10001"), ("fetches", "1001")] {
        crawls.run(&[verb, &id, "--limit", limit]).expect(2);
    }
}

#[test]
fn a_schedule_is_added_shown_and_removed() {
    let crawls = Crawls::new();
    let add = ["schedule", "add", "--to", "store", "--depth", "1", "a.example", "b.example"];
    let nightly = [&add[..], &["--name", "nightly", "--at", "03:00", "--days", "mon,thu"]].concat();
    let (id, next_at) = crawls.run(&nightly).expect(0).started();
    assert!(next_at.ends_with("T03:00:00Z"), "{next_at}");
    crawls.run(&nightly).refused(1, &["nightly", "crawl schedule remove"]);
    crawls.run(&[&add[..], &["--name", "hourly", "--every", "1h"]].concat()).expect(0);
    crawls.run(&[&add[..], &["--name", "x", "--every", "59s"]].concat()).refused(2, &["60s"]);
    for wrong in [&["--at", "24:00"][..], &["--every", "1h", "--at", "03:00"], &[]] {
        crawls.run(&[&add[..], &["--name", "x"], wrong].concat()).expect(2);
    }
    let shown = crawls.run(&["schedule", "list", "--json"]).expect(0).json();
    let shown = shown.iter().find(|one| one["id"] == id.as_str()).unwrap();
    assert_eq!((&shown["weekdays"], &shown["at_s"]), (&json!(9), &json!(3 * 3_600)));
    assert_eq!((&shown["seeds"], &shown["settings"]["depth"]), (&json!(2), &json!(1)));
    crawls.run(&["schedule", "remove", &id]).expect(0);
    crawls.run(&["schedule", "remove", &id]).refused(1, &[&id]);
    crawls.psql("update everytab.schedules set fired = 2, last_error = 'the store is away'");
    let listed = crawls.run(&["schedule", "list"]).expect(0).stdout;
    assert!(listed.contains("\thourly\t"), "{listed}");
    assert!(listed.ends_with("\t2\t0\tthe store is away\n"), "{listed}");
}

#[test]
fn a_robots_override_is_added_shown_and_removed() {
    let crawls = Crawls::new();
    let add = ["robots", "add", "--site", "A.example", "--rules", "Disallow: /x", "--delay", "5s"];
    let id = crawls.run(&add).expect(0).stdout.trim().to_owned();
    let shown = crawls.run(&["robots", "list"]).expect(0).stdout;
    assert_eq!(shown, format!("{id}\ta.example\t-\t5000ms\t\"Disallow: /x\"\n"));
    crawls.run(&["robots", "add"]).refused(2, &["--rules", "--obey", "--delay"]);
    crawls.run(&["robots", "add", "--rules", "Disalow: /"]).refused(2, &["line 1"]);
    crawls.run(&["robots", "add", "--delay", "6m"]).refused(2, &["300000"]);
    crawls.run(&["robots", "remove", &id]).expect(0);
    crawls.run(&["robots", "remove", &id]).refused(1, &[&id, "crawl robots list"]);
}

#[test]
fn without_a_database_url_the_error_names_the_option() {
    let ended = ended(program(&["crawl", "list"]).output().unwrap());
    ended.refused(2, &["--database-url", "DATABASE_URL"]);
}
