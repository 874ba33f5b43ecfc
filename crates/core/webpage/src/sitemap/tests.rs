//! Tests sitemaps in every form, valid, broken and hostile.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use super::*;
use crate::{links::LinksLeftOut, url_rules::MAX_URL_BYTES};

fn urlset(entries: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"\n  \
         xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n{entries}</urlset>\n"
    )
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn pages(body: impl AsRef<[u8]>) -> Vec<String> {
    read_sitemap(body.as_ref()).pages
}

#[test]
fn a_urlset_lists_pages_and_their_alternates() {
    let body = urlset(
        "<url><loc> https://a.com/1?x=1&amp;y=2\n</loc><lastmod>2026-01-01</lastmod>\
         <xhtml:link rel=\"alternate\" hreflang=\"de\" href=\"https://a.com/de/1?x=1&amp;y\"/>\
         <xhtml:link rel='stylesheet' href='https://a.com/s.css'/></url>\
         <url><loc><![CDATA[http://a.com/<2>]]></loc>\
         <image:image><image:loc>https://a.com/i.png</image:loc></image:image>\
         <xhtml:link rel=\"alternate\" href=\"https://a.com/3#part\"/></url>\
         <sm:url><sm:loc>https://a.com/3</sm:loc></sm:url>\
         <url><loc>https://a.com/3</loc><loc>https://a.com/&#x34;&#53;</loc></url>\
         <url><loc>https://a.com/a=1&b=2</loc></url>",
    );
    let found = read_sitemap(body.as_bytes());
    let expected = [
        "https://a.com/1?x=1&y=2",
        "http://a.com/%3C2%3E",
        "https://a.com/3",
        "https://a.com/45",
        "https://a.com/a=1&b=2",
    ];
    assert_eq!(found.pages, expected);
    assert_eq!(found.alternates, ["https://a.com/de/1?x=1&y"]);
    assert_eq!(
        (found.format, found.is_cut, found.left_out.sum()),
        (SitemapFormat::Urlset, false, 0)
    );
    assert_eq!(found.sitemaps, [""; 0]);
}

#[test]
fn an_index_lists_sitemaps_and_no_pages() {
    let body = "<!-- made by a program --><sitemapindex><sitemap><loc>https://a.com/1.xml.gz</loc>\
        </sitemap><url><loc>https://a.com/x</loc></url>\
        <sitemap><lastmod/><loc>https://b.com/2.xml</loc></sitemap></sitemapindex>trailing";
    let found = read_sitemap(body.as_bytes());
    assert_eq!(found.sitemaps, ["https://a.com/1.xml.gz", "https://b.com/2.xml"]);
    assert_eq!((found.format, found.pages.len()), (SitemapFormat::Index, 0));
}

#[test]
fn text_lists_one_page_per_line_and_without_any_is_not_a_sitemap() {
    let found =
        read_sitemap(b"\xef\xbb\xbfhttps://a.com/1\r\n\r\n  http://b.com/2 \nrelative\nftp://c/");
    assert_eq!(found.pages, ["https://a.com/1", "http://b.com/2"]);
    let LinksLeftOut { unparsable, other_scheme, .. } = found.left_out;
    assert_eq!((found.format, unparsable, other_scheme), (SitemapFormat::Text, 1, 1));
    for other in [&b""[..], b" \n ", b"Not found", b"\0\x01\xff", b"{\"a\": 1}"] {
        assert_eq!(read_sitemap(other), Sitemap::default(), "{other:?}");
    }
}

#[test]
fn feeds_list_their_items() {
    let rss = "<rss version='2.0'><channel><link>https://a.com/</link>\
        <item><link>https://a.com/1</link></item></channel></rss>";
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://a.com/'/>\
        <entry><link href='https://a.com/2'/><link rel='self' href='https://a.com/2.atom'/>\
        <link rel='alternate' href='https://a.com/3'/></entry></feed>";
    assert_eq!(pages(rss), ["https://a.com/1"]);
    assert_eq!(pages(atom), ["https://a.com/2", "https://a.com/3"]);
    assert_eq!(read_sitemap(rss.as_bytes()).format, SitemapFormat::Feed);
}

#[test]
fn gzip_files_with_several_members_and_other_encodings_are_read() {
    let body = urlset("<url><loc>https://a.com/\u{e9}</loc></url>");
    let expected = ["https://a.com/%C3%A9"];
    assert_eq!(pages(gzip(body.as_bytes())), expected);
    let (one, other) = body.as_bytes().split_at(150);
    assert_eq!(pages([gzip(one), gzip(other)].concat()), expected);
    let utf16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(body.encode_utf16()).flat_map(bytes).collect()
    };
    assert_eq!(pages(utf16(u16::to_le_bytes)), expected);
    assert_eq!(pages(utf16(u16::to_be_bytes)), expected);
    assert_eq!(pages(gzip(&utf16(u16::to_le_bytes))), expected);
    let latin = b"<?xml version='1.0' encoding='iso-8859-1'?><urlset><url>\
        <loc>https://a.com/\xe9</loc></url></urlset>";
    assert_eq!(pages(latin), expected);
    let mut packed = gzip(body.as_bytes());
    packed.truncate(packed.len() - 12);
    assert!(read_sitemap(&packed).is_cut);
}

