//! Cases from RFC 9309, and those of Google's suite that need more than its matcher. The others are
//! in tests/webpage/suites/robots.json.

use proptest::prelude::*;

use super::*;

fn allowed(file: &str, path: &str) -> bool {
    RobotsTxt::parse(file.as_bytes()).allowed("EveryTabBot", path)
}

#[test]
fn groups_that_name_us_are_merged_and_the_star_applies_only_without_them() {
    let file = "User-agent: everytabbot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\n\
                User-Agent: x\nuser-agent: EVERYTABBOT\nDisallow: /b\n";
    assert!(!allowed(file, "/a"));
    assert!(!allowed(file, "/b"));
    assert!(allowed(file, "/c"));
    let star = "User-agent: other\nDisallow: /a\nUser-agent: *\nDisallow: /b";
    assert!(allowed(star, "/a"));
    assert!(!allowed(star, "/b"));
    assert!(allowed("User-agent: EveryTabBot\nUser-agent: *\nDisallow:", "/b"));
    assert!(allowed("User-agent: EveryTabBot\n\nUser-agent: *\nAllow: /b", "/b"));
    assert!(allowed("User-agent: *\nDisallow: /\n\nUser-agent: EveryTabBot\nAllow: /x", "/b"));
}

#[test]
fn user_agent_lines_are_read_as_product_tokens() {
    for (agent, names_us) in [
        ("EveryTabBot/1.0", true),
        ("everytabbot (+https://bot.example)", true),
        ("*", true),
        ("* junk", true),
        ("*junk", false),
        ("EveryTab", false),
        ("EveryTabBotX", false),
        ("EveryTabBot-News", false),
        ("", false),
    ] {
        let file = format!("User-agent: {agent}\nDisallow: /");
        assert_eq!(allowed(&file, "/a"), !names_us, "{agent}");
    }
}

#[test]
fn other_lines_neither_start_nor_end_a_group() {
    assert!(allowed("Disallow: /\nUser-agent: *\nDisallow: /x", "/a"));
    let shared = "User-agent: a\nSitemap: https://x.example/\njunk\n\nUser-agent: EveryTabBot\n\
                  Crawl-delay: 5\nDisallow: /";
    assert!(!allowed(shared, "/a"));
    assert!(!RobotsTxt::parse(shared.as_bytes()).allowed("a", "/a"));
    let apart = "User-agent: a\nDisallow:\nUser-agent: EveryTabBot\nDisallow: /";
    assert!(RobotsTxt::parse(apart.as_bytes()).allowed("a", "/a"));
}

#[test]
fn the_longest_rule_decides_and_allow_wins_a_tie() {
    let check = |rules: &str, path, expected| {
        assert_eq!(allowed(&format!("user-agent: *\n{rules}"), path), expected, "{rules} {path}");
    };
    check("disallow: /x/page.html\nallow: /x/", "/x/page.html", false);
    check("allow: /x/page.html\ndisallow: /x/", "/x/page.html", true);
    check("disallow: /x/page.html\nallow: /x/page.html", "/x/page.html", true);
    check("disallow: /\nallow: /", "/x", true);
    check("allow: /p\ndisallow: /", "/page", true);
    check("allow: /page\ndisallow: /*.htm", "/page.htm", false);
    check("allow: /$\ndisallow: /", "/", true);
    check("allow: /$\ndisallow: /", "/page.htm", false);
    check("disallow:", "/x", true);
    check("disallow: /\ndisallow:", "/x", false);
    check("disallow: /Fish", "/fish", true);
    check("disallow: x", "/x", true);
    check("disallow: /x", "/", true);
    check("disallow: /", "", false);
    check("disallow: /", "/robots.txt", true);
    check("disallow: /", "/robots.txt?a", true);
    check("disallow: /", "/robots.txtx", false);
}

