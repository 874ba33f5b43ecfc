//! Runs the commands in the documents as printed, except those that are listed with a reason.
//!
//! Indented commands run here, with a small internet, Postgres and an S3 endpoint. Fenced blocks
//! run as a whole elsewhere: those of docs/api.md in `service_setup.rs` and `api_walkthrough.rs`,
//! those of docs/scan.md and docs/crawl.md in `make infra-boot`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use everytab_postgres::shared_for_tests;
use everytab_testbed::Mix;

use self::Step::{Beside, Ends, GoesOn, Line};
use crate::{
    environment::{Internet, internet, with_s3},
    netns::in_own_namespaces,
    service_setup::reader,
    setup::run,
};

const DOCUMENTS: [&str; 6] =
    ["README.md", "docs/local.md", "docs/fleet.md", "docs/api.md", "docs/scan.md", "docs/crawl.md"];
/// The section of docs/local.md that `service_setup.rs` runs.
const SERVICE: &str = "## A crawl service on one machine";
/// The section of docs/fleet.md that needs an AWS account. scripts/infra/runbook checks its
/// commands.
const CLOUD: &str = "## In the cloud";

/// Prefixes of indented lines that do not run here, with the reason.
const NOT_HERE: [(&str, &str); 14] = [
    ("make demo", "compiles for minutes, and installs Debian packages"),
    ("make test", "compiles for minutes, and runs this test"),
    ("cargo build", "compiles for minutes"),
    ("everytab-worker inspect index|warc|page|icon", "a pattern; worker/tests/inspect.rs runs all"),
    ("everytab-worker signing-key publish", "needs CloudFront; `make infra-boot` performs it"),
    ("cd docs/examples/python && ./page.py", "worker/tests/scan/api_examples.rs runs it"),
    ("ansible-playbook", "changes the machine; `make infra-boot` runs the roles"),
    ("apt install ./everytab-worker_*.deb", "changes the machine; `make infra-boot` installs it"),
    ("systemctl enable", "changes the machine; `make infra-boot` starts the units"),
    (r"\password everytab_worker_icons", "psql, by hand; passwords.rs does what it does"),
    ("select everytab_roles.change(", "psql; passwords.rs calls it on each version of Postgres"),
    ("LoadCredential=", "a setting of a unit"),
    ("Environment=", "a setting of a unit"),
    ("INFO crawled", "a line of a log"),
];

