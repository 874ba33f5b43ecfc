//! Misleading pages, written by hand: their titles, icon links and limits.

use everytab_webpage::{
    CandidateSource, CharsetSource, IconClass, Page, TitleState, Verdict,
    candidates::{MAX_DECLARED, candidates},
    understand,
};

const URL: &str = "https://site.example/folder/page";

fn page(html: &str) -> Page {
    let headers = [("content-type".to_owned(), b"text/html; charset=utf-8".to_vec())];
    understand(URL, &headers, html.as_bytes())
}

fn title(html: &str) -> Option<String> {
    let found = page(html).title;
    (found.state != TitleState::Absent).then_some(found.text)
}

fn hrefs(html: &str) -> Vec<String> {
    page(html).icons.into_iter().map(|icon| icon.href).collect()
}

#[test]
fn the_title_is_the_first_html_title_of_the_tree() {
    for (html, expected) in [
        ("", None),
        ("no markup", None),
        ("<title>a</title>", Some("a")),
        ("<TITLE\n lang=x>a</tItLe\n x>", Some("a")),
        ("<title/>a</title>", Some("a")),
        ("<title>a</title><title>b</title>", Some("a")),
        ("<title></title><title>b</title>", Some("")),
        ("<title> \n </title><title>b</title>", Some("")),
        ("<body><p><title>a</title>", Some("a")),
        ("<title>a<b>c</b></title>", Some("a<b>c</b>")),
        ("<title>a<!-- b --></title>", Some("a<!-- b -->")),
        ("<title>a</titles>b</title>", Some("a</titles>b")),
        ("<title>a<script></script>", Some("a<script></script>")),
        ("<titlex>a</titlex>", None),
        ("<!-- <title>a</title> --><title>b</title>", Some("b")),
        ("<!--><title>a</title>-->", Some("a")),
        ("<!-- --!><title>a</title>", Some("a")),
        ("<!-- <title>a</title>", None),
        ("<![CDATA[<title>a</title>]]>", None),
        ("<script>'<title>a</title>'</script><title>b</title>", Some("b")),
        ("<script><!--<script></script><title>a</title></script>--><title>b</title>", Some("b")),
        ("<script><!--><script></script><title>a</title>", Some("a")),
        ("<script><!-- <script> --><title>a</title></script><title>b</title>", Some("b")),
        ("<a ==\"><title>a</title>\"><title>b</title>", Some("b")),
        ("<a =\"><title>a</title>", Some("a")),
        ("<frameset><title>a</title></frameset>", None),
        ("<iframe b=><title>a</title></iframe><title>c</title>", Some("c")),
        ("<title b = >a</title>", Some("a")),
        ("<style><title>a</title></style><title>b</title>", Some("b")),
        ("<textarea><title>a</title></textarea><title>b</title>", Some("b")),
        ("<noscript><title>a</title></noscript><title>b</title>", Some("b")),
        ("<iframe><title>a</title></iframe><title>b</title>", Some("b")),
        ("<noembed><title>a</title></noembed><title>b</title>", Some("b")),
        ("<noframes><title>a</title></noframes><title>b</title>", Some("b")),
        ("<xmp><title>a</title></xmp><title>b</title>", Some("b")),
        ("<plaintext><title>a</title>", None),
        ("<template><title>a</title></template><title>b</title>", Some("b")),
        ("<template><template></template><title>a</title></template>", None),
        ("<svg><title>a</title></svg><title>b</title>", Some("b")),
        ("<svg><title></title></svg><title>b</title>", Some("b")),
        ("<svg><title/></svg><title>b</title>", Some("b")),
        ("<svg><g><title>a</title></g></svg>", None),
        ("<svg><foreignObject><title>a</title></foreignObject></svg>", Some("a")),
        ("<svg><desc><title>a</title></desc></svg>", Some("a")),
        ("<svg><title><title>a</title></title></svg>", Some("a")),
        ("<svg><p><title>a</title>", Some("a")),
        ("<svg><![CDATA[<title>a</title>]]></svg><title>b</title>", Some("b")),
        ("<math><title>a</title></math><title>b</title>", Some("b")),
        ("<math><mtext><title>a</title></mtext></math>", Some("a")),
        ("<a title='<title>a</title>'><title>b</title>", Some("b")),
        ("<a b=it's><title>c</title>", Some("c")),
        ("<a b = 'c'd ><title>e</title>", Some("e")),
        ("<a\0><title>b\0c</title>", Some("b\u{fffd}c")),
        ("<title>a", Some("a")),
        ("<title", None),
        ("<title>", Some("")),
        ("<title>a</title", Some("a</title")),
        ("\u{feff}<title>a</title>", Some("a")),
    ] {
        assert_eq!(title(html).as_deref(), expected, "{html}");
    }
}

