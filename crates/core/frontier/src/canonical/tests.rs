//! Tests keys with a table of identical URLs, and with arbitrary URLs.

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<CanonicalUrl, UrlError> {
    CanonicalUrl::parse(text, &ParameterList::default())
}

fn key(text: &str) -> String {
    parse(text).unwrap().key().to_owned()
}

#[test]
fn spellings_of_one_page_have_one_key() {
    for (text, expected) in [
        ("HTTP://User:pw@EXAMPLE.com:80/a b?q#f", "http://example.com/a%20b?q"),
        ("https://example.com:443", "https://example.com/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("http://example.com.:8080/", "http://example.com:8080/"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://a.example/x/../y/./z/%2e%2E/w", "http://a.example/y/w"),
        ("http://a.example/%7euser/%c3%bc%2f", "http://a.example/~user/%C3%BC%2F"),
        ("http://a.example//b//", "http://a.example//b//"),
        ("http://a.example/?", "http://a.example/"),
        ("http://a.example/?&&", "http://a.example/"),
        ("http://a.example/?utm_source=x&gclid=1", "http://a.example/"),
        ("http://a.example/?%75tm_source=x&b=2&a=1", "http://a.example/?a=1&b=2"),
        ("http://a.example/?b=2&a=2&b=1&a=1", "http://a.example/?a=2&a=1&b=2&b=1"),
        ("http://a.example/?b&a=&a", "http://a.example/?a=&a&b"),
        ("http://a.example/x;jsessionid=1?PHPSESSID=2", "http://a.example/x"),
        ("http://a.example/x;v=1;JSESSIONID=1/y", "http://a.example/x;v=1/y"),
        ("http://a.example/b/..;jsessionid=1/y", "http://a.example/b/..;jsessionid=1/y"),
        ("http://a.example/100%", "http://a.example/100%25"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::ffff:a9fe:a9fe]/", "http://[::ffff:a9fe:a9fe]/"),
        ("http:\\\\a.example\\b", "http://a.example/b"),
    ] {
        assert_eq!(key(text), expected, "{text}");
        assert_eq!(key(expected), expected, "{text}");
    }
}

#[test]
fn pages_that_differ_have_different_keys() {
    for (one, other) in [
        ("http://a.example/", "https://a.example/"),
        ("http://a.example/a", "http://a.example/A"),
        ("http://a.example/a", "http://a.example/a/"),
        ("http://a.example/a", "http://a.example//a"),
        ("http://a.example/?a", "http://a.example/?a="),
        ("http://a.example/a%2Fb", "http://a.example/a/b"),
        ("http://a.example/", "http://www.a.example/"),
        ("http://a.example/", "http://a.example:8080/"),
        ("http://a.example/?a=1&a=2", "http://a.example/?a=2&a=1"),
    ] {
        assert_ne!(key(one), key(other));
    }
}

#[test]
fn the_url_is_fetched_as_first_seen() {
    let url = parse("http://u:p@A.example:80/%7ex?b=2&utm_source=m&a=1#top").unwrap();
    assert_eq!(url.fetched(), "http://a.example/%7ex?b=2&utm_source=m&a=1");
    assert_eq!(url.key(), "http://a.example/~x?a=1&b=2");
    assert_eq!((url.host(), url.path(), url.query()), ("a.example", "/~x", "a=1&b=2"));
    assert_eq!(url.path_and_query(), "/~x?a=1&b=2");
}

#[test]
fn an_absolute_hostname_is_the_hostname() {
    for (absolute, name) in [
        ("http://a.example./x", "http://a.example/x"),
        ("https://A.example.:8443/x?b=1", "https://a.example:8443/x?b=1"),
        ("http://a.example./", "http://a.example/"),
    ] {
        let (absolute, name) = (parse(absolute).unwrap(), parse(name).unwrap());
        assert_eq!(absolute, name);
        assert_eq!(absolute.fetched(), name.fetched());
    }
}

#[test]
fn the_hash_is_the_head_of_sha_256_of_the_key() {
    // From `printf http://example.com/ | sha256sum`.
    assert_eq!(parse("HTTP://example.com:80").unwrap().hash(), UrlHash(0x2a1b_4024_20ef_4657));
}

#[test]
fn the_port_is_that_of_the_url_or_of_its_scheme() {
    for (url, port) in [
        ("http://a.com/", 80),
        ("https://a.com:443/x:9", 443),
        ("http://a.com:443", 443),
        ("https://[::1]:8081/x", 8081),
        ("http://[::1]/:8081", 80),
    ] {
        assert_eq!(parse(url).unwrap().port(), port, "{url}");
    }
}

#[test]
fn each_reason_has_its_name() {
    let error = |text: &str| parse(text).unwrap_err();
    for text in ["ftp://a.example/", "file:///etc/passwd", "data:,", "javascript:0", "mailto:a@b"] {
        assert_eq!(error(text), UrlError::Scheme, "{text}");
    }
    for text in ["", "/relative", "http://", "http://a b/", "http://256.1.1.1/", "//a.example/"] {
        assert_eq!(error(text), UrlError::Unparsable, "{text}");
    }
    for text in ["http://a..example/", "http://.a/", "http://./", "http://a../"] {
        assert_eq!(error(text), UrlError::Host, "{text}");
    }
    let of_length = |length: usize| format!("http://a.example/{}", "x".repeat(length - 17));
    assert!(parse(&of_length(2_048)).is_ok());
    assert_eq!(error(&of_length(2_049)), UrlError::TooLong);
    assert_eq!(error(&format!("http://a.example/{}", " x".repeat(1_000))), UrlError::TooLong);
    assert_eq!(error(&format!("http://a.example/{}", "%".repeat(1_000))), UrlError::TooLong);
    let host = format!("http://{}example/", "a1234567.".repeat(28));
    assert_eq!(error(&host), UrlError::Host);
}

fn any_url() -> impl Strategy<Value = String> {
    let piece = r"(%[0-9a-fA-F]{2}|%|\.|\.\.|;jsessionid=1|[a-c]|[&=;?/+ ü'\\#@:]){0,12}";
    let host = r"[a-c]{1,3}(\.|%2e)[a-c]{1,3}\.?|1\.2|\[::1\]";
    prop_oneof![
        8 => (host, piece, piece).prop_map(|(h, p, q)| format!("http://{h}/{p}?{q}")),
        1 => (host, "(/|\\PC){0,20}").prop_map(|(h, p)| format!("https://{h}{p}")),
        1 => "\\PC{0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_string_yields_an_error_or_a_key_that_is_its_own_key(text in any_url()) {
        if let Ok(url) = parse(&text) {
            let again = parse(url.key()).unwrap();
            prop_assert_eq!(again.key(), url.key());
            prop_assert_eq!(again.hash(), url.hash());
            prop_assert_eq!(again.host(), url.host());
            prop_assert_eq!(again.fetched(), url.key());
            let fetched = parse(url.fetched()).unwrap();
            prop_assert_eq!(&fetched, &url);
        }
    }
}

#[test]
fn only_home_pages_are_fetched_by_their_key() {
    let fetched = |text: &str| {
        let url = CanonicalUrl::parse(text, &ParameterList::default()).unwrap();
        url.fetched().to_owned()
    };
    for text in ["https://a.com/?gclid=1", "https://a.com:443?", "https://u@a.com./?utm_id=1#x"] {
        assert_eq!(fetched(text), "https://a.com/", "{text}");
    }
    assert_eq!(fetched("https://a.com/?id=1&gclid=2"), "https://a.com/?id=1&gclid=2");
    assert_eq!(fetched("https://a.com/b?gclid=2"), "https://a.com/b?gclid=2");
}

#[test]
fn a_home_page_has_no_path_and_no_query() {
    for url in ["http://a.example/", "https://a.example:8443/", "http://[::1]/"] {
        assert!(is_home_page(url), "{url}");
    }
    for url in ["http://a.example/a", "http://a.example/?", "http://a.example", "mailto:a@b/"] {
        assert!(!is_home_page(url), "{url}");
    }
}

#[test]
fn a_hostname_alone_is_parsed_in_any_spelling() {
    for (text, expected) in [
        ("www.Example.com", "www.example.com"),
        ("www.example.com.", "www.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("[::1]", "[::1]"),
        ("192.0.2.1", "192.0.2.1"),
    ] {
        assert_eq!(hostname(text).as_deref(), Some(expected));
    }
    for text in ["", ".", "a.example/", "a.example:8080", "https://a.example", "u@a.example", "a?b"]
    {
        assert_eq!(hostname(text), None, "{text}");
    }
}
