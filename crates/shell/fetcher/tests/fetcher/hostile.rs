//! Tests hostile HTTP/1.1 servers. Each fetch must finish in time and read no more than the limits
//! allow, and the fetcher must still work afterwards.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use everytab_fetcher::{FetchSettings, Fetcher, Outcome};
use everytab_patience::SILENCE;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::task::AbortOnDropHandle;

use super::support::*;

/// Maximum bytes of an unread stream that the kernel buffers at both ends of a loopback connection.
const SOCKET_BUFFERS_BYTES: usize = 12 << 20;

#[derive(Clone)]
struct Attack {
    first: Vec<u8>,
    /// Sent repeatedly after `first`. If empty, the server closes the connection.
    then: Vec<u8>,
    pause: Duration,
}

fn once(bytes: impl AsRef<[u8]>) -> Attack {
    Attack { first: bytes.as_ref().to_vec(), then: Vec::new(), pause: Duration::ZERO }
}

fn for_ever(first: &str, then: impl Into<Vec<u8>>) -> Attack {
    Attack { first: first.into(), then: then.into(), pause: Duration::ZERO }
}

fn dripping(first: &str, then: &str) -> Attack {
    let pause = Duration::from_millis(50);
    Attack { first: first.into(), then: then.into(), pause }
}

struct Attacker {
    address: SocketAddr,
    sent: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

impl Attacker {
    async fn start(attack: Attack) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let sent: Arc<AtomicUsize> = Arc::default();
        let counter = Arc::clone(&sent);
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                tokio::spawn(serve(stream, attack.clone(), Arc::clone(&counter)));
            }
        });
        Self { address, sent, _task: AbortOnDropHandle::new(task) }
    }
}

async fn serve(mut stream: TcpStream, attack: Attack, sent: Arc<AtomicUsize>) {
    let mut head = vec![0; 8_192];
    let Ok(length) = stream.read(&mut head).await else { return };
    if !head[..length].starts_with(b"GET /attack") {
        let _ = stream.write_all(&answer_with("200 OK", &[], &png(16, 0))).await;
        return;
    }
    let mut next = attack.first;
    loop {
        if stream.write_all(&next).await.is_err() {
            return;
        }
        sent.fetch_add(next.len(), Ordering::SeqCst);
        if attack.then.is_empty() {
            let _ = stream.shutdown().await;
            return;
        }
        next.clone_from(&attack.then);
        tokio::time::sleep(attack.pause).await;
    }
}

/// Returns the outcome, and the number of bytes that the server could send.
async fn outcome_of(attack: Attack) -> (Outcome, usize) {
    let dns = TestDns::start().await;
    let attacker = Attacker::start(attack).await;
    let (fetcher, fetched) =
        attacked(&dns, attacker.address, "http://a.test/attack", "the attack to end").await;
    let after = fetch_one(&fetcher, "http://a.test/icon").await;
    assert_eq!(after.outcome, Outcome::Ok, "the fetcher still works");
    (fetched.outcome, attacker.sent.load(Ordering::SeqCst))
}

#[tokio::test]
async fn an_endless_head_is_read_up_to_the_heads_limit() {
    let line = "x-header: and another one of these\r\n";
    let heads = [
        for_ever("HTTP/1.1 200 OK\r\n", line.repeat(1_000)),
        for_ever("HTTP/1.1 200 OK\r\nx: ", "y".repeat(100_000)),
        for_ever("HTTP/1.1 200 ", "y".repeat(100_000)),
        once(format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(100_000))),
        for_ever("", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(1_000)),
    ];
    end_early(heads, Outcome::HeaderTooLarge).await;
}

async fn end_early(attacks: impl IntoIterator<Item = Attack>, expected: Outcome) {
    for (number, attack) in attacks.into_iter().enumerate() {
        let (outcome, sent) = outcome_of(attack).await;
        assert_eq!(outcome, expected, "attack {number}");
        assert!(sent < SOCKET_BUFFERS_BYTES, "attack {number}: {sent} bytes");
    }
}

