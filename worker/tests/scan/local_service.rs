//! Tests `local --api`: one command starts a crawl service, which can be stopped and continued.
//! Invalid settings are reported before anything starts.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use crate::{
    api_client::Client,
    setup::{Running, folder, run, wait_for, worker},
};

const SAMPLE: [&str; 5] = ["--sample", "--sample-hosts", "30", "--sample-mix", "none"];

struct Service {
    process: Running,
    client: Client,
    commands: Vec<String>,
    page: String,
}

impl Service {
    fn start(dir: &Path) -> Self {
        let mut command = worker(["local", "--api", "127.0.0.1:0", "--dir"]);
        command.arg(dir).args(SAMPLE);
        let process = Running::start(command);
        let said = wait_for("the service", || {
            let said = process.stdout_text();
            (said.lines().filter(|line| line.starts_with("curl ")).count() == 2).then_some(said)
        });
        let address = said.split_once("service  http://").unwrap().1.split_once('/').unwrap().0;
        let commands = said.lines().filter(|line| line.starts_with("curl ")).map(str::to_owned);
        let page = said.split_once("as=markdown&url=").unwrap().1.split_once('\'').unwrap().0;
        let key = fs::read_to_string(dir.join("key")).unwrap().trim().to_owned();
        let client = Client { address: address.to_owned(), key };
        Self { commands: commands.collect(), page: page.to_owned(), client, process }
    }

    fn stop(self) -> String {
        self.process.terminate();
        self.process.finish().expect_code(4).stdout
    }

    fn children(&self) -> Vec<(String, String)> {
        let pid = self.process.pid();
        let mut found = Vec::new();
        for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
            let children = fs::read_to_string(task.unwrap().path().join("children")).unwrap();
            for child in children.split_whitespace() {
                let line = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
                found.push((child.to_owned(), line.replace('\0', " ")));
            }
        }
        found
    }

    fn kill(&self, name: &str) {
        let children = self.children();
        let (pid, _) = children.iter().find(|(_, line)| line.contains(name)).unwrap();
        assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
    }
}

fn data() -> (tempfile::TempDir, PathBuf) {
    let folder = folder();
    let dir = folder.path().join("data");
    (folder, dir)
}

#[test]
fn a_restarted_service_keeps_its_key_and_continues_its_crawls() {
    let (_folder, dir) = data();
    let service = Service::start(&dir);
    let mode = fs::metadata(dir.join("key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = service.client.key.clone();
    let page = service.page.clone();
    let submitted = service.client.post("/v1/url?wait=60", &json!({ "url": page }));
    assert_eq!(submitted["state"], "captured", "{submitted}");
    // This crawl is still running when the service stops.
    let settings = json!({ "depth": 5, "delay_ms": 60_000 });
    let asked = json!({ "urls": [page], "settings": settings, "more": true });
    let crawl = service.client.post("/v1/crawls", &asked)["id"].as_str().unwrap().to_owned();
    let first = service.stop();
    assert_eq!(first.matches(&key).count(), 1, "{first}");

    let service = Service::start(&dir);
    assert_eq!(service.client.key, key);
    let again = service.client.post("/v1/url", &json!({ "url": page, "max_age_s": 86_400 }));
    assert_eq!(again["id"], submitted["id"]);
    let path = format!("/v1/crawls/{crawl}");
    assert_eq!(service.client.get(&path)["state"], "running");
    service.client.post(&format!("{path}/cancel"), &json!({}));

    // While the service runs, no other process can use its directory or its address.
    let refused = |arguments: &[&str], folder: &Path| {
        let mut command = worker(["local", "--dir"]);
        command.arg(folder).args(arguments);
        run(command).expect_code(1).stderr
    };
    let second = refused(&["--api", "127.0.0.1:0", "--sample"], &dir);
    assert!(second.contains("already in use by process"), "{second}");
    let other = dir.with_file_name("other");
    let taken = refused(&["--api", &service.client.address, "--sample"], &other);
    assert!(taken.contains(&service.client.address) && taken.contains("--api"), "{taken}");
    assert!(!other.exists(), "a part was started before the address was checked");
    assert_eq!(service.client.get(&path)["id"], json!(crawl));
    let second = service.stop();
    assert!(!second.contains(&key) && second.contains("data/key"), "{second}");
}

#[test]
fn a_key_without_its_file_is_revoked_and_replaced() {
    let (_folder, dir) = data();
    let file = dir.join("key");
    let service = Service::start(&dir);
    let mut before = service.client.key.clone();
    service.stop();
    let foreign =
        format!("et_aaaaaaaaaaaa_{}", "a".repeat(before.rsplit('_').next().unwrap().len()));
    for left in [None, Some(foreign)] {
        match &left {
            None => fs::remove_file(&file).unwrap(),
            Some(key) => {
                fs::write(&file, key).unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
            }
        }
        let service = Service::start(&dir);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let key = service.client.key.clone();
        assert_ne!(key, before);
        assert_eq!(service.client.get("/v1/settings")["key"]["name"], "local");
        let lost = Client { address: service.client.address.clone(), key: before };
        assert_eq!(lost.send("GET", "/v1/settings", &serde_json::Value::Null).0, 401);
        before = key;
        service.stop();
    }
}

#[test]
fn the_printed_commands_read_a_page_and_a_dead_process_is_reported() {
    let (_folder, dir) = data();
    for (dies, told) in [("--role", "a crawl worker exited"), ("postgres", "Postgres exited")] {
        let service = Service::start(&dir);
        for command in &service.commands {
            let mut shell = Command::new("bash");
            shell.args(["-euo", "pipefail", "-c", command]);
            shell.env("no_proxy", "127.0.0.1");
            let answer = run(shell).expect_code(0).stdout;
            assert!(!answer.trim().is_empty() && !answer.contains("urn:everytab"), "{answer}");
        }
        service.kill(dies);
        let ended = service.process.finish().expect_code(1);
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn a_service_rejects_options_that_it_does_not_read_and_a_scan_has_no_store_for_crawls() {
    let (_folder, dir) = data();
    let refused = |arguments: &[&str], named: &[&str]| {
        let mut command = worker(["local", "--dir"]);
        command.arg(&dir).args(arguments).env_remove("EVERYTAB_INTERNET");
        let said = run(command).expect_code(2).stderr;
        for name in named {
            assert!(said.contains(name), "{arguments:?}: {said}");
        }
        assert!(!dir.exists(), "{arguments:?} created the directory");
    };
    let api = ["--api", "127.0.0.1:0"];
    let with = |more: &[&'static str]| [&api[..], more].concat();
    let scan = ["--sample", "--limit", "5", "--crawl", "latest", "--again", "--depth", "0"];
    refused(&with(&scan), &["--limit", "--crawl", "--again", "--depth"]);
    refused(&with(&["--serve", "127.0.0.1:0"]), &["--serve"]);
    refused(&with(&[]), &["--site-url", "EVERYTAB_SITE_URL"]);
    let reserved = ["--site-url", "https://tabs.example/", "--contact", "me@tabs.page"];
    refused(&with(&reserved), &["tabs.example", "reserved"]);
    refused(&["--sample", "--to", "crawls"], &["--api"]);
    refused(&with(&["--sample", "--to", "ftp://x"]), &["--to", "ftp://x", "scheme"]);
}
