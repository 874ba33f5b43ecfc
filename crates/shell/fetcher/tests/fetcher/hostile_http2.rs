//! Tests hostile HTTP/2 servers: floods of frames, streams that end early, and endless data.
//!
//! The tests write the frames themselves (RFC 9113), because HTTP/2 libraries do not send invalid
//! ones.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use everytab_fetcher::Outcome;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use super::support::*;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
/// `:status: 200`, as an index into the static table of HPACK.
const STATUS_200: &[u8] = &[0x88];

/// Socket buffers and windows together hold less than this.
const READ_AT_MOST_BYTES: usize = 24 << 20;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn settings_frame() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}

fn field(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).expect("under 127");
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

struct Attacker {
    address: SocketAddr,
    sent: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

fn acceptor() -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).expect("a pair");
    let key = made.signing_key.serialize_der().try_into().expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a pair");
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

impl Attacker {
    async fn start(first: Vec<u8>, then: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sent, connections) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let bytes = Arc::clone(&sent);
        let accepted = Arc::clone(&connections);
        let acceptor = acceptor();
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                accepted.fetch_add(1, Ordering::SeqCst);
                let acceptor = acceptor.clone();
                let bytes = Arc::clone(&bytes);
                let (first, then) = (first.clone(), then.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let (mut read, mut write) = tokio::io::split(stream);
                    let mut preface = vec![0; 16_384];
                    let _ = read.read(&mut preface).await;
                    let reading = tokio::spawn(async move {
                        let _ = tokio::io::copy(&mut read, &mut tokio::io::sink()).await;
                    });
                    let _reading = AbortOnDropHandle::new(reading);
                    let mut next = first;
                    while write.write_all(&next).await.is_ok() {
                        bytes.fetch_add(next.len(), Ordering::SeqCst);
                        if then.is_empty() {
                            let _ = write.flush().await;
                            tokio::time::sleep(Duration::from_secs(30)).await;
                            return;
                        }
                        next.clone_from(&then);
                    }
                });
            }
        });
        Self { address, sent, connections, _task: AbortOnDropHandle::new(task) }
    }
}

/// Asserts that the fetcher opened at most two connections and, unless a timeout stopped the
/// attack, that the server could send only a bounded number of bytes.
async fn outcome_of(what: &str, first: Vec<Vec<u8>>, then: Vec<Vec<u8>>) -> Outcome {
    let dns = TestDns::start().await;
    let attacker = Attacker::start(first.concat(), then.concat()).await;
    let url = "https://a.test/favicon.ico";
    let (_, fetched) = attacked(&dns, attacker.address, url, what).await;
    let sent = attacker.sent.load(Ordering::SeqCst);
    let is_ended_by_time = fetched.outcome == Outcome::FirstByteTimeout;
    assert!(is_ended_by_time || sent < READ_AT_MOST_BYTES, "{what}: {sent} bytes");
    assert!(attacker.connections.load(Ordering::SeqCst) <= 2, "{what}: too many connections");
    fetched.outcome
}

#[tokio::test]
async fn floods_of_frames_end_the_connection() {
    let many = |frame: Vec<u8>| vec![frame.repeat(1_000)];
    let open = frame(HEADERS, 0, 1, STATUS_200);
    let long = field("x-long", &"y".repeat(120)).repeat(100);
    let floods = [
        ("continuations", vec![settings_frame(), open.clone()], {
            many(frame(CONTINUATION, 0, 1, &long))
        }),
        ("empty continuations", vec![settings_frame(), open], many(frame(CONTINUATION, 0, 1, &[]))),
        ("settings", vec![], many(settings_frame())),
        ("pings", vec![settings_frame()], many(frame(PING, 0, 0, &[7; 8]))),
        ("window updates", vec![settings_frame()], {
            many(frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()))
        }),
        ("resets of streams that were not opened", vec![settings_frame()], {
            many(frame(RST_STREAM, 0, 99, &[0, 0, 0, 8]))
        }),
        ("push promises", vec![settings_frame()], {
            many(frame(PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2], STATUS_200].concat()))
        }),
        ("data without a stream", vec![settings_frame()], many(frame(DATA, 0, 1, &[1; 16_384]))),
        ("frames of an unknown type", vec![settings_frame()], many(frame(0xee, 0, 0, &[1; 1_000]))),
        (
            "frames over the size limit",
            vec![settings_frame()],
            vec![frame(DATA, 0, 1, &vec![1; 1 << 20])],
        ),
    ];
    for (what, first, then) in floods {
        let outcome = outcome_of(what, first, then).await;
        assert!(
            matches!(
                outcome,
                Outcome::H2Protocol
                    | Outcome::HeaderTooLarge
                    | Outcome::FirstByteTimeout
                    | Outcome::ConnectReset
            ),
            "{what}: {outcome}"
        );
    }
}

#[tokio::test]
async fn the_outcome_depends_on_where_a_stream_ends() {
    let headers = frame(HEADERS, END_HEADERS, 1, STATUS_200);
    let reset = frame(RST_STREAM, 0, 1, &[0, 0, 0, 2]);
    let go_away = frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11]);
    for (what, first, outcomes) in [
        ("a reset before the head", vec![settings_frame(), reset.clone()], {
            &[Outcome::H2Protocol, Outcome::ConnectReset][..]
        }),
        ("a reset in the body", vec![settings_frame(), headers.clone(), reset], {
            &[Outcome::BodyReset, Outcome::H2Protocol]
        }),
        ("a GOAWAY frame", vec![settings_frame(), go_away], {
            &[Outcome::H2Protocol, Outcome::ConnectReset]
        }),
        ("a body that never arrives", vec![settings_frame(), headers], &[Outcome::TotalTimeout]),
        (
            "a status of letters",
            {
                let status = field(":status", "abc");
                vec![settings_frame(), frame(HEADERS, END_HEADERS, 1, &status)]
            },
            &[Outcome::H2Protocol],
        ),
        (
            "a head that does not unpack",
            { vec![settings_frame(), frame(HEADERS, END_HEADERS, 1, &[0xff; 64])] },
            &[Outcome::H2Protocol],
        ),
        ("HTTP/1.1 instead", vec![b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()], {
            &[Outcome::H2Protocol]
        }),
    ] {
        let outcome = outcome_of(what, first, vec![]).await;
        assert!(outcomes.contains(&outcome), "{what}: {outcome}");
    }
}

#[tokio::test]
async fn endless_data_is_read_up_to_the_bodys_limit() {
    let headers = frame(HEADERS, END_HEADERS, 1, STATUS_200);
    let data = vec![frame(DATA, 0, 1, &[1; 16_384])];
    let outcome = outcome_of("data", vec![settings_frame(), headers], data).await;
    assert!(matches!(outcome, Outcome::BodyTooLarge | Outcome::BodyReset), "{outcome}");
}
