//! Tests the visible text on pages.

use super::*;
use crate::{LinkRequest, page, understand, understand_with_text};

const URL: &str = "https://example.com/";

fn read(html: &[u8], max_bytes: usize) -> PageText {
    let headers = [("content-type".to_owned(), b"text/html; charset=utf-8".to_vec())];
    let (page, text) = understand_with_text(URL, &headers, html, &TextRequest { max_bytes });
    assert_eq!(page, understand(URL, &headers, html));
    text
}

fn text(html: &str) -> String {
    let found = read(html.as_bytes(), 10_000);
    assert!(!found.is_truncated, "{html}");
    found.text
}

fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(text(html), *expected, "{html}");
    }
}

#[test]
fn white_space_is_folded_and_blocks_are_lines() {
    check(&[
        ("", ""),
        ("  a \n\t b  ", "a b"),
        ("a<b>b</b> c <i> d</i>", "ab c d"),
        ("<p>a<p>b</p>c", "a\nb\nc"),
        ("<div><div>a</div></div><div></div>b", "a\nb"),
        ("a<br>b<br/><br>c<hr>d</br>e", "a\nb\nc\nd\ne"),
        ("<ul><li>a<li>b <b>c</b></ul>d", "a\nb c\nd"),
        ("<h1>a</h1><section>b<footer>c", "a\nb\nc"),
        ("<table><tr><td>a<td>b</tr><tr><th>c</th><th>d</table>e", "a b\nc d\ne"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "a\nb\nc"),
        ("a\u{a0}\u{a0}b\u{3000}c\u{2028}d", "a b c d"),
        ("s\u{ad}oft\u{200b}ly \u{feff}a\0b\u{7}\u{9b}", "softly ab"),
        ("<button>a</button><button>b</button>c", "a b c"),
        ("<my-element>a</my-element>b", "ab"),
        ("<details><summary>a</summary>b</details>", "a\nb"),
        ("<ruby>\u{6f22}<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "\u{6f22}kan"),
        ("<center>a</CENTER><DIV>b</Div>", "a\nb"),
    ]);
}

#[test]
fn content_that_is_not_text_is_omitted() {
    check(&[
        ("<title>t</title>a", "a"),
        ("a<script>b</script>c<style>d</style>e", "ace"),
        ("a<!-- b <p> c -->d<!doctype html>e<?f?>g</ h>i<!j>k", "adegik"),
        ("a<noscript><p>b</noscript>c<noframes>d</noframes>e", "ace"),
        ("a<template><p>b</template>c", "ac"),
        ("a<svg><title>b</title><text>c</text></svg>d", "ad"),
        ("a<svg><desc><p>b</p></desc></svg>d", "ad"),
        ("a<math><mi>b</mi></math>d", "ad"),
        ("a<textarea>b</textarea>c<iframe>d</iframe>e", "ace"),
        ("a<select><option>b<option>c</select>d", "ad"),
        ("a<video>b<p>c</p></video>d<object>e</object>f", "adf"),
        ("<img alt=a>b<input value=c>", "b"),
        ("a<b c", "a"),
        ("a<!-- b", "a"),
        ("a < b <3 c</", "a < b <3 c</"),
        ("a<script>b", "a"),
    ]);
}

#[test]
fn hidden_content_is_omitted() {
    check(&[
        ("a<p hidden>b<p>c", "a\nc"),
        ("a<div hidden>b<div>c</div>d</div>e", "a\ne"),
        ("a<span HIDDEN=''>b<span>c</span>d</span>e", "ae"),
        ("a<p hidden=until-found>b", "a\nb"),
        ("a<i style='color:red; Display : NONE !important'>b</i>c", "ac"),
        ("a<i style='visibility:hidden'>b</i>c", "ac"),
        ("a<i style='display:block'>b</i>c<i data-hidden>d</i>", "abcd"),
        ("<body style='display:none' hidden>a", "a"),
        ("a<img hidden>b<br hidden>c", "ab\nc"),
        ("<div><p hidden>a</div>b", "b"),
        ("<ul><li hidden>a<li>b</ul>c", "b\nc"),
        ("<ul><li hidden>a<ul><li>x</ul>y</ul>c", "c"),
        ("<table><tr><td hidden>a</td><td>b</table>c", "b\nc"),
        ("<table><tr hidden><td>a<td>b<tr><td>c</table>", "c"),
        ("<div hidden><table><tr><td></div>a</table></div>b", "b"),
        ("<div hidden></section></b></p>a</div>b", "b"),
        ("<section><div hidden>a</section>b", "b"),
        ("<div hidden><script>'</div>'</script>a</div>b", "b"),
        ("<dialog>a</dialog>b<dialog open>c</dialog>", "b\nc"),
        ("a<i aria-hidden=true>b</i>", "ab"),
        ("<my-x hidden>a<my-x>b</my-x>c</my-x>d", "d"),
    ]);
}

#[test]
fn character_references_and_encodings_are_decoded() {
    check(&[
        (
            "&lt;p&gt; &amp;amp; &eacute&#233;&#x2603; &nbsp;a&nope;",
            "<p> &amp; \u{e9}\u{e9}\u{2603} a&nope;",
        ),
        ("&#0;a&#x9;b&#10;c", "\u{fffd}a b c"),
        ("a&shy;b", "ab"),
    ]);
    let none: [(String, Vec<u8>); 0] = [];
    let read = |body: &[u8]| understand_with_text(URL, &none, body, &TextRequest::default()).1.text;
    assert_eq!(read(b"<meta charset=windows-1252><p>caf\xe9"), "caf\u{e9}");
    assert_eq!(
        read(b"<meta charset=shift_jis><p>\x83\x65\x83\x58<b>\x83g</b>"),
        "\u{30c6}\u{30b9}\u{30c8}"
    );
    assert_eq!(read(b"\xff\xfe<\0p\0>\0\xe9\0<\0b\0>\0x\0"), "\u{e9}x");
    let japanese = read(b"\x1b$B%F<meta charset=iso-2022-jp><p>\x1b$B%F%9\x1b(B");
    assert!(!japanese.contains('\u{1b}'), "{japanese}");
}

#[test]
fn preformatted_text_keeps_its_lines_and_drawings_are_omitted() {
    check(&[
        ("a<pre>\nb\n  c  \n\n d</pre>e", "a\nb\n  c\n d\ne"),
        ("a<pre>b<br>c<div>d</div><div>e</div></pre>", "a\nb\nc\nd\ne"),
        ("a<pre>b <b> c</b>&lt;\t.</pre>", "a\nb  c< ."),
        ("a<xmp><b>&lt;</xmp>c", "a\n<b>&lt;\nc"),
        ("a<plaintext>b <p> c", "a\nb <p> c"),
        ("a<pre>####\nb</pre>c", "a\nc"),
        ("a<pre>\u{2554}\u{2550}\u{2557}</pre>c", "a\nc"),
        ("a<pre>let a = 1;\nlet b = 2;</pre>c", "a\nlet a = 1;\nlet b = 2;\nc"),
        ("<pre>welcome</pre>c", "c"),
        ("<pre> </pre><pre>welcome</pre><p>c", "c"),
        ("<pre>welcome</pre><pre>to it</pre>", "to it"),
        ("<pre>log of a day\nb</pre>", "log of a day\nb"),
        ("<pre>log of a day\nb", "log of a day\nb"),
        ("<pre>####\nb</pre>", ""),
        ("a<pre hidden>b</pre>c<div hidden><pre>d</pre></div>e", "a\nc\ne"),
        ("a<pre>b<pre>c</pre>d</pre>e", "a\nb\nc\nd\ne"),
    ]);
    let found = read(b"<pre>welcome</pre>a<pre>####</pre>", 100);
    assert_eq!((found.text.as_str(), found.drawings_left_out), ("a", 2));
}

#[test]
fn the_length_of_a_text_is_bounded() {
    for (html, expected, is_truncated) in [
        ("a b c d e", "a b c d e", false),
        ("a b c d e f", "a b c d e", true),
        ("12345678\u{e9}", "12345678", true),
        ("<pre>123456789012", "123456789", true),
        ("a<pre>b\n123456789012", "a\nb\n12345", true),
        ("1234567 <p>", "1234567", false),
    ] {
        let found = read(html.as_bytes(), 9);
        assert_eq!((found.text.as_str(), found.is_truncated), (expected, is_truncated), "{html}");
    }
    let found = read("<p></p><br> ".repeat(100_000).as_bytes(), 1_000);
    assert_eq!((found.text.as_str(), found.is_truncated), ("", false));
    let found = read("<pre></pre>".repeat(100_000).as_bytes(), 1_000);
    assert_eq!((found.text.as_str(), found.is_truncated), ("", true));
    let deep = format!("{}a{}b", "<div>".repeat(100_000), "</div>".repeat(100_000));
    assert_eq!(text(&deep), "a\nb");
}

#[test]
fn text_and_links_come_from_one_pass() {
    let html = b"<title>t</title><p>a <a href=/x>b</a>";
    let links = LinkRequest { robot: "bot", with_requisites: true };
    let both = (&links, &TextRequest::default());
    let (page, links, text) = page::understand_with_links_and_text(URL, &[], html, both);
    assert_eq!((page.title.text.as_str(), text.text.as_str()), ("t", "a b"));
    assert_eq!(links.links.len(), 1);
}

#[test]
fn text_without_markup_is_unchanged() {
    let read = |body: &[u8]| plain_text(&[], body, &TextRequest { max_bytes: 20 });
    assert_eq!(read(b"  <p> &amp;\r\n  b \0\n\n").text, "<p> &amp;\n  b");
    let found = read(b"0123456789 0123456789");
    assert_eq!((found.text.as_str(), found.is_truncated), ("0123456789 012345678", true));
    assert_eq!(read(b"\xff\xfea\0").text, "a");
}
