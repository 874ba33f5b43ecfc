//! Tests responses with randomly changed bytes. Each fetch must finish with an outcome, keep at
//! most the limit, and archive exactly one head.
//!
//! `EVERYTAB_MANGLED_CASES` sets the number of cases (default 2,000).

use std::{
    io::Write,
    sync::atomic::{AtomicUsize, Ordering},
};

use everytab_fetcher::{FetchSettings, Outcome, RobotsPolicy};
use everytab_patience::in_time;
use everytab_testbed::Dice;
use futures_util::StreamExt;

use super::support::*;

fn below(dice: &mut Dice, count: usize) -> usize {
    dice.below(count as u64) as usize
}

const WORDS: [&[u8]; 20] = [
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\0",
    b": ",
    b"\r\n ",
    b"HTTP/1.1 ",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"content-length: 5\r\n",
    b"content-length: -1\r\n",
    b"content-encoding: gzip\r\n",
    b"content-encoding: br\r\n",
    b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: identity, chunked\r\n",
    b"connection: close\r\n",
    b"retry-after: Fri, 32 Foo 99999 25:61:61 GMT\r\n",
    b"set-cookie: =;;=; max-age=--1\r\n",
    b"location: //\r\n",
    b"ffffffffffffffff\r\n",
    b"0\r\n\r\n",
];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

fn answer(dice: &mut Dice) -> Vec<u8> {
    let icon = png(16, below(dice, 256) as u8);
    let chunks = |body: &[u8]| {
        let mut chunked = Vec::new();
        for chunk in body.chunks(50) {
            chunked.extend(format!("{:x};a=b\r\n", chunk.len()).as_bytes());
            chunked.extend(chunk);
            chunked.extend(b"\r\n");
        }
        chunked.extend(b"0\r\nx: y\r\n\r\n");
        chunked
    };
    let head = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n").into_bytes();
    match below(dice, 8) {
        0 => answer_with("200 OK", &["date: Wed, 21 Oct 2015 07:28:00 GMT"], &icon),
        1 => answer_with("200 OK", &["content-encoding: gzip"], &gzip(&icon)),
        2 => [head("transfer-encoding: chunked\r\n"), chunks(&icon)].concat(),
        3 => {
            let lines = "transfer-encoding: chunked\r\ncontent-encoding: x-gzip\r\n";
            [head(lines), chunks(&gzip(&icon))].concat()
        }
        4 => [head("connection: close\r\n"), icon].concat(),
        5 => answer_with(
            "302 Found",
            &["location: http://b.test/after?a=b#c", "set-cookie: seen=1; path=/; secure"],
            b"gone",
        ),
        6 => answer_with(
            "429 Too Many Requests",
            &["retry-after: Wed, 21 Oct 2015 07:28:45 GMT", "date: Wed, 21 Oct 2015 07:28:00 GMT"],
            b"later",
        ),
        _ => {
            let early = b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n".to_vec();
            [early, answer_with("200 OK", &["content-type: image/svg+xml"], b"<svg/>")].concat()
        }
    }
}

fn mangle(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..below(dice, 6) {
        let end = if below(dice, 3) == 0 { bytes.len() } else { bytes.len().min(160) };
        let at = below(dice, end.max(1)).min(bytes.len());
        let to = (at + below(dice, 12)).min(bytes.len());
        match below(dice, 5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(dice, 8),
            1 => drop(bytes.drain(at..to)),
            2 => {
                let piece = bytes[at..to].repeat(1 + below(dice, 300));
                bytes.splice(at..at, piece);
            }
            3 => drop(bytes.splice(at..at, WORDS[below(dice, WORDS.len())].iter().copied())),
            _ => drop(bytes.splice(at..to, (0..below(dice, 8)).map(|n| (n * 37) as u8))),
        }
    }
}

fn reply(case: u64) -> Reply {
    let mut dice = Dice::numbered(0, "mangled", case);
    let mut bytes = answer(&mut dice);
    mangle(&mut bytes, &mut dice);
    match below(&mut dice, 20) {
        0 => Reply::Send(bytes),
        1 => Reply::SendAndReset(bytes),
        _ => Reply::SendAndClose(bytes),
    }
}

#[tokio::test]
async fn each_mangled_response_ends_in_an_outcome() {
    let cases = std::env::var("EVERYTAB_MANGLED_CASES").ok();
    let cases: u64 = cases.map_or(2_000, |cases| cases.parse().expect("a number of cases"));
    let mut net = Net::start(|asked| match asked.path.trim_start_matches('/').parse() {
        Ok(case) => reply(case),
        Err(_) => ok(&png(16, 0)),
    })
    .await;
    let all_but_loopback = ["0.0.0.0/2", "64.0.0.0/3", "96.0.0.0/4", "112.0.0.0/5", "120.0.0.0/6"];
    let all_but_loopback = all_but_loopback.into_iter().chain(["124.0.0.0/7", "126.0.0.0/8"]);
    net.settings = FetchSettings {
        deny_ranges: all_but_loopback
            .chain(["128.0.0.0/1", "::/0"])
            .map(|range| range.parse().expect("a range"))
            .collect(),
        ..impatient(net.settings)
    };
    let fetcher = net.fetcher();
    let fine = AtomicUsize::new(0);
    let fetching = futures_util::stream::iter(0..cases).for_each_concurrent(64, |case| {
        let fetcher = &fetcher;
        let fine = &fine;
        async move {
            let url = format!("http://a.test/{case}");
            let fetching = fetcher.fetch_one(&url, RobotsPolicy::Ignore);
            let fetched = in_time(&format!("case {case} to finish"), fetching).await;
            let fetched = fetched.unwrap_or_else(|failure| panic!("case {case}: {failure}"));
            assert!(fetched.body.len() <= 512 * 1024, "case {case}");
            assert!(fetched.hops.len() <= 6, "case {case}");
            if fetched.outcome != Outcome::Ok {
                return;
            }
            fine.fetch_add(1, Ordering::Relaxed);
            let head = fetched.http_head;
            let ends = head.windows(4).filter(|four| *four == b"\r\n\r\n").count();
            assert!(head.ends_with(b"\r\n\r\n") && ends == 1, "case {case}");
            let lines = head.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            assert!(lines.into_iter().all(|line| line.ends_with(b"\r")), "case {case}");
        }
    });
    fetching.await;
    let fine = fine.into_inner() as u64;
    assert!(fine > cases / 20 && fine < cases - cases / 20, "{fine} of {cases} were valid");
    let after = fetch_one(&fetcher, "http://a.test/icon").await;
    assert_eq!(after.outcome, Outcome::Ok, "the fetcher still works");
}
