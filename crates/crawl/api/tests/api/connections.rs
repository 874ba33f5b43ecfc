//! Tests HTTP/1.1 rules on connections that are written byte by byte.

use everytab_patience::in_time;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::world::World;

struct Connection(TcpStream);

#[derive(Debug)]
struct Answer {
    head: String,
    body: String,
}

impl Answer {
    fn has(&self, header: &str) -> bool {
        self.head.lines().any(|line| line.eq_ignore_ascii_case(header))
    }

    #[track_caller]
    fn expect_problem(&self, status: u16, code: &str) {
        assert!(self.head.starts_with(&format!("HTTP/1.1 {status} ")), "{self:?}");
        assert!(self.has("content-type: application/problem+json"), "{self:?}");
        assert!(self.body.contains(&format!("\"code\":\"{code}\"")), "{self:?}");
    }
}

impl Connection {
    async fn new(world: &World) -> Self {
        let address = world.base.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    async fn answer(&mut self) -> Answer {
        in_time("an answer", async {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                let byte = self.0.read_u8().await;
                head.push(char::from(byte.unwrap_or_else(|error| panic!("{error}: {head:?}"))));
            }
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            self.0.read_exact(&mut body).await.unwrap();
            Answer { head, body: String::from_utf8(body).unwrap() }
        })
        .await
    }

    async fn expect_end(&mut self) {
        let mut rest = Vec::new();
        // The connection may be reset if the service has not read all bytes.
        let _ = in_time("the end of the connection", self.0.read_to_end(&mut rest)).await;
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }
}

fn bearer(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

fn wrong() -> String {
    bearer(&format!("et_{}_{}", "a".repeat(12), "a".repeat(52)))
}

#[tokio::test]
async fn after_rejecting_a_small_body_early_the_connection_continues() {
    let world = World::new().await;
    let right = bearer(&world.key().await);
    for (path, authorization, status, code) in [
        ("/v1/url", "", 401, "unauthorized"),
        ("/v1/url", &*wrong(), 401, "unauthorized"),
        ("/nope", "", 404, "not_found"),
        ("/v1/healthz", &*right, 404, "not_found"),
        ("/v1/settings", &*right, 405, "method_not_allowed"),
        ("/v1/url?x=1", &*right, 400, "unknown_field"),
    ] {
        for length in [40, 20_000] {
            let mut connection = Connection::new(&world).await;
            connection
                .send(&format!(
                    "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
                     {authorization}content-length: {length}\r\n\r\n"
                ))
                .await;
            connection.send(&" ".repeat(length)).await;
            let refused = connection.answer().await;
            refused.expect_problem(status, code);
            assert!(!refused.has("connection: close"), "{refused:?}");
            connection.send("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await;
            let next = connection.answer().await;
            assert!(next.head.starts_with("HTTP/1.1 200 "), "{path} {length}: {next:?}");
        }
    }
}

#[tokio::test]
async fn after_rejecting_a_large_body_early_the_connection_is_closed() {
    let world = World::new().await;
    let chunks = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(2);
    for (framing, body) in
        [("content-length: 300000", "x".repeat(300_000)), ("transfer-encoding: chunked", chunks)]
    {
        let mut connection = Connection::new(&world).await;
        connection.send(&format!("POST /nope HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n")).await;
        // The service may close the connection before it has received the whole body.
        let _ = connection.0.write_all(body.as_bytes()).await;
        let refused = connection.answer().await;
        refused.expect_problem(404, "not_found");
        assert!(refused.has("connection: close"), "{refused:?}");
        connection.expect_end().await;
    }
}

#[tokio::test]
async fn a_body_that_is_not_http_is_rejected_and_ends_the_connection() {
    let world = World::new().await;
    let right = bearer(&world.key().await);
    let mut connection = Connection::new(&world).await;
    let head = format!("POST /v1/url HTTP/1.1\r\nhost: a\r\n{right}transfer-encoding: chunked");
    connection.send(&format!("{head}\r\n\r\nzz\r\n{{\"r\r\n")).await;
    let refused = connection.answer().await;
    refused.expect_problem(400, "malformed_request");
    assert!(refused.has("connection: close"), "{refused:?}");
    connection.expect_end().await;
}

#[tokio::test]
async fn a_request_must_have_one_host() {
    let world = World::new().await;
    for hosts in [
        "",
        "host: a\r\nhost: b\r\n",
        "host: a\r\nhost: a\r\n",
        "host: a b\r\n",
        "host: a/b\r\n",
        "host: user@a\r\n",
        "host: a:port\r\n",
        "host: [::1\r\n",
        "host: \u{e9}\r\n",
    ] {
        let mut connection = Connection::new(&world).await;
        connection.send(&format!("GET /healthz HTTP/1.1\r\n{hosts}\r\n")).await;
        let refused = connection.answer().await;
        refused.expect_problem(400, "malformed_request");
        assert!(refused.has("connection: close"), "{refused:?}");
        connection.expect_end().await;
    }
    for request in [
        "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost:\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost: my_host.test:8088\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost: [::1]:8088\r\n\r\n",
    ] {
        let mut connection = Connection::new(&world).await;
        connection.send(request).await;
        let answer = connection.answer().await;
        assert!(answer.head.contains(" 200 "), "{request:?}: {answer:?}");
    }
}

#[tokio::test]
async fn a_client_that_expects_100_continue_is_rejected_before_its_body() {
    let world = World::new().await;
    let right = bearer(&world.key().await);
    for (path, authorization, length, status, code) in [
        ("/v1/url/batch", &*right, 9 << 20, 413, "body_too_large"),
        ("/v1/url/batch", &*wrong(), 100, 401, "unauthorized"),
        ("/v1/url/batch", "", 100, 401, "unauthorized"),
        ("/nope", &*right, 100, 404, "not_found"),
        ("/v1/settings", &*right, 100, 405, "method_not_allowed"),
    ] {
        let mut connection = Connection::new(&world).await;
        connection
            .send(&format!(
                "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\n\
                 {authorization}expect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
            ))
            .await;
        let refused = connection.answer().await;
        refused.expect_problem(status, code);
        assert!(refused.has("connection: close"), "{refused:?}");
        connection.expect_end().await;
    }
    let mut connection = Connection::new(&world).await;
    connection
        .send(&format!(
            "POST /v1/url/batch HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\n\
             {right}expect: 100-continue\r\ncontent-length: 6\r\n\r\n"
        ))
        .await;
    let leave = connection.answer().await;
    assert!(leave.head.starts_with("HTTP/1.1 100 Continue"), "{leave:?}");
    connection.send("a.test").await;
    let accepted = connection.answer().await;
    assert!(accepted.head.starts_with("HTTP/1.1 202 "), "{accepted:?}");
}