#[test]
fn wildcards_and_anchors() {
    for (pattern, path, expected) in [
        ("/fish*.php", "/fish.php", true),
        ("/fish*.php", "/fishheads/catfish.php?parameters", true),
        ("/fish*.php", "/Fish.PHP", false),
        ("/*.php$", "/folder/filename.php", true),
        ("/*.php$", "/filename.php?parameters", false),
        ("/*.php$", "/filename.php/", false),
        ("/*.php", "/windows.PHP", false),
        ("*", "/anything", true),
        ("*$", "/anything", true),
        ("**a**b", "/xaxb", true),
        ("/a*b*c$", "/abcbc", true),
        ("/a*b*c$", "/abcb", false),
        ("/a*a$", "/a", false),
        ("/a*a$", "/aa", true),
        ("/a$b", "/a$b", true),
        ("/a$b", "/a", false),
        ("/a$$", "/a$", true),
        ("/a$", "/a", true),
        ("/a$", "/ab", false),
        ("$", "/", false),
        ("/foo/*/qux", "/foo/bar/qux/x", true),
        ("/foo/*/qux", "/foo/qux", false),
    ] {
        let file = format!("user-agent: *\ndisallow: {pattern}");
        assert_eq!(!allowed(&file, path), expected, "{pattern} {path}");
    }
}

#[test]
fn both_sides_are_compared_in_one_form() {
    for (pattern, path, expected) in [
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84", true),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", true),
        ("/foo/bar/%E3%83%84", "/foo/bar/ツ", true),
        // RFC 9309 2.2.2, last row of its table.
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", true),
        ("/foo/bar/baz", "/foo/bar/%62%61%7a", true),
        ("/foo?q=https://a.b", "/foo?q=https://a.b", true),
        ("/foo?q=https://a.b", "/foo?q=https%3A%2F%2Fa.b", false),
        // RFC 9309 2.2.3.
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", true),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-x.html", false),
        ("/path/foo-%24", "/path/foo-$", true),
        ("/path/foo-%24", "/path/foo-", false),
        ("/a b", "/a%20b", true),
        ("/a%", "/a%", true),
        ("/a%zz", "/a%zz", true),
        ("/a%2", "/a%2f", true),
    ] {
        let file = format!("user-agent: *\ndisallow: {pattern}");
        assert_eq!(!allowed(&file, path), expected, "{pattern} {path}");
    }
}

#[test]
fn lines_are_parsed_leniently() {
    for file in [
        "\u{feff}user-agent: *\ndisallow: /x",
        "user-agent: *\r\ndisallow: /x\r\n",
        "user-agent: *\rdisallow: /x\r",
        "USER-AGENT :*\n  DISALLOW\t:\t/x  # comment",
        "user-agent: * # all\n#disallow: /y\ndisallow: /x#y",
        "user-agent *\ndisallow /x",
        "useragent: *\ndisalow: /x",
        "<html>\nuser-agent: *\n<p>\ndisallow: /x",
    ] {
        assert!(!allowed(file, "/x"), "{file:?}");
        assert!(allowed(file, "/y"), "{file:?}");
    }
    let cut_mark = [b"\xef\xbb".as_slice(), b"user-agent: *\ndisallow: /x"].concat();
    assert!(!RobotsTxt::parse(&cut_mark).allowed("a", "/x"));
    assert!(allowed("<!doctype html><title>disallow: /</title>", "/x"));
    assert!(allowed("", "/x"));
}

#[test]
fn a_missing_file_allows_all_and_an_unreachable_one_nothing() {
    assert!(RobotsTxt::default().allowed("a", "/x"));
    assert!(!RobotsTxt::disallow_all().allowed("a", "/x"));
    assert!(RobotsTxt::disallow_all().allowed("a", "/robots.txt"));
}

#[test]
fn the_file_and_its_lines_are_cut_at_their_limits() {
    let mut file = "user-agent: *\n".to_owned();
    file.push_str(&"#\n".repeat(MAX_ROBOTS_BYTES / 2));
    file.push_str("disallow: /");
    assert!(allowed(&file, "/x"));
    // Without this limit, the part after it would make the rule longer.
    let line = format!("user-agent: *\ndisallow: /{}x", " ".repeat(MAX_LINE_BYTES));
    assert!(!allowed(&line, "/a"));
}

#[test]
fn hostile_wildcards_are_read_to_the_end() {
    let rule = format!("disallow: /{}b$\n", "*a".repeat(800));
    let file = format!("user-agent: *\n{}", rule.repeat(300));
    assert!(allowed(&file, &format!("/{}", "a".repeat(8000))));
    let many = format!("user-agent: *\n{}", "disallow:*a*b\n".repeat(36_000));
    assert!(allowed(&many, &format!("/{}", "a".repeat(8000))));
}

