//! Tests the links in real and hostile markup.

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{Page, understand, understand_with_links};

const URL: &str = "https://site.example/dir/page.html?q=1";

fn read_at(url: &str, html: &[u8], with_requisites: bool) -> (Page, PageLinks) {
    let request = LinkRequest { robot: "EveryTabBot", with_requisites };
    understand_with_links(url, &[], html, &request)
}

fn read(html: &str) -> PageLinks {
    read_at(URL, html.as_bytes(), true).1
}

/// Lists each link's origin, URL without the site's origin, and `!` for nofollow.
fn list(found: &PageLinks) -> String {
    let line = |link: &PageLink| {
        let url = link.url.as_str();
        let url = url.strip_prefix("https://site.example").unwrap_or(url);
        let mark = if link.is_nofollow { "!" } else { "" };
        format!("{}={url}{mark}", link.origin.as_str())
    };
    found.links.iter().map(line).collect::<Vec<_>>().join(" ")
}

#[test]
fn each_element_links_as_in_a_browser() {
    for (html, expected) in [
        ("<a href=/x>x</a>", "a=/x"),
        ("<A HREF='x'>", "a=/dir/x"),
        ("<a href=\"?page=2&amp;sort=a\">", "a=/dir/page.html?page=2&sort=a"),
        ("<a href='?a=1&copy=2'>", "a=/dir/page.html?a=1&copy=2"),
        ("<a href='//cdn.example/x'>", "a=https://cdn.example/x"),
        ("<a href='HTTP://Other.Example:80/%7Ex#part'>", "a=http://other.example/%7Ex"),
        ("<a href='https://user:secret@other.example/'>", "a=https://other.example/"),
        ("<a href=' \n/x\t\n/y '>", "a=/x/y"),
        ("<a href='/a b'>", "a=/a%20b"),
        ("<a href='/é'>", "a=/%C3%A9"),
        ("<a href='\\x'>", "a=/x"),
        ("<a href='../../../x'>", "a=/x"),
        ("<a href=#top>", "a=/dir/page.html?q=1"),
        ("<a href=/x href=/y>", "a=/x"),
        ("<a name=top>", ""),
        ("<a href=/x><a href=/y>", "a=/x a=/y"),
        ("<a href=/x", ""),
        ("<abbr href=/x><article href=/x>", ""),
        ("<a href=/x rel=nofollow>", "a=/x!"),
        ("<a rel='noopener NoFollow ugc' href=/x>", "a=/x!"),
        ("<a rel='nofollowed' href=/x>", "a=/x"),
        ("<a rel='no&#102;ollow' href=/x>", "a=/x!"),
        ("<area href=/x rel=nofollow><area href=/y>", "area=/x! area=/y"),
        ("<iframe src=/x><a href=/no></iframe><a href=/y>", "iframe=/x a=/y"),
        ("<frameset><frame src=/x><frame src=/y></frameset>", "frame=/x frame=/y"),
        ("<iframe srcdoc='<a href=/x>'></iframe>", ""),
        ("<img src=/x.png>", "img=/x.png"),
        (
            "<img srcset='/a.png 1x, /b,c.png 2x' src=/a.png>",
            "img=/a.png srcset=/a.png srcset=/b,c.png",
        ),
        (
            "<picture><source srcset=/a.webp type=image/webp><img src=/a.png></picture>",
            "srcset=/a.webp img=/a.png",
        ),
        ("<video><source src=/a.mp4></video>", "source=/a.mp4"),
        ("<image src=/x>", ""),
        ("<link rel=stylesheet href=/x.css>", "stylesheet=/x.css"),
        ("<link rel='alternate stylesheet' href=/x.css>", "stylesheet=/x.css"),
        ("<link rel='shortcut icon' href=/x.ico>", "icon=/x.ico"),
        ("<link rel=apple-touch-icon href=/x.png>", "icon=/x.png"),
        ("<link rel=canonical href=/x><link rel=NEXT href=/y>", "link=/x link=/y"),
        ("<link rel=alternate hreflang=de href=/de/>", "link=/de/"),
        ("<link rel=alternate type='text/html; charset=utf-8' href=/m>", "link=/m"),
        ("<link rel=alternate type=application/rss+xml href=/feed>", ""),
        ("<link rel=alternate type=application/json+oembed href=/oembed>", ""),
        ("<link rel='next nofollow' href=/x>", "link=/x!"),
        ("<link rel=preconnect href=//a.example><link rel=mask-icon href=/x><link href=/y>", ""),
        ("<meta http-equiv=refresh content='0; url=/x'>", "refresh=/x"),
        ("<META HTTP-EQUIV=Refresh CONTENT=\"5;URL='x?a&amp;b'\">", "refresh=/dir/x?a&b"),
        ("<meta http-equiv=refresh content=30>", ""),
        ("<meta name=refresh content='0;url=/x'>", ""),
    ] {
        assert_eq!(list(&read(html)), expected, "{html}");
    }
}

