//! Runs the commands in docs/local.md and docs/api.md that lead from nothing to a captured page,
//! exactly as printed.
//!
//! A small internet replaces the web. `apt-get install` and `sudo -u postgres` are replaced by
//! programs for a cluster that the test starts, and that requires passwords over TCP like Debian's.
//! A network namespace provides 127.0.0.1:8088 and 127.0.0.1:5432.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use everytab_postgres::{PostgresSettings, PrivatePostgres};
use serde_json::Value;

use crate::{
    environment::Internet,
    live_crawls::{graph, graph_of_sites},
    netns::in_own_namespaces,
    setup::{run, set_environment, worker},
};

const UNTIL_READY: &str = "until curl -sf http://127.0.0.1:8088/readyz > /dev/null; do \
                           kill -0 $!; sleep 0.1; done\n";
/// Stops all background processes, which must exit with code 4.
const STOP: &str = "for job in $(jobs -p); do kill $job; wait $job || test $? = 4; done\n";

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(path).unwrap()
}

/// Runs each command of a block in the background.
fn in_background(block: &str) -> String {
    let commands = block.replace("\\\n", " ");
    let started = commands.lines().filter(|line| !line.is_empty());
    started.map(|command| format!("{command} &\n")).collect::<String>() + UNTIL_READY
}

fn local_blocks(heading: &str) -> Vec<String> {
    let document = text("docs/local.md");
    let section = document.split_once(&format!("## {heading}\n")).unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let mut blocks = vec![String::new()];
    for line in section.lines() {
        match line.strip_prefix("    ") {
            Some(command) => *blocks.last_mut().unwrap() += &format!("{command}\n"),
            None if line.is_empty() || blocks.last().unwrap().is_empty() => {}
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

pub(crate) fn reader(script: &str, folder: &Path, internet: &Internet) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", script]).current_dir(folder);
    set_environment(&mut shell);
    let client = &internet.running.client;
    let pairs: Vec<_> = client.dial_ports.iter().map(|(of, to)| format!("{of}={to}")).collect();
    shell
        .env("EVERYTAB_DNS", client.dns.to_string())
        .env("EVERYTAB_CA_FILE", &client.ca_file)
        .env("EVERYTAB_ALLOW_RANGE", client.allow_ranges.join(","))
        .env("EVERYTAB_DIAL_PORT", pairs.join(","))
        .env_remove("DATABASE_URL");
    for proxy in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"] {
        shell.env_remove(proxy);
    }
    shell
}

fn perform(script: &str, folder: &Path, internet: &Internet, shims: Option<&Path>) -> String {
    let mut shell = reader(script, folder, internet);
    if let Some(shims) = shims {
        let path = shell.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
        let path = format!("{}:{}", shims.display(), path.to_str().unwrap());
        shell.env("PATH", path);
    }
    run(shell).expect_code(0).stdout
}

/// Creates programs `sudo` and `apt-get` for this cluster.
fn make_shims(folder: &Path, postgres: &PrivatePostgres) {
    let socket = postgres.socket();
    let (host, port) = (socket.parent().unwrap().display(), 5432);
    let sudo = format!(
        "#!/bin/sh -e\nif [ \"$1\" = -u ]; then shift 2; export PGHOST='{host}' PGPORT={port} \
         PGUSER=postgres; fi\nunset DATABASE_URL\nexec \"$@\"\n"
    );
    let apt = "#!/bin/sh -e\n[ \"$*\" = 'install -y postgresql' ]\necho 'it is installed'\n";
    fs::create_dir_all(folder).unwrap();
    for (name, script) in [("sudo", sudo.as_str()), ("apt-get", apt)] {
        let file = folder.join(name);
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Starts a cluster that requires passwords over TCP, like Debian's package.
pub(crate) fn cluster(folder: &Path) -> PrivatePostgres {
    let listens = ("listen_addresses".to_owned(), "127.0.0.1".to_owned());
    let settings = PostgresSettings {
        durable: false,
        extra: vec![listens],
        ..PostgresSettings::new(folder.join("cluster"))
    };
    let server = PrivatePostgres::start(settings).unwrap();
    let rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    let file = server.psql("postgres", "show hba_file").unwrap();
    fs::write(file.trim(), rules).unwrap();
    server.psql("postgres", "select pg_reload_conf()").unwrap();
    server
}

#[test]
fn the_commands_for_one_host_lead_from_an_empty_directory_to_a_captured_page() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let internet = graph_of_sites(25, 4, 40);
        let home = graph(&internet).url(graph(&internet).home(0));
        let empty = internet.folder.path().join("empty");
        fs::create_dir(&empty).unwrap();
        let blocks = local_blocks("A crawl service on one machine");
        let [start, curls] = blocks.as_slice() else { panic!("{blocks:?}") };
        let (exports, service) = start.split_once("everytab-worker").unwrap();
        let service = in_background(&format!("everytab-worker{service}"));
        let curls: Vec<_> = curls.lines().collect();
        assert_eq!(curls.len(), 2, "{curls:?}");
        let script = format!(
            "{exports}{service}{} > url.json\n{} > page\n{STOP}",
            curls[0].replace("https://example.com/", &home),
            curls[1].replace("https://example.com/", &home),
        );
        perform(&script, &empty, &internet, None);
        let url: Value =
            serde_json::from_slice(&fs::read(empty.join("url.json")).unwrap()).unwrap();
        assert_eq!(url["state"], "captured", "{url}");
        let page = fs::read_to_string(empty.join("page")).unwrap();
        assert!(!page.trim().is_empty() && !page.contains("urn:everytab"), "{page}");
    });
}

#[test]
fn docs_api_leads_from_nothing_to_a_captured_page_on_one_host_and_on_several() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let internet = graph_of_sites(26, 4, 40);
        let home = graph(&internet).url(graph(&internet).home(0));
        let folder = internet.folder.path();
        let (empty, shims) = (folder.join("empty"), folder.join("shims"));
        fs::create_dir(&empty).unwrap();
        let postgres = cluster(folder);
        make_shims(&shims, &postgres);
        let mut script = String::new();
        let mut starts = 0;
        for block in text("docs/api.md").split("\n```sh ").skip(1) {
            let (kind, rest) = block.split_once('\n').unwrap();
            let commands = rest.split("```").next().unwrap();
            match kind {
                "setup" => script += commands,
                "start" => {
                    // Stop the service on one host before starting the one on several.
                    script += if starts > 0 { STOP } else { "" };
                    script += &in_background(commands);
                    starts += 1;
                }
                other => panic!("a block of another kind: {other}"),
            }
        }
        assert_eq!(starts, 2, "number of blocks that start a service");
        script += STOP;
        let script = script.replace("SITE=https://example.com/", &format!("SITE={home}"));
        perform(&script, &empty, &internet, Some(&shims));
        let page = fs::read_to_string(empty.join("page.md")).unwrap();
        assert!(!page.trim().is_empty() && !page.contains("urn:everytab"), "{page}");
        let url: Value =
            serde_json::from_slice(&fs::read(empty.join("fleet.json")).unwrap()).unwrap();
        assert_eq!(url["state"], "captured", "{url}");
        let object = url["record"]["object"].as_str().unwrap();
        assert!(empty.join("crawls").join(object).exists(), "{object}");
        // The passwords are necessary, because a wrong one is rejected.
        let wrong = "postgres://everytab_api:wrong@127.0.0.1/everytab?sslmode=disable";
        let refused = run(worker(["migrate", "--database-url", wrong])).expect_code(1);
        assert!(refused.stderr.contains("password"), "{}", refused.stderr);
        postgres.erase().unwrap();
    });
}
