//! Tests that `serve` and `--metrics` respond while many clients send half a request and wait, even
//! if they are more than the files that the process may open.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
};

use crate::{
    netns::limit_open_files,
    setup::{LIMIT, Running, folder, wait_for, worker},
};

const HALF_REQUESTS: usize = 300;
const OPEN_FILES: u64 = 256;

/// Occupies a server with half requests, and expects a response to a complete one. `address` finds
/// the server's address in its output.
fn answers_in_spite_of_half_requests(
    mut command: Command,
    path: &str,
    address: impl Fn(&Running) -> Option<String>,
) {
    limit_open_files(&mut command, OPEN_FILES);
    let server = Running::start(command);
    let address = wait_for("a listening server", || address(&server));
    let waiting: Vec<TcpStream> = (0..HALF_REQUESTS)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-Half");
            stream
        })
        .collect();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    drop(waiting);
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark)?.1.split(['/', '\n']).next()
}

#[test]
fn a_site_is_served_despite_300_half_requests() {
    let folder = folder();
    std::fs::write(folder.path().join("index.html"), "<!doctype html>").unwrap();
    let dir = folder.path().display().to_string();
    let command = worker(["serve", &dir, "--addr", "127.0.0.1:0"]);
    answers_in_spite_of_half_requests(command, "/", |server| {
        let text = server.stdout_text();
        text.ends_with('\n').then(|| after(&text, "http://").map(str::to_owned))?
    });
}

#[test]
fn metrics_are_served_despite_300_half_requests() {
    // The worker serves its metrics while it waits for a database.
    let nowhere = "postgres://x@127.0.0.1:1/x?sslmode=disable";
    let command = worker(["run", "--metrics", "127.0.0.1:0", "--database-url", nowhere]);
    answers_in_spite_of_half_requests(command, "/healthz", |server| {
        after(&server.stderr_text(), "metrics on http://").map(str::to_owned)
    });
}