#[test]
fn character_references_are_decoded_once() {
    for (source, expected) in [
        ("a &amp; b &lt;i&gt;", "a & b <i>"),
        ("&amp;amp;", "&amp;"),
        ("&eacute &copy &notit;", "é © ¬it;"),
        ("&#x1F600;&#128;&#65;&#x41", "😀€AA"),
        ("&#0;&#xD800;&#x110000;", "\u{fffd}\u{fffd}\u{fffd}"),
        ("&nbsp;a&ensp;", "\u{a0}a\u{2002}"),
        ("&unknown; & &;", "&unknown; & &;"),
        ("a&#10;&#9;b", "a b"),
    ] {
        let html = format!("<title>{source}</title>");
        assert_eq!(title(&html).as_deref(), Some(expected), "{source}");
    }
}

#[test]
fn a_title_reports_its_outcome() {
    let state = |html: &str| page(html).title.state;
    assert_eq!(state("<title>a</title>"), TitleState::Ok);
    assert_eq!(state("<title> </title>"), TitleState::Empty);
    assert_eq!(state("<p>"), TitleState::Absent);
    assert_eq!(state("<title>a<p>b"), TitleState::Truncated);
    let long = page(&format!("<title>{}</title>", "é".repeat(500_000))).title;
    assert_eq!(long.state, TitleState::Truncated);
    assert!(long.text.len() <= 64 << 10 && long.text.chars().all(|c| c == 'é'));
}

#[test]
fn titles_are_decoded_from_any_encoding() {
    let with = |label: &str, encoding: &'static encoding_rs::Encoding, text: &str| {
        let html = format!("<meta charset={label}><title>{text}</title>");
        let found = understand(URL, &[], &encoding.encode(&html).0);
        assert_eq!(found.title.text, text, "{label}");
        assert_eq!(found.charset, encoding.name().to_ascii_lowercase());
    };
    with("shift_jis", encoding_rs::SHIFT_JIS, "ソ表示 能力");
    with("gb18030", encoding_rs::GB18030, "中文 𠀀");
    with("big5", encoding_rs::BIG5, "功能 許蓋");
    with("euc-kr", encoding_rs::EUC_KR, "한국어");
    with("koi8-r", encoding_rs::KOI8_R, "Привет");
    with("iso-2022-jp", encoding_rs::ISO_2022_JP, "日本語 <-> テスト");
    let text = "<title>Ω <b></title>";
    for (mark, big) in [([0xff, 0xfe], false), ([0xfe, 0xff], true)] {
        let units = text
            .encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
        let body: Vec<u8> = mark.into_iter().chain(units).collect();
        assert_eq!(understand(URL, &[], &body).title.text, "Ω <b>");
    }
    let headers = [("content-type".to_owned(), b"text/html;charset=hz-gb-2312".to_vec())];
    let replaced = understand(URL, &headers, b"<title>a</title>");
    assert_eq!(replaced.title.state, TitleState::Absent);
    assert_eq!(replaced.charset, "replacement");
}