enum Step {
    /// A printed command that must end with exit code 0.
    Ends(&'static str),
    /// A printed command that runs until the second one succeeds, and must then end at SIGTERM with
    /// exit code 0 or 4.
    GoesOn(&'static str, &'static str),
    /// A printed command that runs in the background until the line `wait $beside`.
    Beside(&'static str),
    /// A line that no document contains.
    Line(&'static str),
}
const SERVES: &str = "curl -sf http://127.0.0.1:8080/manifest.json";
const ON_ONE_MACHINE: &[Step] = &[
    Line("export EVERYTAB_SAMPLE_HOSTS=12 EVERYTAB_SAMPLE_MIX=none"),
    Ends("everytab-worker local --sample --dir sample"),
    Line("unset EVERYTAB_SAMPLE_HOSTS EVERYTAB_SAMPLE_MIX; export EVERYTAB_SOURCE=\"$CRAWLS\""),
    Ends("export EVERYTAB_SITE_URL=https://your.site/ EVERYTAB_CONTACT=you@your.site"),
    GoesOn(
        "everytab-worker local --crawl latest --limit 1000 --workers 4 --serve 127.0.0.1:8080",
        SERVES,
    ),
    Line("unset EVERYTAB_SOURCE"),
    GoesOn(
        "everytab-worker local --sites my-sites.txt --dir my-sites --serve 127.0.0.1:8080",
        SERVES,
    ),
];

const SAYS_STARTED: &str = "grep -q 'worker started' said";
const AS_OWNER: Step = Line("export DATABASE_URL=\"$OWNER_URL\"");
const AS_WORKER: Step = Line("export DATABASE_URL=\"$WORKER_URL\"");
const CRAWLED: &str = "DATABASE_URL=\"$OWNER_URL\" everytab-worker crawl status --json | \
                       jq -e '.indexes == \"written\"'";
const AS_A_FLEET: &[Step] = &[
    Ends("export DATABASE_URL=postgres://owner@db/everytab"),
    Ends("everytab-worker migrate"),
    Ends(
        "everytab-worker scan start --crawl CC-MAIN-2026-05 --archive s3://my-archive/everytab \
         --site s3://my-site --site-url https://your.site/ --contact you@your.site",
    ),
    Beside("everytab-worker scan status --watch"),
    Ends("everytab-worker scan set rate=500"),
    Ends("everytab-worker scan pause --kind icon"),
    Line("everytab-worker scan resume --kind icon"),
    AS_WORKER,
    Ends("everytab-worker --exit-when-done"),
    Line("wait $beside"),
    AS_OWNER,
    Ends("everytab-worker scan history 4711"),
    AS_WORKER,
    GoesOn(
        "everytab-worker --metrics 127.0.0.1:9464",
        "curl -sf http://127.0.0.1:9464/metrics | grep everytab_",
    ),
    Line("export DATABASE_URL=\"$ICONS_URL\""),
    GoesOn("everytab-worker --role icons", SAYS_STARTED),
    Ends(
        "export DATABASE_URL='postgres://everytab_worker_icons@host/everytab?sslrootcert=\
         /etc/everytab/ca.pem'",
    ),
    GoesOn("EVERYTAB_DNS=127.0.0.1:53 everytab-worker --role icons", SAYS_STARTED),
    AS_OWNER,
    Ends("everytab-worker plan --hosts 30000000 --workers 8 --instance c7g.large"),
    Ends("everytab-worker backup --to s3://my-backups/2026-05"),
    Ends("everytab-worker restore --verify --from s3://my-backups/2026-05"),
    Ends(
        "createdb everytab && DATABASE_URL=postgres:///everytab everytab-worker restore --from \
         s3://my-backups/2026-05",
    ),
    Ends("everytab-worker signing-key new month.pem"),
    Ends("everytab-worker inspect url https://example.com/favicon.ico"),
    Ends("everytab-worker crawl start --seeds sites.txt --depth 1 --to s3://my-crawls"),
    Line("LIVE=$(everytab-worker crawl status --json | jq -r .name)"),
    Ends("everytab-worker crawl set LIVE-... --exclude '*/calendar/*'"),
    AS_WORKER,
    GoesOn(
        "everytab-worker --role crawl --site-url https://your.site/ --contact you@your.site",
        CRAWLED,
    ),
    AS_OWNER,
    Ends("everytab-worker crawl status"),
    Ends("everytab-worker crawl drop LIVE-... --dry-run"),
    Ends("everytab-worker crawl start --again LIVE-... --only failed --to s3://my-crawls"),
    Ends("everytab-worker crawl start --again LIVE-... --to s3://my-crawls"),
    Line("unset EVERYTAB_SOURCE"),
    Ends(
        "everytab-worker scan start --from-crawl LIVE-... --archive s3://my-archive/everytab \
         --site s3://my-site --site-url https://your.site/ --contact you@your.site",
    ),
];

impl Step {
    fn printed(&self) -> Option<&'static str> {
        match self {
            Ends(command) | GoesOn(command, _) | Beside(command) => Some(command),
            Line(_) => None,
        }
    }

    fn script(&self, own: &[(&str, &str)]) -> String {
        let with_own = |command: &str| {
            own.iter().fold(command.to_owned(), |text, (old, new)| text.replace(old, new))
        };
        match self {
            Ends(command) => format!("{}\n", with_own(command)),
            Line(line) => format!("{line}\n"),
            Beside(command) => format!("{} & beside=$!\n", with_own(command)),
            GoesOn(command, until) => format!(
                ": > said\n{} 2> >(tee said >&2) & going=$!\n\
                 until {until} > /dev/null; do kill -0 $going; sleep 0.3; done\n\
                 kill $going\nwait $going || test $? = 4\n",
                with_own(command)
            ),
        }
    }
}

fn script(steps: &[Step], own: &[(&str, &str)]) -> String {
    let lines = steps.iter().map(|step| {
        let script = step.script(own);
        format!("cat >&2 <<'STEP'\n+ {script}STEP\n{script}")
    });
    "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n".to_owned() + &lines.collect::<String>()
}

/// A document's command: an indented line or a fenced block.
#[derive(Debug)]
struct Printed {
    document: &'static str,
    /// The heading, or the info string of the block's fence.
    place: String,
    text: String,
}

/// Lists a document's commands. In a list, an indented line is text of an item.
fn printed(document: &'static str) -> Vec<Printed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(document);
    let text = fs::read_to_string(path).unwrap();
    let mut found: Vec<Printed> = Vec::new();
    let mut heading = String::new();
    let mut fence = None::<String>;
    let (mut is_list, mut may_begin, mut continues) = (false, true, false);
    for line in text.lines() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            let ends = fence.take().is_some();
            if !ends {
                fence = Some(info.to_owned());
                let text = String::new();
                found.push(Printed { document, place: format!("```{info}"), text });
            }
            continue;
        }
        if fence.is_some() {
            continue;
        }
        let is_code = line.starts_with("    ") && !is_list && may_begin;
        if is_code {
            let command = line.split(" # ").next().unwrap().trim();
            let (command, goes_on) = match command.strip_suffix('\\') {
                Some(begin) => (begin.trim_end(), true),
                None => (command, false),
            };
            if continues {
                let last = &mut found.last_mut().unwrap().text;
                *last = format!("{last} {command}");
            } else {
                let place = heading.clone();
                let text = command.to_owned();
                found.push(Printed { document, place, text });
            }
            continues = goes_on;
            continue;
        }
        may_begin = line.is_empty();
        if line.starts_with('#') {
            heading = line.to_owned();
        }
        if !line.is_empty() && !line.starts_with(' ') {
            let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
            is_list = ["- ", "* "].iter().any(|mark| line.starts_with(mark))
                || (number.len() < line.len() && number.starts_with(". "));
        }
    }
    found
}