#[test]
fn markup_that_is_no_element_without_scripts_has_no_links() {
    for (html, expected) in [
        ("<!-- <a href=/x> --><a href=/y>", "a=/y"),
        ("<!--[if IE]><a href=/x><![endif]-->", ""),
        ("<script>'<a href=/x>'</script><style><a href=/x></style>", ""),
        ("<textarea><a href=/x></textarea><title><a href=/x></title>", ""),
        ("<template><a href=/x><img src=/x></template><a href=/y>", "a=/y"),
        ("<svg><a href=/x><image href=/x></svg><a href=/y>", "a=/y"),
        ("<svg><desc><a href=/x></desc></svg>", "a=/x"),
        ("<svg><style><a href=/x></style></svg>", ""),
        ("<p title='<a href=/x>'>", ""),
        ("<plaintext><a href=/x>", ""),
        // Without scripts, a `noscript` element's content is markup.
        ("<noscript><img src=/x.png><a href=/x></noscript><a href=/y>", "img=/x.png a=/x a=/y"),
        ("<noscript><!-- </noscript><a href=/x>", "a=/x"),
        ("<noscript><noscript><a href=/x></noscript>", "a=/x"),
        ("<noscript><script><a href=/no></script><iframe src=/x></noscript>", "iframe=/x"),
        ("<noscript><meta http-equiv=refresh content='0;url=/x'></noscript>", "refresh=/x"),
        ("<template><noscript><a href=/x></noscript></template>", ""),
    ] {
        assert_eq!(list(&read(html)), expected, "{html}");
    }
}

#[test]
fn links_use_the_same_base_as_icons() {
    for (base, expected) in [
        ("<base href=/b/>", "a=/b/x"),
        ("<base href=https://b.example/c/d>", "a=https://b.example/c/x"),
        ("<base target=_blank><base href=/b/><base href=/c/>", "a=/b/x"),
        ("<base href=data:,><base href=/b/>", "a=/dir/x"),
        ("<base href='javascript:1'>", "a=/dir/x"),
        ("<base href='http://'>", "a=/dir/x"),
        ("<base href=''>", "a=/dir/x"),
        ("<template><base href=/b/></template>", "a=/dir/x"),
    ] {
        let before = format!("<a href=x>{base}");
        assert_eq!(list(&read(&format!("{base}<a href=x>"))), expected, "{base}");
        assert_eq!(list(&read(&before)), expected, "a base counts for links before it: {base}");
        let (page, found) = read_at(URL, before.as_bytes(), true);
        assert_eq!(
            page.base.and_then(|base| base.join("x").ok()),
            Some(found.links[0].url.clone())
        );
    }
    // With a base in another scheme, relative links get this scheme and are skipped.
    let found = read("<base href=ftp://a.example/><a href=x><a href=/y>");
    assert_eq!((list(&found).as_str(), found.left_out.other_scheme), ("", 2));
}

#[test]
fn a_url_is_decoded_and_encoded_in_the_encoding_of_its_page() {
    let links = |html: &[u8]| list(&read_at(URL, html, false).1);
    assert_eq!(links("<meta charset=utf-8><a href='/é?é'>".as_bytes()), "a=/%C3%A9?%C3%A9");
    assert_eq!(links(b"<meta charset=windows-1252><a href='/\xe9?\xe9'>"), "a=/%C3%A9?%E9");
    assert_eq!(links(b"<meta charset=shift_jis><a href='/\x83c?\x83c'>"), "a=/%E3%83%84?%83c");
    let wide: Vec<u8> = "\u{feff}<a href=/é><a href=/x rel=nofollow>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(links(&wide), "a=/%C3%A9 a=/x!");
    // The meta element is found late, so the page is read a second time.
    let late = format!("{}<meta charset=iso-2022-jp><a href=/x>", "<a href=/y>".repeat(200));
    assert_eq!(read_at(URL, late.as_bytes(), false).1.links.len(), 201);
}