#[test]
fn a_meta_beyond_the_prescan_still_counts() {
    let read = |start: &str, rest: &[u8]| {
        let body = [start.as_bytes(), " ".repeat(1024).as_bytes(), rest].concat();
        let found = understand(URL, &[], &body);
        (found.charset, found.charset_source, found.title.text)
    };
    let late =
        |name: &str, title: &str| (name.to_owned(), CharsetSource::LateMeta, title.to_owned());
    assert_eq!(
        read("", b"<title>\xcf</title><meta charset=windows-1251>"),
        late("windows-1251", "П")
    );
    assert_eq!(
        read("", b"<title>\xcf</title><META Content='a; CHARSET=koi8-r' http-equiv=Content-Type>"),
        late("koi8-r", "о")
    );
    assert_eq!(
        read("", b"<meta charset=x><meta charset=utf-16><title>\xc3\xa9</title>"),
        late("utf-8", "é")
    );
    // The first real `meta` replaces the encoding that the prescan found in a script.
    assert_eq!(
        read("<script>'<meta charset=utf-8>'</script><meta charset=windows-1251>", b"<title>\xcf"),
        late("windows-1251", "П")
    );
    let unread = read("<!-- ", b"<meta charset=gbk> --><title>a</title>");
    assert_eq!(unread.1, CharsetSource::Default);
}

#[test]
fn icon_links_are_elements_with_an_icon_token_and_a_url() {
    for (html, expected) in [
        ("<link rel=icon href=a.ico>", Some("https://site.example/folder/a.ico")),
        ("<link rel=icon href=/static/a.ico>", Some("https://site.example/static/a.ico")),
        ("<LINK REL='SHORTCUT ICON' HREF='//cdn.example/a'>", Some("https://cdn.example/a")),
        ("<link href='a\n\tb.ico' rel=icon>", Some("https://site.example/folder/ab.ico")),
        ("<link rel=icon href=' a b.ico#x '>", Some("https://site.example/folder/a%20b.ico#x")),
        ("<link rel=icon href='a?b=1&amp;c=2'>", Some("https://site.example/folder/a?b=1&c=2")),
        ("<link rel=icon href='a?b=1&copy=2'>", Some("https://site.example/folder/a?b=1&copy=2")),
        ("<link rel=icon href=a rel=x href=b>", Some("https://site.example/folder/a")),
        ("<link rel=x rel=icon href=a>", None),
        ("<link rel=icon/href=a>", None),
        ("<link rel=icon href=''>", None),
        ("<link rel=icon href>", None),
        ("<link rel=icon>", None),
        ("<link rel=icon href='https://'>", None),
        ("<link href=a>", None),
        ("<link rel=mask-icon href=a>", None),
        ("<link rel=stylesheet href=icon>", None),
        ("<a rel=icon href=a>", None),
        ("<!--[if IE]><link rel=icon href=a><![endif]-->", None),
        ("<template><link rel=icon href=a></template>", None),
        ("<head><noscript><link rel=icon href=a></noscript>", None),
        ("<script>'<link rel=icon href=a>'</script>", None),
        ("<svg><link rel=icon href=a></svg>", None),
        ("<title><link rel=icon href=a></title>", None),
        ("<link rel=icon href=a", None),
    ] {
        assert_eq!(hrefs(html).first().map(String::as_str), expected, "{html}");
    }
}

#[test]
fn a_link_keeps_what_it_declares() {
    let html = "<link rel='Shortcut  ICON' type=image/PNG sizes='16x16 any' \
                media='(prefers-color-scheme: dark)' href=a><link rel=apple-touch-icon href=b>\
                <p><link rel=icon href=c>";
    let icons = page(html).icons;
    assert_eq!(icons[0].rel, "shortcut icon");
    assert_eq!(icons[0].mime.as_deref(), Some("image/PNG"));
    assert_eq!(icons[0].sizes.as_deref(), Some("16x16 any"));
    assert_eq!(icons[0].media.as_deref(), Some("(prefers-color-scheme: dark)"));
    let classes: Vec<_> = icons.iter().map(|icon| (icon.class, icon.in_body)).collect();
    let expected =
        [(IconClass::Icon, false), (IconClass::AppleTouch, false), (IconClass::Icon, true)];
    assert_eq!(classes, expected);
    assert_eq!(icons[2].sizes, None);
}

