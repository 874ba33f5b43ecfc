//! Tests the program, which prints one line of JSON and then serves until SIGTERM.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use everytab_patience::wait_for;

#[test]
fn it_prints_its_addresses_and_ends_well_on_sigterm() {
    let scratch = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_everytab-testbed"))
        .args(["--seed", "3", "--hosts", "20", "--mix", "issue", "--scratch"])
        .arg(scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(program.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    for name in ["dns", "bucket_url", "bucket_dir", "crawl", "ca_file"] {
        assert!(told[name].is_string(), "{name} in {line}");
    }
    assert_eq!(told["dial_ports"].as_array().map(Vec::len), Some(2));
    let killed = Command::new("kill").arg(program.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(program.wait().unwrap().code(), Some(0));
}

#[test]
fn it_serves_a_graph_and_says_what_a_crawl_of_it_records() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("access.log");
    let graph = ["--graph", "--hosts", "6", "--pages", "90", "--traps", "all"];
    let program = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_everytab-testbed"));
        program.args(graph);
        program
    };
    let expected = program().args(["--expect", "any"]).output().unwrap();
    assert!(expected.status.success());
    let expected = String::from_utf8(expected.stdout).unwrap();
    assert!(expected.lines().count() > 40, "{expected}");
    let is_line = |line: &str| line.starts_with("http") && line.split('\t').count() == 3;
    assert!(expected.lines().all(is_line), "{expected}");
    let output = program().args(["--traps", "none"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("calendar"));

    let mut program = program()
        .arg("--scratch")
        .arg(scratch.path())
        .arg("--access-log")
        .arg(&log)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    let port = told["dial_ports"][0][1].as_u64().unwrap();
    let url = expected.split('\t').next().unwrap();
    let host = url.split('/').nth(2).unwrap();
    let answer = ask(port, host, "/");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let killed = Command::new("kill").arg(program.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(program.wait().unwrap().code(), Some(0));
    let lines = everytab_testbed::read_access_log(&log).unwrap();
    assert_eq!((lines.len(), lines[0].host.as_str(), lines[0].status), (1, host, 200));
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn ask(port: u64, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_signal_begins_the_next_day_on_which_some_pages_have_changed() {
    let scratch = tempfile::tempdir().unwrap();
    let graph = ["--graph", "--http-only", "--hosts", "4", "--pages", "120"];
    let testbed = env!("CARGO_BIN_EXE_everytab-testbed");
    let expected = Command::new(testbed).args(graph).args(["--expect", "any"]).output().unwrap();
    let expected = String::from_utf8(expected.stdout).unwrap();
    let program = Command::new(testbed)
        .args(graph)
        .arg("--scratch")
        .arg(scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut program = Ended(program);
    let mut line = String::new();
    BufReader::new(program.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    let port = told["dial_ports"][0][1].as_u64().unwrap();
    let bodies = || -> Vec<String> {
        let urls = expected.lines().map(|line| line.split('\t').next().unwrap());
        let parts = urls.map(|url| url.splitn(4, '/').skip(2).collect::<Vec<_>>());
        let answers = parts.map(|parts| ask(port, parts[0], &format!("/{}", parts[1])));
        answers.map(|answer| answer.split_once("\r\n\r\n").unwrap().1.to_owned()).collect()
    };
    // Some pages respond with 503 on the first request.
    bodies();
    let before = bodies();
    assert_eq!(before, bodies(), "the same day");
    let dawn = Command::new("kill").args(["-USR1", &program.0.id().to_string()]).status().unwrap();
    assert!(dawn.success());
    let after = wait_for("another day", || Some(bodies()).filter(|after| *after != before));
    let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert!(changed > 0 && changed < before.len(), "{changed} of {}", before.len());
    Command::new("kill").arg(program.0.id().to_string()).status().unwrap();
    assert_eq!(program.0.wait().unwrap().code(), Some(0));
}

#[test]
fn a_folder_that_is_no_crawl_gives_one_line_that_names_it() {
    let scratch = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_everytab-testbed"))
        .args(["--recorded", "/no/such/folder", "--scratch"])
        .arg(scratch.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("/no/such/folder") && said.lines().count() == 1, "{said}");
}