/// Google's ID_VerifyValidUserAgentsToObey: a name is valid if a group contains all its characters.
#[test]
fn a_product_token_is_letters_hyphens_and_underscores() {
    for (agent, is_valid) in [
        ("Foobot", true),
        ("Foobot-Bar", true),
        ("Foo_Bar", true),
        ("", false),
        ("ツ", false),
        ("Foobot*", false),
        (" Foobot ", false),
        ("Foobot/2.1", false),
        ("Foobot Bar", false),
    ] {
        let token = product_token(agent.as_bytes());
        let stands = !token.is_empty() && token == agent.to_ascii_lowercase();
        assert_eq!(stands, is_valid, "{agent}");
    }
}

/// Google's ID_LinesNumbersAreCountedCorrectly and ID_UTF8ByteOrderMarkIsSkipped, counted by valid
/// lines.
#[test]
fn all_line_ends_work_and_a_byte_order_mark_is_skipped_only_at_the_start() {
    let lines = ["User-Agent: foo", "Allow: /some/path", "User-Agent: bar", "", "", "Disallow: /"];
    for end in ["\n", "\r\n", "\r"] {
        assert_eq!(records(lines.join(end).as_bytes()).count(), 4, "{end:?}");
        assert_eq!(records((lines.join(end) + end).as_bytes()).count(), 4, "{end:?}");
    }
    let mixed = "User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /";
    assert_eq!(records(mixed.as_bytes()).count(), 4);
    let file: &[u8] = b"User-Agent: foo\nAllow: /AnyValue\n";
    let marks: [(&[u8], usize); 4] =
        [(b"\xef\xbb\xbf", 2), (b"\xef\xbb", 2), (b"\xef", 2), (b"\xef\x11\xbf", 1)];
    for (mark, count) in marks {
        assert_eq!(records(&[mark, file].concat()).count(), count, "{mark:?}");
    }
    let middle = b"User-Agent: foo\n\xef\xbb\xbfAllow: /AnyValue\n";
    assert_eq!(records(middle).count(), 1);
}

/// Google's TestMaybeEscapePattern.
#[test]
fn a_rule_is_encoded_as_by_google_and_decoded_as_in_the_rfc() {
    for (rule, written) in [
        ("http://www.example.com", "http://www.example.com"),
        ("/a/b/c", "/a/b/c"),
        ("á", "%C3%A1"),
        ("%aa", "%AA"),
    ] {
        assert_eq!(normal_form(rule.as_bytes(), Side::Rule, Form::AsWritten), written);
        assert_eq!(normal_form(rule.as_bytes(), Side::Rule, Form::Normal), written);
    }
}

#[test]
fn if_google_and_the_rfc_differ_the_stricter_interpretation_counts() {
    let rule = |line: &str, path| allowed(&format!("user-agent: *\n{line}"), path);
    // A disallow rule covers both forms, encoded or not.
    assert!(!rule("disallow: /%62%61%7A", "/baz"));
    assert!(!rule("disallow: /baz", "/%62%61%7A"));
    assert!(!rule("disallow: /\nallow: /%62%61%7A", "/baz"));
    assert!(rule("disallow: /\nallow: /%62%61%7a", "/%62%61%7A"));
    assert!(!rule("disallow: /\nallow: /baz", "/%62%61%7A"));
    // Rules are compared by their length in normal form, so encoding gives no advantage.
    assert!(!rule("disallow: /abc\nallow: /%61", "/abc"));
}

fn delay_ms(file: &str, token: &str) -> Option<u128> {
    match RobotsTxt::parse(file.as_bytes()).crawl_delay(token)? {
        CrawlDelay::Wait(delay) => Some(delay.as_millis()),
        CrawlDelay::TooLong => Some(u128::MAX),
    }
}

