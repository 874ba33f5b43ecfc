//! The program: one line of JSON, then service until SIGTERM.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

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
