//! Tests how lines are parsed as seeds, and how ports and sites are collected.

use std::io::{BufReader, Read};

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<Seed, SeedError> {
    parse_seed(text, &ParameterList::default())
}

fn lines(input: impl BufRead) -> Vec<SeedLine> {
    SeedReader::new(input, &ParameterList::default()).map(|line| line.unwrap()).collect()
}

#[test]
fn a_hostname_becomes_a_url_and_a_url_stays_one() {
    for (text, fetched) in [
        ("example.com", "https://example.com/"),
        ("  Example.COM. ", "https://example.com/"),
        ("example.com:8080/a?b#c", "https://example.com:8080/a?b"),
        ("example.com?q=a:b", "https://example.com/?q=a:b"),
        ("//example.com/a", "https://example.com/a"),
        ("http://example.com", "http://example.com/"),
        ("http:example.com", "http://example.com/"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("127.0.0.1", "https://127.0.0.1/"),
        ("[::1]:81", "https://[::1]:81/"),
        ("http://localhost/", "http://localhost/"),
        ("_dmarc.example.com", "https://_dmarc.example.com/"),
    ] {
        let seed = parse(text).unwrap();
        assert_eq!(seed.url.fetched(), fetched, "{text}");
        assert_eq!(seed.is_bare, !text.starts_with("http"), "{text}");
    }
}

#[test]
fn what_is_no_seed_is_refused_with_its_reason() {
    use SeedError::{Credentials, HostCharacters, NoHostname, Url};
    for (text, error) in [
        ("localhost", NoHostname),
        ("domain", NoHostname),
        ("/a.html", NoHostname),
        ("///example.com", NoHostname),
        ("?a=b.c", NoHostname),
        ("word.", NoHostname),
        ("me.you@word", NoHostname),
        ("\\\\example.com", NoHostname),
        ("https://me:you@example.com/", Credentials),
        ("http://me@example.com", Credentials),
        ("HTTPS:\\\\:you@example.com/", Credentials),
        ("me@example.com", Credentials),
        ("1,example.com", HostCharacters),
        ("https://a,b.example/", HostCharacters),
        ("mailto:me@example.com", Url(UrlError::Scheme)),
        ("javascript:alert(1)", Url(UrlError::Scheme)),
        ("ftp://example.com/", Url(UrlError::Scheme)),
        ("me:you@example.com", Url(UrlError::Scheme)),
        ("two words.example", Url(UrlError::Unparsable)),
        ("http://", Url(UrlError::Unparsable)),
        ("a..example.com", Url(UrlError::Host)),
        ("example.com:99999", Url(UrlError::Unparsable)),
    ] {
        assert_eq!(parse(text), Err(error), "{text}");
    }
    for text in ["https://example.com/@me", "example.com/a@b", "https://example.com?a=b@c#@"] {
        assert!(parse(text).is_ok(), "{text}");
    }
    let long = format!("https://example.com/{}", "a".repeat(MAX_URL_BYTES));
    assert_eq!(parse(&long), Err(Url(UrlError::TooLong)));
}

#[test]
fn lines_are_numbered_and_empty_ones_and_comments_skipped() {
    let text = "\u{feff}a.example\r\n\n  # b.example\nnothing\n\thttp://c.example/ \nlast.example";
    let found = lines(text.as_bytes());
    let read: Vec<(u64, &str, bool)> =
        found.iter().map(|line| (line.number, line.shown.as_str(), line.seed.is_ok())).collect();
    let expected = [
        (1, "a.example", true),
        (4, "nothing", false),
        (5, "http://c.example/", true),
        (6, "last.example", true),
    ];
    assert_eq!(read, expected);
    assert!(lines(&b""[..]).is_empty() && lines(&b"\n\n"[..]).is_empty());
}

#[test]
fn a_line_of_any_length_or_bytes_costs_only_itself() {
    let endless =
        std::io::repeat(b'a').take(50 << 20).chain(&b"\na.example\n\xff\xfe\n\0\x1b[2J\n"[..]);
    let found = lines(BufReader::new(endless));
    let errors: Vec<_> = found.iter().map(|line| line.seed.clone().err()).collect();
    let expected = [
        Some(SeedError::LineTooLong),
        None,
        Some(SeedError::Encoding),
        Some(SeedError::NoHostname),
    ];
    assert_eq!(errors, expected);
    assert_eq!(found[0].shown.len(), MAX_SHOWN_CHARACTERS);
    assert_eq!(found[3].shown, "\u{fffd}\u{fffd}[2J");
}

#[test]
fn an_error_of_the_input_is_the_last_item() {
    #[derive(Debug)]
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let parameters = ParameterList::default();
    let input = BufReader::new((&b"a.example\nb.exa"[..]).chain(Broken));
    let found: Vec<_> = SeedReader::new(input, &parameters).collect();
    assert_eq!(found.len(), 2);
    assert!(found[0].is_ok() && found[1].is_err());
}

#[test]
fn the_sites_of_seeds_are_those_of_the_suffix_list() {
    let suffixes = SuffixList::default();
    let mut sites = SeedSites::new(&suffixes);
    for text in ["www.a.com", "b.a.com", "c.co.uk"] {
        assert!(sites.insert(&parse(text).unwrap()));
    }
    let mut expected = vec![site_hash("a.com"), site_hash("c.co.uk")];
    expected.sort_unstable();
    assert_eq!(sites.into_hashes(), expected);
}

proptest! {
    #[test]
    fn any_bytes_are_seeds_and_refusals(
        bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'.'), any::<u8>()], 0..300),
        capacity in 1..40_usize,
    ) {
        let whole = lines(&bytes[..]);
        prop_assert_eq!(&lines(BufReader::with_capacity(capacity, &bytes[..])), &whole);
        let numbers: Vec<u64> = whole.iter().map(|line| line.number).collect();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_seed_is_a_url_that_is_read_as_itself(
        text in "(https?://|//)?[a-zA-Z0-9.:/?#@,ü\\[\\]-]{0,40}",
    ) {
        if let Ok(seed) = parse(&text) {
            prop_assert_eq!(parse(seed.text()), Ok(seed.clone()));
        }
    }
}

#[test]
fn seeds_of_an_operator_may_name_any_port_that_is_not_bad_until_the_crawl_starts() {
    let mut ports = SeedPorts::of_operator();
    let check = |ports: &mut SeedPorts, text: &str| ports.check(&parse(text).unwrap());
    for text in ["a.example", "http://a.example/", "http://a.example:8081/", "a.example:8080"] {
        assert_eq!(check(&mut ports, text), Ok(()), "{text}");
    }
    assert_eq!(check(&mut ports, "a.example:22"), Err(SeedError::BadPort(22)));
    let named = ports.freeze().unwrap();
    assert_eq!(named.as_slice(), [8080, 8081], "80 and 443 are always allowed");
    assert_eq!(check(&mut ports, "b.example:8081"), Ok(()));
    assert_eq!(check(&mut ports, "b.example:8443"), Ok(()), "8443 is a default port");
    assert_eq!(check(&mut ports, "b.example:9000"), Err(SeedError::Port(9000)));
    assert_eq!(check(&mut ports, "b.example:22"), Err(SeedError::BadPort(22)));
    assert_eq!(SeedPorts::of_operator().freeze(), None);

    let mut ports = SeedPorts::of_operator();
    for port in 10_000..10_064 {
        assert_eq!(check(&mut ports, &format!("a.example:{port}")), Ok(()));
    }
    assert_eq!(check(&mut ports, "a.example:10064"), Err(SeedError::TooManyPorts));
    assert_eq!(check(&mut ports, "a.example:10063"), Ok(()));
}
