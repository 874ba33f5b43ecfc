//! Measures how long it takes to compile patterns, and to match them against 5,000 links of the
//! maximum length.
//!
//!     cargo run --release -p everytab-frontier --example patterns_bench
//!
//! In the worst case, the tables are full and a random URL visits their states at random, so that
//! every byte is a cache miss.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use everytab_frontier::{CanonicalUrl, MAX_URL_BYTES, ParameterList, PatternLists, UrlPatterns};

const URLS: usize = 500;
const LINKS: f64 = 5_000.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut seed = 88_172_645_463_325_252;
    let texts: Vec<Vec<CanonicalUrl>> = ["ab", "abcdefghijklmnopqrstuvwxyz0123456789-_"]
        .iter()
        .map(|letters| (0..URLS).map(|_| url(&mut seed, letters)).collect())
        .collect::<Result<_, _>>()?;
    println!("patterns | bytes | compiled in | 5,000 URLs of 2,048 bytes");
    for (name, patterns) in sets() {
        let lists = PatternLists {
            exclude: patterns.iter().map(String::as_str).collect(),
            ..PatternLists::default()
        };
        let start = Instant::now();
        let compiled = UrlPatterns::compile(&lists);
        let took = start.elapsed();
        match compiled {
            Ok(compiled) => {
                let worst = texts.iter().map(|urls| median(&compiled, urls)).max();
                let milliseconds = worst.unwrap_or_default().as_secs_f64() * 1e3 * LINKS;
                let bytes = compiled.memory_bytes();
                println!("{name} | {bytes} | {took:.1?} | {milliseconds:.1} ms");
            }
            Err(error) => println!("{name} | refused in {took:.1?}: {error}"),
        }
    }
    Ok(())
}

fn sets() -> Vec<(String, Vec<String>)> {
    let many = |number: usize, pattern: fn(u64) -> String| -> Vec<String> {
        (0..number as u64).map(|n| pattern(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
    };
    let mut sets = vec![
        ("a year and a month".to_owned(), vec![r"re:/\d{4}/\d{2}/".to_owned()]),
        ("24,000 optional bytes".to_owned(), vec!["re:(?:.?){24000}[^a-z0-9/.:_?=-]".to_owned()]),
        ("3,000 optional bytes".to_owned(), vec!["re:(?:.?){3000}[^a-z0-9/.:_?=-]".to_owned()]),
        ("a long window".to_owned(), vec!["re:[a-m][a-z0-9./_-]{200}%".to_owned()]),
    ];
    for number in [100, 400, 1_000] {
        let paths = many(number, |n| format!("www.example.com/{n:x}/*"));
        sets.push((format!("{number} folders of a host"), paths));
        sets.push((
            format!("{number} folders of any host"),
            many(number, |n| format!("*/{n:x}/*")),
        ));
        sets.push((format!("{number} hosts"), many(number, |n| format!("*.{n:x}.example"))));
    }
    for window in 8..12 {
        let windows = ["[a-m0-4]", "[a-t]", "[ab]", "[acegikmoqsuwy02468]"];
        let patterns = windows.iter().map(|bytes| format!("re:{bytes}.{{{window}}}c%"));
        sets.push((format!("4 windows of {window} bytes"), patterns.collect()));
    }
    sets
}

fn url(seed: &mut u64, letters: &str) -> Result<CanonicalUrl, everytab_frontier::UrlError> {
    let mut text = "https://www.example.com/".to_owned();
    while text.len() < MAX_URL_BYTES {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        let at = usize::try_from(*seed >> 33).unwrap_or_default() % letters.len();
        text.push_str(&letters[at..=at]);
    }
    CanonicalUrl::parse(&text, &ParameterList::default())
}

fn median(patterns: &UrlPatterns, urls: &[CanonicalUrl]) -> Duration {
    let time = |url| {
        let start = Instant::now();
        black_box(patterns.matches(url));
        start.elapsed()
    };
    let mut times: Vec<Duration> = urls.iter().map(time).collect();
    times.sort_unstable();
    times[times.len() / 2]
}
