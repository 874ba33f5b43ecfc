//! Tests the defaults, bounds and JSON of settings.

use everytab_frontier::{CanonicalUrl, Link, LinkFlags, ParameterList, RejectReason, SuffixList};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn settings(changes: Value) -> CrawlSettings {
    serde_json::from_value(changes).expect("settings")
}

#[test]
fn without_options_the_settings_are_those_of_the_table() {
    let expected = json!({
        "scope": "site", "depth": 16, "limit": null, "site_pages": 10_000,
        "include": [], "exclude": [], "priorities": [],
        "media": "none", "media_bytes": 4 << 20,
        "types": ["html", "xhtml", "text", "pdf"], "max_bytes": 2 << 20,
        "delay_ms": 1_000, "delay_factor": 2.0, "max_delay_ms": 60_000,
        "sitemaps": "robots", "nofollow": "obey", "search": "off",
        "duration_s": null, "max_store_bytes": null, "list_sites": [],
        "stores": [], "media_store": null,
    });
    assert_eq!(serde_json::to_value(CrawlSettings::default()).unwrap(), expected);
    assert_eq!(settings(json!({})), CrawlSettings::default());
    assert_eq!(CrawlSettings::default().check(), Ok(()));
}

#[test]
fn a_setting_out_of_its_bounds_is_refused_by_its_option_and_bound() {
    for (changes, said) in [
        (json!({ "depth": 1_001 }), "--depth: invalid value 1001: expected 0 to 1000"),
        (
            json!({ "limit": 0 }),
            "--limit: invalid value 0: expected 1 to 9223372036854775807 pages",
        ),
        (
            json!({ "site_pages": 0 }),
            "--site-pages: the pages per site must be from 1 to 1000000000",
        ),
        (
            json!({ "include": ["https://a.com/*"] }),
            "--include: pattern 1: leave out the scheme, as in example.com/blog/*",
        ),
        (
            json!({ "exclude": ["a.com", ""] }),
            "--exclude: pattern 2 is empty or longer than 1024 bytes",
        ),
        (
            json!({ "priorities": ["news"] }),
            "--priority: invalid priority \"news\": expected WORD=N, with N from -7 to 7, in ASCII",
        ),
        (
            json!({ "media_bytes": 0 }),
            "--media-bytes: invalid value 0: expected 1 to 33554432 bytes",
        ),
        (
            json!({ "media_bytes": 33_554_433 }),
            "--media-bytes: invalid value 33554433: expected 1 to 33554432 bytes",
        ),
        (
            json!({ "max_bytes": 16_777_217 }),
            "--max-bytes: invalid value 16777217: expected 1 to 16777216 bytes",
        ),
        (
            json!({ "delay_ms": 3_600_001 }),
            "--delay: invalid value 3600001: expected 0 to 3600000 milliseconds",
        ),
        (
            json!({ "max_delay_ms": 3_600_001 }),
            "--max-delay: invalid value 3600001: expected 0 to 3600000 milliseconds",
        ),
        (json!({ "delay_factor": -0.5 }), "--delay-factor: invalid value -0.5: expected 0 to 100"),
        (json!({ "delay_factor": 101 }), "--delay-factor: invalid value 101: expected 0 to 100"),
        (json!({ "duration_s": 0 }), "--for: invalid value 0: expected 1 to 31536000 seconds"),
        (
            json!({ "max_store_bytes": 0 }),
            "--max-store: invalid value 0: expected 1 to 9223372036854775807 bytes",
        ),
        (
            json!({ "list_sites": vec![1; MAX_LIST_SITES + 1] }),
            "--scope: the scope list has at most 1000000 sites; use the scope site",
        ),
        (
            json!({ "stores": [{ "first": 0, "last": 254, "store": "file:///a" }] }),
            "--to: no store is given for slot ff; cover 00 to ff",
        ),
    ] {
        let error = settings(changes).check().unwrap_err();
        assert_eq!(error.to_string(), said);
    }
    for types in [json!([]), json!(["htlm"]), json!(["*/*"])] {
        let error = settings(json!({ "types": types })).check().unwrap_err();
        assert!(error.to_string().starts_with("--types: "), "{error}");
    }
    let no_number = CrawlSettings { delay_factor: f64::NAN, ..CrawlSettings::default() };
    assert_eq!(no_number.check().unwrap_err().option, "delay-factor");
}

#[test]
fn json_that_is_no_settings_is_refused() {
    for text in [
        r#"{"dept": 1}"#,
        r#"{"filter": "mine"}"#,
        r#"{"scope": "Site"}"#,
        r#"{"scope": 1}"#,
        r#"{"media": "some"}"#,
        r#"{"depth": -1}"#,
        r#"{"depth": 65536}"#,
        r#"{"delay_factor": NaN}"#,
        r#"{"delay_ms": 1.5}"#,
        r#""site""#,
    ] {
        assert!(serde_json::from_str::<CrawlSettings>(text).is_err(), "{text}");
    }
}

