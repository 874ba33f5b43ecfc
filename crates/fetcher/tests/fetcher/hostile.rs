//! Servers that mean harm over HTTP/1.1: each ends in its outcome, in time, having been read no
//! further than the limits say, and the fetcher goes on.

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

/// What the kernel may hold of a stream that is not read, on both sides of loopback.
const SOCKET_BUFFERS_BYTES: usize = 12 << 20;

/// What a server sends after the request's head.
#[derive(Clone)]
struct Attack {
    first: Vec<u8>,
    /// Sent again and again after that.
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

/// Serves the attack to requests for `/attack` and an icon to others; counts the bytes that
/// it could send.
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

/// What the attack ends as, and how much of it was read at most. Afterwards an icon of the same
/// server must still be had by the same fetcher.
async fn outcome_of(attack: Attack) -> (Outcome, usize) {
    let (dns, attacker) = (TestDns::start().await, Attacker::start(attack).await);
    let (fetcher, fetched) =
        attacked(&dns, attacker.address, "http://a.test/attack", "it ends").await;
    let after = fetch_one(&fetcher, "http://a.test/icon").await;
    assert_eq!(after.outcome, Outcome::Ok, "the fetcher goes on");
    (fetched.outcome, attacker.sent.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_head_without_end_is_read_no_further_than_a_head_may_be() {
    let line = "x-header: and another one of these\r\n";
    let heads = [
        for_ever("HTTP/1.1 200 OK\r\n", line.repeat(1_000)),
        for_ever("HTTP/1.1 200 OK\r\nx: ", "y".repeat(100_000)),
        for_ever("HTTP/1.1 200 ", "y".repeat(100_000)),
        once(format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(100_000))),
        for_ever("", "HTTP/1.1 103 Early LeaseCursors\r\nlink: </a>\r\n\r\n".repeat(1_000)),
    ];
    end_early(heads, Outcome::HeaderTooLarge).await;
}

/// Each ends so, long before the attacker has no more to send.
async fn end_early(attacks: impl IntoIterator<Item = Attack>, expected: Outcome) {
    for (number, attack) in attacks.into_iter().enumerate() {
        let (outcome, sent) = outcome_of(attack).await;
        assert_eq!(outcome, expected, "attack {number}");
        assert!(sent < SOCKET_BUFFERS_BYTES, "attack {number}: {sent} bytes");
    }
}

#[tokio::test]
async fn drops_of_a_head_or_body_do_not_put_the_deadline_off() {
    for (attack, outcome) in [
        (dripping("HTTP/1.1 200 OK\r\nx: ", "y"), Outcome::FirstByteTimeout),
        (dripping("HTTP/1.1 ", "2"), Outcome::FirstByteTimeout),
        // The second byte is not HTTP.
        (dripping("", "H"), Outcome::H1Parse),
        (dripping("HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n", "y"), Outcome::TotalTimeout),
        (dripping("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\ny\r\n"), {
            Outcome::TotalTimeout
        }),
        // The ninth comes before the deadline.
        (dripping("", "HTTP/1.1 100 Continue\r\n\r\n"), Outcome::HeaderTooLarge),
    ] {
        let first = String::from_utf8_lossy(&attack.first).into_owned();
        assert_eq!(outcome_of(attack).await.0, outcome, "{first:?}");
    }
}

#[tokio::test]
async fn a_body_without_end_is_read_no_further_than_a_body_may_be() {
    let chunk = format!("8000\r\n{}\r\n", "y".repeat(0x8000));
    let bodies = [
        for_ever("HTTP/1.1 200 OK\r\n\r\n", "y".repeat(100_000)),
        for_ever("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", chunk),
        for_ever("HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775807\r\n\r\n", "yyyyyyyy"),
    ];
    end_early(bodies, Outcome::BodyTooLarge).await;
}

#[tokio::test]
async fn lengths_and_chunks_that_lie_are_no_bodies() {
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
async fn an_answer_that_is_no_http_has_its_own_outcome() {
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
async fn a_body_may_pause_for_longer_than_its_head_might_have() {
    let (dns, listener) = (TestDns::start().await, TcpListener::bind("127.0.0.1:0").await);
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