#[test]
fn links_resolve_against_the_first_base_with_an_href() {
    let first = |html: &str| hrefs(html).remove(0);
    let link = "<link rel=icon href=a.ico>";
    for (base, expected) in [
        ("<base href=/b/>", "https://site.example/b/a.ico"),
        ("<base href=//cdn.example/x/y>", "https://cdn.example/x/a.ico"),
        ("<base target=x><base href=/b/><base href=/c/>", "https://site.example/b/a.ico"),
        ("<base href='javascript:x'>", "https://site.example/folder/a.ico"),
        ("<base href='data:,x'><base href=/c/>", "https://site.example/folder/a.ico"),
        ("<base href='https://'>", "https://site.example/folder/a.ico"),
        ("<!-- <base href=/b/> -->", "https://site.example/folder/a.ico"),
        ("<template><base href=/b/></template>", "https://site.example/folder/a.ico"),
        ("<base href>", "https://site.example/folder/a.ico"),
    ] {
        assert_eq!(first(&format!("{base}{link}")), expected, "{base}");
        assert_eq!(first(&format!("{link}{base}")), expected, "after: {base}");
    }
    let based = page(&format!("<base href=https://cdn.example/>{link}"));
    assert_eq!(candidates(&based).list[0].url, "https://site.example/favicon.ico");
    assert_eq!(based.base.map(String::from).as_deref(), Some("https://cdn.example/"));
}

#[test]
fn a_query_beyond_ascii_is_encoded_in_the_encoding_of_the_page() {
    let html = b"<meta charset=windows-1251><link rel=icon href='/\xcf?\xcf'>";
    let found = understand(URL, &[], html);
    assert_eq!(found.icons[0].href, "https://site.example/%D0%9F?%CF");
}

#[test]
fn candidates_are_in_canonical_order_without_duplicates() {
    let html = "<link rel=apple-touch-icon href=/touch.png>\
                <link rel=icon type=image/png sizes=32x32 href=/a.png#x>\
                <link rel=icon href=/a.png>\
                <link rel=icon href='https://user:pw@CDN.example:443/b.png'>\
                <link rel=icon sizes=any href=../favicon.ico>\
                <link rel=icon href='ftp://x.example/a'><link rel=icon href='blob:x'>\
                <link rel=icon href='data:image/gif;base64,R0lGODlh'><link rel=icon href=''>";
    let found = candidates(&page(html));
    let urls: Vec<&str> = found.list.iter().map(|candidate| candidate.url.as_str()).collect();
    let expected = [
        "https://site.example/favicon.ico",
        "https://site.example/a.png",
        "https://cdn.example/b.png",
        "data:image/gif;base64,R0lGODlh",
        "https://site.example/touch.png",
    ];
    assert_eq!(urls, expected);
    assert_eq!(found.list[0].source, CandidateSource::FaviconIco);
    assert_eq!(found.list[0].declared_sizes.as_deref(), Some("any"));
    assert_eq!(found.list[1].source, CandidateSource::LinkRel);
    assert_eq!(found.list[1].declared_type.as_deref(), Some("image/png"));
    let left = found.left_out;
    assert_eq!((left.duplicate, left.scheme, left.no_url), (2, 2, 1));
}

#[test]
fn an_icon_for_dark_pages_is_not_a_candidate() {
    let html = "<link rel=icon media='(prefers-color-scheme: light)' href=/light.png>\
                <link rel=icon href=/any.png media=all>\
                <link rel=icon media='(prefers-color-scheme: dark)' href=/dark.png>\
                <link rel=apple-touch-icon media=print href=/print.png>\
                <link rel=icon media='screen and (min-width: 5' href=/malformed.png>\
                <link rel=icon media='' href=/empty.png>";
    let found = candidates(&page(html));
    let urls: Vec<&str> = found.list.iter().map(|candidate| candidate.url.as_str()).collect();
    let expected = ["favicon.ico", "light.png", "any.png", "empty.png"];
    assert_eq!(urls, expected.map(|name| format!("https://site.example/{name}")));
    assert_eq!(found.left_out.other_media, 3);
}