#[test]
fn rules_follow_what_the_settings_say() {
    let settings = settings(json!({
        "scope": "list", "depth": 3, "site_pages": 500, "include": ["*/blog/*"],
        "exclude": ["re:print=1"], "priorities": ["news=2"],
        "list_sites": [everytab_frontier::site_hash("b.com")],
    }));
    let rules = settings.rules().unwrap();
    let suffixes = SuffixList::default();
    assert!(rules.is_in_scope("a.com", "www.b.com", &suffixes));
    assert!(!rules.is_in_scope("b.com", "a.com", &suffixes));
    assert_eq!((rules.depth, rules.site_budget.0), (3, 500));
    let refusal = |url: &str| {
        let url = CanonicalUrl::parse(url, &ParameterList::default()).unwrap();
        let mut link = Link::submitted(url, false, 0);
        link.attributes.flags = LinkFlags::default();
        rules.refusal(&link, &rules.matches(&link))
    };
    assert_eq!(refusal("http://b.example/blog/1"), None);
    assert_eq!(refusal("http://b.example/shop/1"), Some(RejectReason::NotIncluded));
    assert_eq!(refusal("http://b.example/blog/1?print=1"), Some(RejectReason::Excluded));
    let url = CanonicalUrl::parse("http://b.example/news", &ParameterList::default()).unwrap();
    assert_eq!(rules.priorities.priority(&rules.patterns.matches(&url), 0), 2);
}

#[test]
fn words_are_read_from_their_names() {
    for word in MediaOption::ALL {
        assert_eq!(MediaOption::parse(word).map(MediaOption::as_str), Some(word));
        assert_eq!(json!(MediaOption::parse(word)), json!(word));
    }
    for word in SitemapsOption::ALL {
        assert_eq!(json!(SitemapsOption::parse(word)), json!(word));
    }
    for word in NofollowOption::ALL {
        assert_eq!(json!(NofollowOption::parse(word)), json!(word));
    }
    assert_eq!(NofollowOption::parse("Obey"), None);
}

prop_compose! {
    fn any_settings()(
        numbers in any::<(u16, Option<u64>, u64, usize, usize, u64, u64)>(),
        factor in -1e6..1e6_f64,
        texts in prop::array::uniform4(prop::collection::vec("\\PC{0,12}", 0..3)),
        words in (0..5_usize, 0..3_usize, 0..3_usize, 0..2_usize, 0..2_usize),
        ends in any::<(Option<u64>, Option<u64>)>(),
        list_sites: Vec<u64>,
        repeat in any::<(Option<u128>, u64, bool)>(),
        tries in any::<(u8, Option<u64>, u32)>(),
        ports in any::<(Vec<u16>, Vec<u16>)>(),
    ) -> CrawlSettings {
        let (depth, limit, site_pages, media_bytes, max_bytes, delay_ms, max_delay_ms) = numbers;
        let [include, exclude, priorities, types] = texts;
        CrawlSettings {
            scope: Scope::ALL[words.0],
            depth, limit, site_pages, include, exclude, priorities,
            media: MediaOption::parse(MediaOption::ALL[words.1]).expect("a word"),
            media_bytes, types, max_bytes, delay_ms, delay_factor: factor, max_delay_ms,
            sitemaps: SitemapsOption::parse(SitemapsOption::ALL[words.2]).expect("a word"),
            nofollow: NofollowOption::parse(NofollowOption::ALL[words.3]).expect("a word"),
            search: SearchOption::parse(SearchOption::ALL[words.4]).expect("a word"),
            duration_s: ends.0, max_store_bytes: ends.1, list_sites,
            stores: Vec::new(), media_store: None, filters: Vec::new(),
            ports: PortList::new(ports.0).ok(), seed_ports: PortList::new(ports.1).ok(),
            again: repeat.0.map(Uuid::from_u128), store_again_after_s: repeat.1,
            duplicates: DuplicatesOption::parse(DuplicatesOption::ALL[usize::from(repeat.2)])
                .expect("a word"),
            retries: tries.0, host_patience_s: tries.1, trap_pages: tries.2,
        }
    }
}

proptest! {
    #[test]
    fn settings_come_back_from_their_json(settings in any_settings()) {
        let text = serde_json::to_string(&settings).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let read: CrawlSettings = serde_json::from_value(value).unwrap();
        // Rust prints and parses floating-point numbers exactly, but serde_json does not quite.
        prop_assert!((read.delay_factor - settings.delay_factor).abs() < 1e-6);
        prop_assert_eq!(
            CrawlSettings { delay_factor: 0.0, ..read },
            CrawlSettings { delay_factor: 0.0, ..settings }
        );
    }

    #[test]
    fn any_settings_are_used_or_refused(settings in any_settings()) {
        if settings.check().is_ok() {
            prop_assert!(settings.rules().is_ok());
        }
    }

    #[test]
    fn any_text_is_settings_or_an_error(
        text in "\\{(\"(depth|scope|types)\": ?[0-9a-z\"]{0,5},?){0,3}\\}",
    ) {
        let _ = serde_json::from_str::<CrawlSettings>(&text);
    }
}

#[test]
fn the_ports_of_a_crawl_are_its_keys_or_the_workers_and_those_that_its_seeds_name() {
    let list = |text: &str| text.parse::<PortList>().unwrap();
    let worker = list("80,443");
    let own = CrawlSettings::default();
    assert_eq!(own.followed_ports(&worker), worker);
    let json = serde_json::to_string(&own).unwrap();
    assert!(!json.contains("ports"), "older programs reject unknown fields: {json}");
    let of_key = CrawlSettings { ports: Some(list("443,8081")), ..own.clone() };
    assert_eq!(of_key.followed_ports(&worker), list("443,8081"));
    assert_eq!(of_key.requested_ports(&worker), worker, "a key cannot add ports to a worker");
    let of_operator = CrawlSettings { seed_ports: Some(list("8081")), ..own };
    assert_eq!(of_operator.followed_ports(&worker), list("80,443,8081"));
    assert_eq!(of_operator.requested_ports(&worker), list("80,443,8081"));
    let bad = serde_json::from_str::<CrawlSettings>(r#"{"seed_ports": [80, 22]}"#);
    assert!(bad.unwrap_err().to_string().contains("port 22 is never requested"));
}
