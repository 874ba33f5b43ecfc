//! Measures the cost of filters: a list with a million names, and word and language filters over
//! text.
//!
//!     cargo run --release --package everytab-filters --example filters_bench

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::{hint::black_box, sync::Arc, time::Instant};

use everytab_filters::{
    Filter, FilterSet, FilterSettings, ListFileKind, LoadedList, NameList, NameListBuilder,
    PageContent, language_of,
};
use everytab_frontier::{CanonicalUrl, ParameterList};

const NAMES: usize = 1_000_000;
const URLS: usize = 200_000;
const WORDS: usize = 1_000;

#[allow(clippy::disallowed_types, reason = "a measurement reads the clock")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut builder = NameListBuilder::default();
    for number in 0..NAMES {
        let line = format!("name-{number:x}.example");
        builder.add_line("adult", ListFileKind::Domains, line.as_bytes())?;
    }
    let object = builder.build();
    println!("built {NAMES} names in {:?}: {} bytes", start.elapsed(), object.len());
    let bytes = Arc::new(object);
    let start = Instant::now();
    let list = LoadedList::Names(Arc::new(NameList::open(bytes)?));
    println!("opened in {:?}", start.elapsed());
    let settings = FilterSettings::parse(br#"{"lists":[{"name":"x","mode":"drop"}]}"#)?;
    let by_list = FilterSet::new(vec![Filter::compile(&settings, |_| Some(list.clone()))?])?;
    let parameters = ParameterList::default();
    let urls: Vec<CanonicalUrl> = (0..URLS)
        .map(|number| {
            let number = number * 7;
            let url = format!("https://www.name-{number:x}.example/a/b{number}/c.html");
            CanonicalUrl::parse(&url, &parameters)
        })
        .collect::<Result<_, _>>()?;
    let start = Instant::now();
    let dropped = urls.iter().filter(|url| by_list.decide_url(url, false).is_some()).count();
    let took = start.elapsed();
    println!(
        "{} ns a URL of 3 labels and 3 segments; {dropped} on it",
        took.as_nanos() / URLS as u128
    );
    let weights: Vec<String> = (0..WORDS).map(|n| format!("\"wo{n}rd\":1")).collect();
    let json = format!("{{\"words\":{{\"weights\":{{{}}},\"threshold\":9}}}}", weights.join(","));
    let settings = FilterSettings::parse(json.as_bytes())?;
    let by_words = FilterSet::new(vec![Filter::compile(&settings, |_| None)?])?;
    let text = "The quick brown fox jumps over the lazy dog, and nobody knows why. ".repeat(950);
    let page = PageContent { text: &text, ..PageContent::default() };
    let start = Instant::now();
    for _ in 0..200 {
        black_box(by_words.decide_content(&urls[0], &page));
    }
    let megabytes = (text.len() * 200) as f64 / 1e6;
    let rate = megabytes / start.elapsed().as_secs_f64();
    println!("{WORDS} words over text: {rate:.0} MB/s ({} bytes a page)", text.len());
    let start = Instant::now();
    for _ in 0..200 {
        black_box(language_of(&text));
    }
    println!("language of a page: {} us", start.elapsed().as_micros() / 200);
    Ok(())
}