#[tokio::test]
async fn a_dripping_head_or_body_does_not_extend_the_deadline() {
    for (attack, outcome) in [
        (dripping("HTTP/1.1 200 OK\r\nx: ", "y"), Outcome::FirstByteTimeout),
        (dripping("HTTP/1.1 ", "2"), Outcome::FirstByteTimeout),
        // The second byte shows that this is not HTTP.
        (dripping("", "H"), Outcome::H1Parse),
        (dripping("HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n", "y"), Outcome::TotalTimeout),
        (dripping("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\ny\r\n"), {
            Outcome::TotalTimeout
        }),
        // The ninth interim response arrives before the deadline.
        (dripping("", "HTTP/1.1 100 Continue\r\n\r\n"), Outcome::HeaderTooLarge),
    ] {
        let first = String::from_utf8_lossy(&attack.first).into_owned();
        assert_eq!(outcome_of(attack).await.0, outcome, "{first:?}");
    }
}

#[tokio::test]
async fn an_endless_body_is_read_up_to_the_bodys_limit() {
    let chunk = format!("8000\r\n{}\r\n", "y".repeat(0x8000));
    let bodies = [
        for_ever("HTTP/1.1 200 OK\r\n\r\n", "y".repeat(100_000)),
        for_ever("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", chunk),
        for_ever("HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775807\r\n\r\n", "yyyyyyyy"),
    ];
    end_early(bodies, Outcome::BodyTooLarge).await;
}

#[tokio::test]
async fn bodies_with_false_lengths_or_chunks_are_rejected() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (bytes, outcomes) in [
        (format!("{chunked}ffffffffffffffff\r\nyyyy"), &[Outcome::BodyTruncated][..]),
        (format!("{chunked}fffffffffffffffff\r\nyyyy"), &[Outcome::H1Parse]),
        (format!("{chunked}-1\r\nyyyy\r\n0\r\n\r\n"), &[Outcome::H1Parse]),
        (format!("{chunked}zz\r\nyyyy\r\n0\r\n\r\n"), &[Outcome::H1Parse]),
        (format!("{chunked}4\r\nyyyyy\r\n0\r\n\r\n"), &[Outcome::H1Parse]),
        (format!("{chunked}4;{}\r\nyyyy\r\n0\r\n\r\n", "x".repeat(100_000)), &[Outcome::H1Parse]),
        (format!("{chunked}4\r\nyyyy\r\n0\r\n{}\r\n", "t: v\r\n".repeat(50_000)), {
            &[Outcome::H1Parse]
        }),
        ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nyyyyy".into(), {
            &[Outcome::H1Parse]
        }),
        ("HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\nyyyy".into(), &[Outcome::BodyTruncated]),
        (format!("{chunked}40\r\nyyyy"), &[Outcome::BodyTruncated]),
    ] {
        let (outcome, _) = outcome_of(once(&bytes)).await;
        assert!(outcomes.contains(&outcome), "{outcome}: {:?}", &bytes[..bytes.len().min(120)]);
    }
}

#[tokio::test]
async fn a_response_that_is_not_http_has_its_outcome() {
    for bytes in [
        &b"\0\0\0\0\0\0\0\0\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: empty name\r\nx\0: y\r\n\r\n",
        b"<html>an answer of HTTP/0.9</html>",
    ] {
        let (outcome, _) = outcome_of(once(bytes)).await;
        let text = String::from_utf8_lossy(bytes);
        assert!(
            matches!(outcome, Outcome::H1Parse | Outcome::ConnectReset | Outcome::EmptyBody),
            "{outcome}: {text:?}"
        );
    }
}

#[tokio::test]
async fn a_body_may_pause_for_longer_than_the_first_byte_timeout() {
    let dns = TestDns::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    dns.point("a.test", "127.0.0.1");
    let settings = FetchSettings {
        first_byte_timeout: SILENCE,
        ..settings(&dns, listener.local_addr().expect("an address"))
    };
    let _server = AbortOnDropHandle::new(tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.read(&mut [0; 8_192]).await;
        let answer = answer_with("200 OK", &[], &png(16, 0));
        let (first, last) = answer.split_at(answer.len() - 9);
        let _ = stream.write_all(first).await;
        tokio::time::sleep(SILENCE * 4 / 3).await;
        let _ = stream.write_all(last).await;
    }));
    let fetcher = Fetcher::new(settings).expect("settings");
    let fetched = fetch_one(&fetcher, "http://a.test/icon").await;
    assert_eq!((fetched.outcome, fetched.body.len()), (Outcome::Ok, png(16, 0).len()));
}