#[test]
fn invalid_links_are_counted_by_reason() {
    let long = |bytes: usize| format!("<a href='/{}'>", "x".repeat(bytes));
    let data = format!("<img src='data:image/png;base64,{}'>", "A".repeat(100_000));
    let cases = [
        ("<a href='javascript:void(0)'><a href=' JAVASCRIPT:x'>", [0, 0, 2, 0, 0]),
        ("<a href=mailto:a@b.example><a href=tel:+1><a href=ftp://a.example/>", [0, 0, 3, 0, 0]),
        ("<a href='data:text/html,<a>'><a href=about:blank><a href=sms:1>", [0, 0, 3, 0, 0]),
        ("<a href='http://'><a href='http://a b/'><a href='//[::1'>", [0, 0, 0, 3, 0]),
        ("<a href><a href=''><a href=' \n'><img src=''><img srcset=','>", [0, 0, 0, 0, 4]),
        (&long(3_000), [0, 1, 0, 0, 0]),
        (&long(9_000), [0, 1, 0, 0, 0]),
        (&data, [0, 0, 1, 0, 0]),
        (&format!("<img srcset='{}'>", "/x 1x, ".repeat(20_000)), [0, 1, 0, 0, 0]),
        (&format!("<a href='{}'>", "é".repeat(400)), [0, 1, 0, 0, 0]),
    ];
    for (html, expected) in cases {
        let found = read(html);
        let LinksLeftOut { over_limit, too_long, other_scheme, unparsable, empty } = found.left_out;
        let counts = [over_limit, too_long, other_scheme, unparsable, empty];
        assert_eq!((counts, list(&found).as_str()), (expected, ""), "{:.99}", html);
        assert_eq!(found.left_out.sum(), expected.iter().sum::<usize>());
    }
    let longest = "x".repeat(MAX_URL_BYTES - "https://site.example/".len());
    assert_eq!(read(&format!("<a href=/{longest}>")).links.len(), 1);
    assert_eq!(read(&format!("<a href=/{longest}#part>")).links.len(), 1, "fragments are cut");
    assert_eq!(read(&format!("<a href=/{longest}x>")).left_out.too_long, 1);
    let (_, found) =
        read_at("", b"<a href=/x><a href=//a.example><a href=http://a.example>", false);
    assert_eq!((found.links.len(), found.left_out.unparsable), (1, 2));
}

#[test]
fn a_page_has_at_most_5000_links_and_the_others_are_counted() {
    let found = read(&"<a href=/x>".repeat(1_000_000));
    assert_eq!((found.links.len(), found.left_out.over_limit), (5_000, 995_000));
    let found = read(&format!("{}<a href=/x>", "<a href='javascript:1'>".repeat(6_000)));
    assert_eq!((found.links.len(), found.left_out.other_scheme), (1, 6_000));
    let many = format!("<img srcset='{}'>", "/x 1x,".repeat(6_000));
    let found = read(&many);
    assert_eq!((found.links.len(), found.left_out.over_limit), (5_000, 1_000));
    let found = read(&format!("{many}{many}"));
    assert_eq!((found.links.len(), found.left_out.over_limit), (5_000, 1_001));
}

#[test]
fn requisites_are_reported_only_if_requested() {
    let html = "<link rel=stylesheet href=/a><link rel=icon href=/b><img src=/c srcset=/d>\
                <source src=/e><link rel=next href=/f><a href=/g>";
    assert_eq!(read(html).links.len(), 7);
    let (_, pages) = read_at(URL, html.as_bytes(), false);
    assert_eq!(list(&pages), "link=/f a=/g");
    for link in read(html).links {
        let is_page = matches!(link.origin, LinkOrigin::A | LinkOrigin::Link);
        assert_eq!(link.origin.kind() == LinkKind::Page, is_page);
        assert!(!is_page || !link.origin.is_image());
        let json = serde_json::to_value(link.origin).unwrap();
        assert_eq!(json, link.origin.as_str());
    }
}

