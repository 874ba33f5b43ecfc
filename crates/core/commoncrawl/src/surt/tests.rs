//! Tests each rule of the key, and arbitrary strings.

use proptest::prelude::*;

use super::*;

fn key(url: &str) -> String {
    surt(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

#[test]
fn keys_equal_common_crawls() {
    // Column `url_surtkey` in real rows.
    for (url, expected) in [
        ("http://commoncrawl.org/", "org,commoncrawl)/"),
        ("https://www.commoncrawl.org/", "org,commoncrawl)/"),
        (
            "http://commoncrawl.org/big-picture/frequently-asked-questions/",
            "org,commoncrawl)/big-picture/frequently-asked-questions",
        ),
        ("http://xing.com:443/", "com,xing:443)/"),
        ("http://66.102.255.57/", "57,255,102,66)/"),
    ] {
        assert_eq!(key(url), expected, "{url}");
    }
}

#[test]
fn each_rule_for_hosts_holds() {
    for (url, expected) in [
        ("http://example.com", "com,example)/"),
        ("HTTP://u:p@WWW12.Example.COM./", "com,example)/"),
        ("http://www.www.e.x/", "x,e,www)/"),
        ("http://www-1.e.x/", "x,e,www-1)/"),
        ("http://www", "www)/"),
        ("http://www.com/", "com)/"),
        ("http://.a..b.c/", "c,b,a)/"),
        ("http://a:80/", "a)/"),
        ("https://a:80/", "a:80)/"),
        ("http://b%C3%BCcher.example/", "example,xn--bcher-kva)/"),
        ("http://bücher.example/", "example,xn--bcher-kva)/"),
        ("http://[2001:DB8::1]:8080/A", "2001:db8::1:8080)/a"),
        ("http://a,b.com/", "com,a,b)/"),
        ("http:///a", "a)/"),
    ] {
        assert_eq!(key(url), expected, "{url}");
    }
    for url in ["", "http://", "http://./", "mailto:a@b", "http://a:b/", "https:///"] {
        assert!(surt(url).is_err(), "{url}");
    }
}

#[test]
fn each_rule_for_paths_and_queries_holds() {
    let id = "0123456789ABCDEF0123456789abcdef";
    let id = |text: &str| {
        text.replace("=ID", &format!("={id}")).replace("ASPX", "4hqa0555fwsecu455xqckv45")
    };
    for (rest, expected) in [
        ("//a//B///", "/a/b"),
        ("/a/./b/../c", "/a/c"),
        ("/../a", "/../a"),
        ("/../../a", "/a"),
        ("//..//b", "/b"),
        ("/a/%2e%2E/b", "/b"),
        ("/%25%32%35%zz", "/%25%25zz"),
        ("/%25252541 é%E9", "/a%20%c3%a9%e9"),
        ("/a%3Fb?c", "/a?b?c"),
        ("/?", "/"),
        ("/?&", "/?&"),
        ("/?b=1&a=2&a=&a&a-=1&B=0", "/?a&a=&a=2&a-=1&b=0&b=1"),
        ("/?q=a%26b%3Dc#d", "/?b=c&q=a"),
        ("/?x=1&PHPSESSID=ID", "/?&x=1"),
        ("/?phpsessid=ID&phpsessid=ID", "/?phpses"),
        ("/?jsessionid=ID&sid=ID&cfid=1&cftoken=2&z", "/?z"),
        ("/?sid=IDx", "/?sid=0123456789abcdef0123456789abcdefx"),
        ("/?aspsessionidABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&x", "/?x"),
        ("/?cfid=&cftoken=2", "/?cfid=&cftoken=2"),
        ("/x/(a(ASPX)b(ASPX))/(ASPX)/M.aspx?q", "/x/m.aspx?q"),
        ("/(ASPX)/y/m.aspxyz", "/y/m.aspxyz"),
        ("/(ASPX)/.aspx", "/(4hqa0555fwsecu455xqckv45)/.aspx"),
        ("/(ASPX)/m.asp", "/(4hqa0555fwsecu455xqckv45)/m.asp"),
        ("/()/m.aspx", "/()/m.aspx"),
    ] {
        assert_eq!(key(&id(&format!("http://a{rest}"))), format!("a){expected}"), "{rest}");
    }
}

proptest! {
    #[test]
    fn a_key_can_start_an_index_line_and_keeps_the_order(
        url in "(http|https)://[a-z.:\\[\\]0-9%]{0,20}[/?#]\\PC{0,40}",
    ) {
        if let Ok(key) = surt(&url) {
            prop_assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key:?}");
            prop_assert!(key.contains(")/"), "{key:?}");
            prop_assert!(key.len() <= 32 * url.len() + 16);
        }
    }

    #[test]
    fn arbitrary_strings_never_panic_as_urls(text in "\\PC{0,60}") {
        let _ = surt(&text);
    }
}