#[test]
fn the_applying_group_gives_the_crawl_delay() {
    for (file, expected) in [
        ("", None),
        ("Crawl-delay: 5", None),
        ("user-agent: *\ncrawl-delay: 5", Some(5_000)),
        ("user-agent: *\nCRAWL-DELAY 2.5 # slowly", Some(2_500)),
        ("user-agent: *\ncrawl-delay: 5\nuser-agent: everytabbot\ncrawl-delay: 2", Some(2_000)),
        ("user-agent: *\ncrawl-delay: 5\nuser-agent: everytabbot\ndisallow: /x", None),
        ("user-agent: EveryTabBot\nuser-agent: other\ncrawl-delay: 3", Some(3_000)),
        // A delay applies to the agents before it, even if a later agent shares the rules.
        ("user-agent: *\ncrawl-delay: 9\n\nuser-agent: everytabbot\ndisallow: /", None),
        ("user-agent: everytabbot\ncrawl-delay: 9\n\nuser-agent: bad\ndisallow: /", Some(9_000)),
        ("user-agent: other\ncrawl-delay: 9", None),
        ("user-agent: *\ncrawl-delay: 9\ncrawl-delay: 3", Some(9_000)),
        ("user-agent: *\ncrawl-delay: 3\ndisallow: /x\nuser-agent: *\ncrawl-delay: 4", Some(4_000)),
        ("user-agent: *\ncrawl-delay: 3\ncrawl-delay: 1e9", Some(u128::MAX)),
        ("user-agent: *\ncrawl-delay: -1\ncrawl-delay: NaN\ncrawl-delay:", None),
    ] {
        assert_eq!(delay_ms(file, "EveryTabBot"), expected, "{file:?}");
    }
    assert_eq!(RobotsTxt::disallow_all().crawl_delay("a"), None);
}

#[test]
fn sitemaps_are_absolute_urls_in_any_group() {
    let file = "Sitemap: https://a.example/1.xml\nuser-agent: other\nsitemap:HTTP://A.example/2#x\n\
                disallow: /\nSITE-MAP : https://u:p@b.example/3.xml # one more\n\
                Sitemap: https://a.example/1.xml\nSitemap: /4.xml\nSitemap: ftp://a.example/5\n\
                Sitemap:\nSitemap: http://\nsitemaps: https://a.example/6";
    let robots = RobotsTxt::parse(file.as_bytes());
    let expected = ["https://a.example/1.xml", "http://a.example/2", "https://b.example/3.xml"];
    assert_eq!(
        (robots.sitemaps(), robots.sitemaps_left_out()),
        (expected.map(str::to_owned).as_slice(), 4)
    );
    assert!(robots.allowed("EveryTabBot", "/"));
    assert!(!robots.allowed("other", "/"), "a sitemap does not end a group");
    let long = format!("sitemap: https://a.example/{}", "x".repeat(3_000));
    assert_eq!(RobotsTxt::parse(long.as_bytes()).sitemaps_left_out(), 1);
    let many: String = (0..1_500).map(|n| format!("sitemap: http://a.example/{n}\n")).collect();
    let many = RobotsTxt::parse(many.as_bytes());
    assert_eq!((many.sitemaps().len(), many.sitemaps_left_out()), (MAX_SITEMAPS, 500));
    assert!(RobotsTxt::disallow_all().sitemaps().is_empty());
}

#[test]
fn the_deciding_group_and_rule_are_reported() {
    let file = "user-agent: *\ndisallow: /a\nallow: /a/b*\nuser-agent: named\ndisallow: /";
    let robots = RobotsTxt::parse(file.as_bytes());
    let rule = |token: &str, path: &str| {
        robots.deciding_rule(token, path).map(|rule| (rule.allow, rule.pattern.to_owned()))
    };
    assert_eq!(robots.group("EveryTabBot"), RobotsGroup::Everyone);
    assert_eq!(robots.group("NAMED"), RobotsGroup::Named);
    assert_eq!(RobotsTxt::default().group("x"), RobotsGroup::None);
    assert_eq!(rule("x", "/a/c"), Some((false, "/a".to_owned())));
    assert_eq!(rule("x", "/a/bc"), Some((true, "/a/b*".to_owned())));
    assert_eq!(rule("x", "/c"), None);
    assert_eq!(rule("named", ""), Some((false, "/".to_owned())));
}

proptest! {
    #[test]
    fn all_of_several_robots_are_allowed_if_each_is(
        lines in proptest::collection::vec(
            prop_oneof![
                "user-agent: [abc*]",
                "(dis)?allow: /[ab*]{0,4}[$]?",
            ],
            0..12,
        ),
        robots in proptest::collection::vec("[abcd]", 0..4),
        path in "/[ab]{0,4}",
    ) {
        let file = RobotsTxt::parse(lines.join("\n").as_bytes());
        let robots: Vec<&str> = robots.iter().map(String::as_str).collect();
        let each = robots.iter().all(|robot| file.allowed(robot, &path));
        prop_assert_eq!(file.allowed_for_all(&robots, &path), each);
        let nothing = RobotsTxt::disallow_all();
        prop_assert!(!nothing.allowed_for_all(&robots, &path));
    }
}