#[test]
fn robots_directives_are_found_in_all_forms() {
    let said = |html: &str| {
        let RobotsDirectives { is_noindex, is_nofollow, is_noarchive } = read(html).robots;
        [is_noindex, is_nofollow, is_noarchive]
    };
    for (html, expected) in [
        ("<p>", [false; 3]),
        ("<meta name=robots content='index, follow'>", [false; 3]),
        ("<META NAME=ROBOTS CONTENT='NOINDEX, NOFOLLOW'>", [true, true, false]),
        ("<meta content=none name=' robots '>", [true, true, false]),
        (
            "<meta name=robots content=noindex><meta name=everytabbot content=noarchive>",
            [true, false, true],
        ),
        ("<meta name=otherbot content=none>", [false; 3]),
        ("<body><p><meta name=robots content=nofollow>", [false, true, false]),
        ("<noscript><meta name=robots content=nofollow></noscript>", [false, true, false]),
        ("<!-- <meta name=robots content=none> -->", [false; 3]),
        ("<template><meta name=robots content=none></template>", [false; 3]),
        ("<meta name=robots content='noindex&#44;nofollow'>", [true, true, false]),
        ("<meta property=robots content=none>", [false; 3]),
    ] {
        assert_eq!(said(html), expected, "{html}");
    }
    let headers = [("X-Robots-Tag".to_owned(), b"noarchive".to_vec())];
    let request = LinkRequest { robot: "EveryTabBot", with_requisites: false };
    let html = b"<meta name=robots content=nofollow>";
    let robots = understand_with_links(URL, &headers, html, &request).1.robots;
    assert_eq!([robots.is_nofollow, robots.is_noarchive], [true, true]);
}

/// Complete elements. A page made from these pieces has exactly their links.
const PIECES: [&str; 24] = [
    "<a href=/x>x</a>",
    "<a href='y?a=1&amp;b=2' rel=nofollow>",
    "<area href=z>",
    "<img src=a.png srcset='b.png 1x, c.png 2x'>",
    "<picture><source srcset=d.webp></picture>",
    "<link rel=stylesheet href=e.css>",
    "<link rel=next href=f>",
    "<iframe src=g>text</iframe>",
    "<meta http-equiv=refresh content='0;url=h'>",
    "<meta name=robots content=nofollow>",
    "<noscript><a href=i><img src=j></noscript>",
    "<a href='javascript:x'>",
    "<a href='http://'>",
    "<a href=''>",
    "<!-- <a href=/no> -->",
    "<script>'<a href=/no>'</script>",
    "<style>a{}</style>",
    "<template><a href=/no></template>",
    "<svg><a href=/no></a></svg>",
    "<textarea><a href=/no></textarea>",
    "text",
    " \n",
    "<p class=x>",
    "</div>",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_pages_links_are_those_in_its_parts(
        pieces in vec(proptest::sample::select(PIECES.to_vec()), 0..30),
        between in proptest::sample::select(vec!["", " ", "<!-- -->", "<br>", "text"]),
    ) {
        let whole = read(&pieces.join(between));
        let parts: Vec<PageLinks> = pieces.iter().map(|piece| read(piece)).collect();
        let links: Vec<PageLink> = parts.iter().flat_map(|part| part.links.clone()).collect();
        prop_assert_eq!(&whole.links, &links);
        let left_out: usize = parts.iter().map(|part| part.left_out.sum()).sum();
        prop_assert_eq!(whole.left_out.sum(), left_out);
        let robots = parts.iter().map(|part| part.robots);
        let robots = robots.fold(RobotsDirectives::default(), RobotsDirectives::with);
        prop_assert_eq!(whole.robots, robots);
    }

    #[test]
    fn requesting_links_changes_nothing_else(
        pieces in vec(proptest::sample::select(PIECES.to_vec()), 0..20),
        noise in vec(any::<u8>(), 0..40),
        with_requisites: bool,
    ) {
        let html = [pieces.concat().as_bytes(), &noise, pieces.concat().as_bytes()].concat();
        let (page, found) = read_at(URL, &html, with_requisites);
        prop_assert_eq!(page, understand(URL, &[], &html));
        for link in &found.links {
            prop_assert!(matches!(link.url.scheme(), "http" | "https"));
            prop_assert!(link.url.as_str().len() <= MAX_URL_BYTES);
            prop_assert!(link.url.fragment().is_none() && link.url.host().is_some());
            prop_assert!(with_requisites || link.origin.kind() == LinkKind::Page);
        }
    }
}

#[test]
fn pictures_are_named_whether_requisites_are_wanted_or_not() {
    let html = "<img src='/a/b/cat-1.jpg?w=9'><IMG SRC=cat-2.jpg><img src=x.gif data-src=/lazy.png>\
                <img src='data:image/gif;base64,R0lG'><img src=/a/><img><img src='//c.example/d'>";
    let (_, found) = read_at(URL, html.as_bytes(), false);
    assert_eq!(found.pictures, ["cat-1.jpg", "cat-2.jpg", "lazy.png", "d"]);
    assert_eq!(found.links, []);
    let (_, many) = read_at(URL, "<img src=a>".repeat(100).as_bytes(), false);
    assert_eq!(many.pictures.len(), 64);
}