/// Returns whether another test runs this command or, for AWS, the same steps.
fn is_performed_elsewhere(printed: &Printed) -> bool {
    let Printed { document, place, .. } = printed;
    match *document {
        "README.md" => false,
        "docs/local.md" => place == SERVICE,
        "docs/fleet.md" => place == CLOUD,
        // Run by service_setup.rs and api_walkthrough.rs. A block in Python is not a command.
        "docs/api.md" => {
            ["```sh", "```sh setup", "```sh start", "```python"].contains(&place.as_str())
        }
        // Run by ansible/tests/by_the_book.py.
        _ => ["```sh laptop", "```sh console"].contains(&place.trim_end_matches(", by hand")),
    }
}

#[test]
fn every_command_of_the_documents_is_performed_or_has_a_reason() {
    let steps = ON_ONE_MACHINE.iter().chain(AS_A_FLEET);
    let performed: BTreeSet<&str> = steps.filter_map(Step::printed).collect();
    let begin_of = |text: &str| NOT_HERE.iter().find(|(begin, _)| text.starts_with(begin));
    let mut used = BTreeSet::new();
    let mut missing = Vec::new();
    for command in DOCUMENTS.into_iter().flat_map(printed) {
        if is_performed_elsewhere(&command) {
            continue;
        }
        match (performed.get(command.text.as_str()), begin_of(&command.text)) {
            (Some(text), _) => drop(used.insert(*text)),
            (None, Some((begin, _))) => drop(used.insert(begin)),
            (None, None) => missing.push(command),
        }
    }
    assert!(missing.is_empty(), "neither performed nor with a reason: {missing:#?}");
    let listed = performed.into_iter().chain(NOT_HERE.iter().map(|(begin, _)| *begin));
    let unused: Vec<&str> = listed.filter(|text| !used.contains(text)).collect();
    assert!(unused.is_empty(), "in no document: {unused:#?}");
}

fn folder_with_sites(internet: &Internet, name: &str, list: &str) -> PathBuf {
    let folder = internet.folder.path().join(name);
    fs::create_dir(&folder).unwrap();
    let sites: Vec<String> = internet.running.hosts().take(5).collect();
    fs::write(folder.join(list), sites.join("\n") + "\nnot-there.test\n").unwrap();
    folder
}

#[test]
fn the_commands_for_one_host_each_create_a_site() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let internet = internet(12, Mix::none());
        let folder = folder_with_sites(&internet, "one-machine", "my-sites.txt");
        let mut shell = reader(&script(ON_ONE_MACHINE, &[]), &folder, &internet);
        shell.env("CRAWLS", &internet.running.client.bucket_dir);
        run(shell).expect_code(0);
    });
}

#[test]
fn the_commands_of_a_fleet_scan_crawl_back_up_and_restore() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let internet = internet(12, Mix::none());
        let folder = folder_with_sites(&internet, "fleet", "sites.txt");
        let s3 = internet.s3();
        for bucket in ["my-archive", "my-site", "my-backups", "my-crawls"] {
            s3.create_bucket(bucket).unwrap();
        }
        let server = shared_for_tests();
        let name = server.fresh_database(None);
        let restored = format!("{name}_restored");
        let (createdb, url) = (format!("createdb {restored}"), format!("postgres:///{restored} "));
        let icon = format!("https://{}/favicon.ico", internet.running.hosts().next().unwrap());
        let dns = internet.running.client.dns.to_string();
        let own = [
            (
                "'postgres://everytab_worker_icons@host/everytab?sslrootcert=/etc/everytab/ca.pem'",
                "\"$ICONS_URL\"",
            ),
            ("postgres://owner@db/everytab", "\"$OWNER_URL\""),
            ("createdb everytab", createdb.as_str()),
            ("postgres:///everytab ", url.as_str()),
            ("https://example.com/favicon.ico", icon.as_str()),
            ("127.0.0.1:53", dns.as_str()),
            ("history 4711", "history 1"),
            ("LIVE-...", "\"$LIVE\""),
        ];
        let mut shell = reader(&script(AS_A_FLEET, &own), &folder, &internet);
        with_s3(&mut shell, &s3.endpoint);
        let socket = server.socket();
        shell
            .env("EVERYTAB_SOURCE", "s3://crawl")
            .env("OWNER_URL", server.url(&name, "postgres"))
            .env("WORKER_URL", server.url(&name, "everytab_worker"))
            .env("ICONS_URL", server.url(&name, "everytab_worker_icons"))
            .env("PGHOST", socket.parent().unwrap())
            .env("PGUSER", "postgres");
        run(shell).expect_code(0);
        assert!(folder.join("month.pem").exists());
        let scans = "select count(*) from everytab.scans";
        assert_eq!(server.psql(&restored, scans).unwrap().trim(), "1");
        assert_eq!(server.psql(&name, scans).unwrap().trim(), "2");
    });
}
