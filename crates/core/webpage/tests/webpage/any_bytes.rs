//! Any bytes yield a result within the limits.

use everytab_webpage::{
    CrawlDelay, PortList, RobotsTxt, TextRequest, Verdict,
    candidates::{MAX_DECLARED, candidates},
    data_url, is_public, plain_text, read_sitemap,
    robots::MAX_CRAWL_DELAY,
    sizes, tab_title,
    title::MAX_TAB_TITLE_CHARACTERS,
    understand, understand_with_text,
    url_rules::MAX_URL_BYTES,
    vet_url,
};
use proptest::{collection::vec, prelude::*};

/// Pieces of pages, because random bytes alone never form a tag.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "<title>",
        "</title>",
        "<link rel=icon href=",
        "<link rel='apple-touch-icon' href='",
        "'>",
        ">",
        "<base href=",
        "data:,",
        "data:;base64,AA==",
        "//a.example/",
        "/b",
        "<!--",
        "-->",
        "<svg>",
        "</svg>",
        "<math>",
        "<template>",
        "</template>",
        "<script>",
        "</script>",
        "<noscript>",
        "<meta charset=",
        "utf-8",
        "gbk",
        "iso-2022-jp",
        "utf-16",
        "\u{1b}$B",
        "<meta http-equiv=content-type content='charset=",
        "&amp;",
        "&#0;",
        "&#x110000;",
        "\0",
        "\u{feff}",
        "é",
        "<p>",
        "<select>",
        "<frameset>",
        "\"",
        "<",
        "&",
        " ",
        "<?xml encoding='",
        "<pre>",
        "</pre>",
        "<div hidden>",
        "</div>",
        "<td style='display:none'>",
        "\t",
        "\u{85}",
        "\u{ad}",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn sitemap_soup() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "<?xml version='1.0' encoding='utf-16'?>",
        "<!DOCTYPE urlset [<!ENTITY a 'https://a.example/'>",
        "]>",
        "<urlset>",
        "</urlset>",
        "<sitemapindex>",
        "<sitemap>",
        "</sitemap>",
        "<url>",
        "</url>",
        "<loc>",
        "</loc>",
        "<x:loc/>",
        "<xhtml:link rel='alternate' href='https://a.example/&amp;'/>",
        "<rss><channel><item><link>",
        "<feed><entry><link href=\"http://b.example/\"",
        "/>",
        "https://a.example/1",
        "http://b.example/?x=1&y=2",
        "mailto:a@b",
        "/c",
        "&a;",
        "&#60;",
        "&#xffffffff;",
        "&",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<",
        ">",
        "'",
        "\n",
        "\u{feff}",
        "\u{1f}\u{8b}",
        "é",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn header() -> impl Strategy<Value = (String, Vec<u8>)> {
    let names =
        ["content-type", "content-security-policy", "x-frame-options", "content-disposition"];
    let words = [
        "text/html",
        "charset=",
        "utf-8",
        ";",
        ",",
        "\"",
        "'none'",
        "'self'",
        "frame-ancestors ",
        "https:",
        "*",
        "*.a.example",
        "deny",
        "SAMEORIGIN",
        " ",
        "\\",
        ":",
        "//",
        "é",
    ];
    let value =
        vec(proptest::sample::select(words.to_vec()), 0..12).prop_map(|w| w.concat().into_bytes());
    (proptest::sample::select(names.to_vec()), value)
        .prop_map(|(name, value)| (name.to_owned(), value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_pages_stay_within_their_limits(
        url in "(https?://[a-z.]{0,9}/?)|.{0,9}",
        headers in vec(header(), 0..4),
        body in prop_oneof![soup(), vec(any::<u8>(), 0..300)],
    ) {
        let page = understand(&url, &headers, &body);
        prop_assert_eq!(&page, &understand(&url, &headers, &body));
        prop_assert!(!page.title.text.contains('\0'));
        let found = candidates(&page);
        prop_assert!(found.list.len() <= 1 + MAX_DECLARED);
        for candidate in &found.list {
            prop_assert!(candidate.url.len() <= 16 << 10);
            prop_assert!(["http:", "https:", "data:"].iter().any(|s| candidate.url.starts_with(s)));
        }
        let mut urls: Vec<_> = found.list.iter().map(|candidate| &candidate.url).collect();
        urls.sort_unstable();
        urls.dedup();
        prop_assert_eq!(urls.len(), found.list.len());
        let answers = [None, page.url.as_ref()].map(|viewer| page.framing.frameable(viewer));
        prop_assert!(page.framing.verdict != Verdict::Allowed || answers[0]);
        prop_assert!(page.framing.verdict != Verdict::Blocked || !answers[0]);
    }

    #[test]
    fn text_from_arbitrary_bytes_is_bounded_and_changes_nothing_else(
        body in prop_oneof![soup(), vec(any::<u8>(), 0..300)],
        max_bytes in 0_usize..80,
    ) {
        let request = TextRequest { max_bytes };
        let (page, text) = understand_with_text("https://a.example/", &[], &body, &request);
        prop_assert_eq!(page, understand("https://a.example/", &[], &body));
        for text in [text, plain_text(&[], &body, &request)] {
            prop_assert!(text.text.len() <= max_bytes);
            prop_assert!(text.text.chars().all(|c| c == '\n' || !c.is_control()));
            prop_assert_eq!(text.text.trim(), text.text.as_str());
        }
    }

    #[test]
    fn tab_titles_from_arbitrary_text_are_bounded_and_idempotent(title in ".{0,700}") {
        let once = tab_title(&title);
        prop_assert!(once.chars().count() <= MAX_TAB_TITLE_CHARACTERS);
        prop_assert!(!once.chars().any(char::is_control));
        prop_assert_eq!(tab_title(&once), once.clone());
    }

    #[test]
    fn arbitrary_robots_txt_never_panics(
        file in prop_oneof![
            vec(any::<u8>(), 0..300),
            "(user-agent: ?[a*]{1,2}\n|(dis)?allow: ?[/ab*$%2A]{0,8}[\r\n#]|\
             crawl-delay: ?[-+0-9.,eENnai]{0,9}\n|sitemap: ?(https?:)?[/a.#:@]{0,9}\n){0,20}"
                .prop_map(String::into_bytes),
        ],
        path in "/[ab*$%2A]{0,8}",
    ) {
        let robots = RobotsTxt::parse(&file);
        prop_assert_eq!(robots.crawl_delay("a"), robots.crawl_delay("A"));
        if let Some(CrawlDelay::Wait(delay)) = robots.crawl_delay("a") {
            prop_assert!(delay <= MAX_CRAWL_DELAY);
        }
        for sitemap in robots.sitemaps() {
            let url = url::Url::parse(sitemap).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert!(matches!(url.scheme(), "http" | "https") && url.fragment().is_none());
        }
        let rule = robots.deciding_rule("a", &path);
        prop_assert_eq!(robots.allowed("a", &path), rule.is_none_or(|rule| rule.allow));
        prop_assert_eq!(robots.allowed("a", &path), robots.allowed("A", &path));
        prop_assert!(robots.allowed("a", "/robots.txt"));
    }

    #[test]
    fn arbitrary_sitemaps_list_only_urls(file in sitemap_soup()) {
        let found = read_sitemap(&file);
        prop_assert_eq!(&found, &read_sitemap(&file));
        for text in [&found.pages, &found.alternates, &found.sitemaps].into_iter().flatten() {
            let url = url::Url::parse(text).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(url.as_str(), text.as_str());
            prop_assert!(matches!(url.scheme(), "http" | "https") && url.fragment().is_none());
            prop_assert!(text.len() <= MAX_URL_BYTES && url.username().is_empty());
        }
        prop_assert!(found.alternates.iter().all(|url| !found.pages.contains(url)));
    }

    #[test]
    fn a_robots_pattern_matches_as_in_the_naive_definition(
        pattern in "/[ab*]{0,7}[$]?",
        path in "/[ab]{0,8}",
    ) {
        let file = format!("user-agent: *\ndisallow: {pattern}");
        let blocked = !RobotsTxt::parse(file.as_bytes()).allowed("x", &path);
        let expected = naive(pattern.as_bytes(), path.as_bytes());
        prop_assert_eq!(blocked, expected, "{} {}", pattern, path);
    }

    #[test]
    fn arbitrary_requested_urls_never_panic(text in ".{0,60}", bytes in any::<[u8; 16]>()) {
        if let Ok(url) = vet_url(&text, &PortList::default()) {
            prop_assert_eq!(vet_url(url.as_str(), &PortList::default()), Ok(url.clone()));
        }
        data_url::decode(&format!("data:{text}"), 40).map_or(Ok(()), |found| {
            prop_assert!(found.bytes.len() <= 40);
            Ok(())
        })?;
        prop_assert!(sizes::parse(&text).pixels.iter().all(|size| size.0 > 0 && size.1 > 0));
        let address = std::net::Ipv6Addr::from(bytes);
        prop_assert!(!is_public(address.into()) || bytes[0] >> 5 == 1 || bytes[0] == 0);
    }
}

fn naive(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|at| naive(rest, &path[at..])),
        [byte, rest @ ..] => path.first() == Some(byte) && naive(rest, &path[1..]),
    }
}