#[test]
fn truncated_and_broken_sitemaps_give_their_readable_part() {
    let whole =
        urlset("<url><loc>https://a.com/1</loc></url><url><loc>https://a.com/2</loc></url>");
    for end in 0..whole.len() {
        let found = read_sitemap(&whole.as_bytes()[..end]);
        let expected = ["https://a.com/1", "https://a.com/2"];
        let number = whole[..end].matches("</loc>").count();
        assert_eq!(found.pages, expected[..number], "{}", &whole[..end]);
        let is_whole = end >= whole.trim_end().len();
        assert!(found.is_cut != is_whole || found.format == SitemapFormat::Other, "{end}");
    }
    let broken = urlset("<url><loc>https://a.com/1</loc></url><url <<loc>https://a.com/2</loc>");
    assert_eq!(pages(broken).first().map(String::as_str), Some("https://a.com/1"));
    let crossed = "<urlset><url><loc>https://a.com/1</url></loc><url><loc>https://a.com/2</loc>";
    assert_eq!(pages(crossed)[0], "https://a.com/1");
}

#[test]
fn dtd_entities_are_not_resolved_and_nothing_is_fetched() {
    let laughs: String = (1..10)
        .map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10)))
        .collect();
    let body = format!(
        "<!DOCTYPE urlset [<!ENTITY l0 \"https://a.com/lol\">{laughs}\
         <!ENTITY f SYSTEM \"file:///etc/passwd\">]>\n\
         <urlset><url><loc>&l9;</loc></url><url><loc>https://a.com/&f;</loc></url>\
         <url><xhtml:link rel='alternate' href='https://a.com/&f;'/></url>\
         <url><loc>https://a.com/&lt;1&gt;</loc></url></urlset>"
    );
    let found = read_sitemap(body.as_bytes());
    assert_eq!(found.pages, ["https://a.com/%3C1%3E"]);
    assert_eq!((found.left_out.unparsable, found.alternates.len()), (3, 0));
}

#[test]
fn other_files_give_nothing() {
    for body in [
        "<!DOCTYPE html><html><a href='https://a.com/'>x</a></html>",
        "<html><urlset><url><loc>https://a.com/</loc></url></urlset></html>",
        "<?xml version='1.0'?><error>no</error>",
        "<",
        "<!--",
        "<!DOCTYPE urlset [",
    ] {
        let found = read_sitemap(body.as_bytes());
        assert_eq!(found, Sitemap { is_cut: found.is_cut, ..Sitemap::default() }, "{body}");
    }
}

#[test]
fn urls_that_cannot_be_requested_are_counted_by_reason() {
    let long = format!("https://a.com/{}", "x".repeat(MAX_URL_BYTES));
    let longer = "y".repeat(4 * MAX_URL_BYTES + 1);
    let body: String = ["/relative", "ftp://a.com/", "mailto:a@b.c", "", &long, &longer]
        .iter()
        .map(|loc| format!("<url><loc>{loc}</loc></url>"))
        .collect();
    let found = read_sitemap(urlset(&body).as_bytes());
    let expected =
        LinksLeftOut { too_long: 2, other_scheme: 2, unparsable: 1, empty: 1, over_limit: 0 };
    assert_eq!((found.left_out, found.pages.len()), (expected, 0));
    assert_eq!(pages("https://user:secret@a.com/x#part"), ["https://a.com/x"]);
}

#[test]
fn a_list_has_at_most_50_000_urls() {
    let entries: String = (0..MAX_SITEMAP_ENTRIES + 7)
        .map(|n| format!("<url><loc>https://a.com/{n}</loc></url>"))
        .collect();
    let found = read_sitemap(urlset(&entries).as_bytes());
    assert_eq!((found.pages.len(), found.left_out.over_limit), (MAX_SITEMAP_ENTRIES, 7));
}

#[test]
fn bombs_and_endless_nesting_cost_at_most_the_limits() {
    // 60 MiB of spaces, although one event may have only a MiB.
    let mut spaces = urlset("<url><loc>https://a.com/1</loc></url>").into_bytes();
    spaces.truncate(spaces.len() - 12);
    let packed = [gzip(&spaces), gzip(&vec![b' '; 60 << 20])].concat();
    let found = read_sitemap(&packed);
    assert_eq!((found.pages.len(), found.is_cut), (1, true));
    // 60 MiB of elements. Only 50 MiB are read.
    let elements = [gzip(b"<urlset>"), gzip(&b"<url></url>".repeat((60 << 20) / 11))].concat();
    assert!(read_sitemap(&elements).is_cut);
    let nested = format!("<urlset>{}", "<a>".repeat(1 << 20));
    assert!(read_sitemap(nested.as_bytes()).is_cut);
    let comment =
        format!("<urlset><!-- {} --><url><loc>https://a.com/</loc></url>", "- ".repeat(1 << 20));
    assert!(read_sitemap(comment.as_bytes()).is_cut);
}
