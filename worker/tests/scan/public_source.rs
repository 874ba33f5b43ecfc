//! Tests that `--public` applies to every request to the crawl's bucket, including the list of
//! crawls. A bucket that rejects other accounts' keys responds with 403 to a request with
//! credentials.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::mpsc,
};

use crate::setup::{run, worker};

/// Starts a server that responds with 404, and passes on each request's head.
fn recorder() -> (String, mpsc::Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (heads, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> =
                lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            // The program may have closed the connection.
            let _ = stream.write_all(answer.as_bytes());
            if heads.send(head).is_err() {
                return;
            }
        }
    });
    (endpoint, received)
}

#[test]
fn the_list_of_crawls_of_a_public_bucket_is_read_without_credentials() {
    for (option, is_signed) in [(Some("--public"), false), (None, true)] {
        let (endpoint, heads) = recorder();
        let mut command = worker(["plan", "--crawl", "latest", "--source", "s3://crawls"]);
        command.args(option).env("AWS_ENDPOINT_URL", endpoint).env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", "KEY").env("AWS_SECRET_ACCESS_KEY", "a secret");
        let ended = run(command).expect_code(1);
        assert!(ended.stderr.contains("the list of crawls"), "{}", ended.stderr);
        let head = heads.try_recv().expect("the bucket got a request");
        assert!(head[0].contains("collinfo.json"), "{head:?}");
        let has_signature =
            head.iter().any(|line| line.to_ascii_lowercase().starts_with("authorization:"));
        assert_eq!(has_signature, is_signed, "{head:?}");
    }
}
