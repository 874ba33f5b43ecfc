//! Tests that the service sends problem documents even to requests that are not valid HTTP/1.1.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use everytab_testbed::Mix;

use crate::{
    api_walkthrough::service,
    environment::{Database, Stores, internet},
    setup::LIMIT,
};

fn exchange(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    // The service may respond before it has read the whole request.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap_or_else(|error| {
        panic!("{error} after {}", String::from_utf8_lossy(&answer));
    });
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_malformed_request_gets_a_problem_document() {
    let internet = internet(1, Mix::none());
    let folder = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, &folder.join("out")));
    let (_service, address) = service(&database, &folder.join("store"), &[]);
    let headers = "x: y\r\n".repeat(200);
    let long = format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "a".repeat(70_000));
    let good = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    for (sent, status, code) in [
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400, "malformed_request"),
        ("GET /\u{1} HTTP/1.1\r\nhost: a\r\n\r\n".to_owned(), 400, "malformed_request"),
        ("GET / HTTP/1.1\r\nhost: a\r\nx y\r\n\r\n".to_owned(), 400, "malformed_request"),
        (format!("GET / HTTP/1.1\r\nhost: a\r\n{headers}\r\n"), 431, "headers_too_large"),
        (long, 414, "uri_too_long"),
        // A malformed request after a well-formed one.
        (format!("{good}GET / HTTP/9.9\r\n\r\n"), 400, "malformed_request"),
    ] {
        let answer = exchange(&address, sent.as_bytes());
        let answer = answer.rsplit_once("HTTP/1.1 ").unwrap().1;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&status.to_string()), "{code}: {head}");
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["code"], code);
        assert_eq!(problem["status"], status);
        for header in [
            "content-type: application/problem+json",
            "connection: close",
            "x-content-type-options: nosniff",
            &format!("content-length: {}", body.len()),
        ] {
            assert!(head.lines().any(|line| line == header), "{header}: {head}");
        }
        for name in ["x-request-id: ", "date: "] {
            assert!(head.lines().any(|line| line.starts_with(name)), "{name}: {head}");
        }
    }
}