#[test]
fn an_empty_data_url_declares_that_there_is_no_icon() {
    for href in ["data:,", "data:;base64,", "data:;base64,=", "data:image/png,", "data:,#x"] {
        let found = page(&format!("<link rel=icon href='{href}'>"));
        assert!(found.no_favicon, "{href}");
        let candidates = candidates(&found);
        assert_eq!((candidates.list.len(), candidates.left_out.no_icon), (0, 1), "{href}");
    }
    let with = page("<link rel=icon href='data:,'><link rel=icon href=a.png>");
    assert_eq!(candidates(&with).list[0].url, "https://site.example/folder/a.png");
    assert!(!page("<link rel=icon href='data:,x'>").no_favicon);
    let dark = page("<link rel=icon media='(prefers-color-scheme: dark)' href='data:,'>");
    assert!(!dark.no_favicon);
    assert_eq!(candidates(&dark).left_out.other_media, 1);
    assert!(!page("<link rel=apple-touch-icon href='data:,'>").no_favicon);
    assert_eq!(candidates(&page("")).list[0].url, "https://site.example/favicon.ico");
}

#[test]
fn candidates_are_bounded_and_skipped_ones_counted() {
    let many: String = (0..10_000).map(|n| format!("<link rel=icon href=/{n}>")).collect();
    let found = candidates(&page(&many));
    assert_eq!(found.list.len(), 1 + MAX_DECLARED);
    assert_eq!(found.left_out.over_limit, 10_000 - MAX_DECLARED);
    let link = |href: &str| format!("<link rel=icon href='{href}'>");
    let long = candidates(&page(&link(&format!("/{}", "a".repeat(2048)))));
    assert_eq!((long.list.len(), long.left_out.too_long), (1, 1));
    let data = |bytes: usize, tag: usize| link(&format!("data:,{tag}{}", "a".repeat(bytes)));
    let large = candidates(&page(&data(17_000, 0)));
    assert_eq!((large.list.len(), large.left_out.too_long), (1, 1));
    let several: String = (0..6).map(|tag| data(15_000, tag)).collect();
    let several = candidates(&page(&several));
    assert_eq!((several.list.len(), several.left_out.data_total), (1 + 4, 2));
    let huge = candidates(&page(&link(&format!("data:,{}", "a".repeat(1 << 20)))));
    assert_eq!((huge.list.len(), huge.left_out.no_url), (1, 1));
}

#[test]
fn a_page_without_a_url_gives_its_title_and_absolute_icons() {
    let html = b"<title>a</title><link rel=icon href=/a><link rel=icon href=https://b.example/>";
    let found = understand("not a url", &[], html);
    assert_eq!(found.title.text, "a");
    let list = candidates(&found).list;
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].url, "https://b.example/");
    assert_eq!(found.framing.verdict, Verdict::Unknown);
}

#[test]
fn the_favicon_url_keeps_the_port_but_not_the_user() {
    let found = understand("https://u:p@site.example:8443/a/b?c#d", &[], b"");
    assert_eq!(candidates(&found).list[0].url, "https://site.example:8443/favicon.ico");
}

#[test]
fn hostile_pages_give_their_readable_parts() {
    let after = "<link rel=icon href=/late>";
    for (what, repeated, count) in [
        ("deep", "<div>", 100_000),
        ("deep and closed wrongly", "<b>x</p>", 600_000),
        ("templates", "<template>", 100_000),
        ("svg", "<svg>", 500_000),
        ("svg titles", "<svg><title>", 200_000),
        ("titles", "<title></title>", 200_000),
        ("metas", "<meta charset=bogus>", 200_000),
        ("bases", "<base href=x>", 200_000),
        ("comments", "<!-", 1_000_000),
        ("quotes", "<a b='", 500_000),
        ("ends", "</p>", 1_000_000),
        ("unclosed", "<", 4_000_000),
        ("scripts", "<script><!--<script>", 200_000),
    ] {
        let html =
            format!("<title>a</title><link rel=icon href=/early>{}{after}", repeated.repeat(count));
        let found = page(&html);
        assert_eq!(found.title.text, "a", "{what}");
        assert_eq!(
            found.icons.first().map(|icon| icon.href.as_str()),
            Some("https://site.example/early"),
            "{what}"
        );
        let undeclared = understand(URL, &[], html.as_bytes());
        assert_eq!(undeclared.title.text, "a", "{what}");
    }
    let attributes: String = (0..200_000).map(|n| format!(" a{n}=b")).collect();
    let found = page(&format!("<link{attributes} rel=icon href=/a>"));
    assert_eq!(found.icons.len(), 1);
}
