//! Tests resolvers with changing results, malformed responses, or no response.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use everytab_fetcher::{FetchSettings, Fetcher, KNOWN_NAMES, Outcome, RobotsPolicy};
use everytab_patience::in_time;
use tokio::net::{TcpListener, UdpSocket};
use tokio_util::task::AbortOnDropHandle;

use super::support::*;

/// Responds to queries for `a.test` with the messages from `answer`, and correctly for the known
/// names and made-up names, so that the fetcher trusts it.
async fn resolver(
    answer: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + Sync + 'static,
) -> (SocketAddr, AbortOnDropHandle<()>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = socket.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let mut buffer = [0; 1_500];
        loop {
            let Ok((length, peer)) = socket.recv_from(&mut buffer).await else { continue };
            let question = &buffer[..length];
            let asks_for_a_test = question.windows(8).any(|part| part == b"\x01a\x04test\0");
            let answers = if asks_for_a_test {
                answer(question)
            } else if let Some(known) = of_known_name(question) {
                vec![known]
            } else {
                let mut refusal = question.to_vec();
                refusal[2] |= 0x80;
                refusal[3] = 3;
                vec![refusal]
            };
            for bytes in answers {
                let _ = socket.send_to(&bytes, peer).await;
            }
        }
    });
    (address, AbortOnDropHandle::new(task))
}

fn of_known_name(question: &[u8]) -> Option<Vec<u8>> {
    let labels = |name: &str| -> Vec<u8> {
        let label = |label: &str| [&[label.len() as u8], label.as_bytes()].concat();
        let labels = name.split('.').flat_map(label);
        labels.chain([0]).collect()
    };
    let asked = KNOWN_NAMES.map(labels);
    let asked = asked.iter().find(|name| question[12..].starts_with(name))?;
    let mut bytes = question.to_vec();
    bytes[2] |= 0x80;
    bytes[6..8].copy_from_slice(&[0, 1]);
    let question_end = 12 + asked.len() + 4;
    let record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 93, 184, 216, 34];
    bytes.splice(question_end..question_end, record);
    Some(bytes)
}

#[tokio::test]
async fn a_malformed_response_gives_no_address() {
    let whole = |question: &[u8]| {
        let mut answer = question.to_vec();
        answer[2] |= 0x80;
        answer
    };
    let with_counts = move |question: &[u8], answers: u16| {
        let mut bytes = whole(question);
        bytes[6..8].copy_from_slice(&answers.to_be_bytes());
        bytes
    };
    type Answer = Box<dyn Fn(&[u8]) -> Vec<Vec<u8>> + Send + Sync>;
    let garbage: Vec<(&str, Answer)> = vec![
        ("nothing", Box::new(|_| vec![])),
        ("empty datagrams", Box::new(|_| vec![vec![]; 10])),
        ("noise", Box::new(|_| vec![vec![0xff; 512]; 10])),
        ("the ID of another query", {
            Box::new(move |question| {
                let mut bytes = whole(question);
                bytes[0] ^= 0x55;
                vec![bytes]
            })
        }),
        ("too high a count of answers", Box::new(move |q| vec![with_counts(q, 60_000)])),
        ("a name that points at itself", {
            Box::new(move |question| {
                let mut bytes = with_counts(question, 1);
                let at = u16::try_from(bytes.len()).expect("short") | 0xc000;
                bytes.extend_from_slice(&at.to_be_bytes());
                bytes.extend_from_slice(&[0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 127, 0, 0, 1]);
                vec![bytes]
            })
        }),
        ("a name that is its own alias", {
            Box::new(move |question| {
                let mut bytes = with_counts(question, 1);
                bytes.extend_from_slice(&[0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xc0, 12]);
                vec![bytes]
            })
        }),
    ];
    for (what, answer) in garbage {
        let (dns, _resolver) = resolver(answer).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let plain = TestDns::start().await;
        let settings = FetchSettings { dns: Some(dns), ..impatient(settings(&plain, address)) };
        let fetcher = Fetcher::new(settings).expect("settings");
        let fetching = fetcher.fetch_one("http://a.test/", RobotsPolicy::Ignore);
        let fetched = in_time(what, fetching).await;
        let outcome = fetched.expect("no local failure: others get responses").outcome;
        assert!(
            matches!(outcome, Outcome::DnsTimeout | Outcome::DnsServfail | Outcome::DnsNoAddress),
            "{what}: {outcome}"
        );
    }
}

#[tokio::test]
async fn a_name_that_becomes_private_between_two_lookups_is_not_dialled_there() {
    let (public, private) = ("127.0.0.2", "127.0.0.3");
    let listener = TcpListener::bind((public, 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let inside = TcpListener::bind((private, port)).await.expect("the same port");
    let reached: Arc<AtomicUsize> = Arc::default();
    let counter = Arc::clone(&reached);
    let _inside = AbortOnDropHandle::new(tokio::spawn(async move {
        while inside.accept().await.is_ok() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    }));
    let _outside = AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let Ok((mut stream, _)) = listener.accept().await else { continue };
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(&answer_with("200 OK", &[], b"icon")).await;
        }
    }));

    // The addresses alternate, so a second lookup before dialling would return the private address.
    let turn: Arc<Mutex<usize>> = Arc::default();
    let (dns, _resolver) = resolver(move |question| {
        let mut bytes = question.to_vec();
        bytes[2] |= 0x80;
        let asks_for_ipv4 =
            question.windows(4).any(|part| part == [0, 0, 1, 0] || part == [0, 1, 0, 1]);
        if asks_for_ipv4 {
            let mut turn = turn.lock().expect("unpoisoned");
            *turn += 1;
            let last = if *turn % 2 == 1 { 2 } else { 3 };
            let question_end = 12 + b"\x01a\x04test\0".len() + 4;
            let record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, last];
            bytes.splice(question_end..question_end, record);
            bytes[6..8].copy_from_slice(&[0, 1]);
        }
        vec![bytes]
    })
    .await;
    let plain = TestDns::start().await;
    let settings = FetchSettings {
        dns: Some(dns),
        allow_ranges: vec!["127.0.0.2/32".parse().expect("a range")],
        dial_ports: [(80, port)].into(),
        remembers: false,
        ..settings(&plain, SocketAddr::from(([127, 0, 0, 2], port)))
    };
    let mut outcomes = Vec::new();
    for _ in 0..6 {
        let fetcher = Fetcher::new(settings.clone()).expect("settings");
        let fetched = fetch_one(&fetcher, "http://a.test/").await;
        outcomes.push(fetched.outcome);
    }
    assert!(outcomes.contains(&Outcome::Ok), "{outcomes:?}");
    assert!(outcomes.contains(&Outcome::IpBlocked), "{outcomes:?}");
    assert_eq!(reached.load(Ordering::SeqCst), 0, "the private address was dialled");
}
