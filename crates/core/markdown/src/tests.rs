//! Converts ordinary and hostile pages.

use everytab_webpage::understand;
use proptest::prelude::*;

use super::*;

const MAX_BYTES: usize = 4 << 20;

fn convert(html: &[u8], content: PagePart) -> Markdown {
    let page = understand("https://example.com/a/b", &[], html);
    markdown(&page, html, content, MAX_BYTES).unwrap()
}

fn whole(html: &str) -> String {
    let found = convert(html.as_bytes(), PagePart::Whole);
    assert!(!found.is_truncated, "{html}");
    found.text
}

#[test]
fn a_page_is_markdown_with_absolute_links() {
    for (html, expected) in [
        ("", ""),
        ("<title>t</title><h1>a</h1><p>b <b>c</b> <i>d</i>", "# a\n\nb **c** *d*"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n    - c"),
        ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
        ("<blockquote><p>a<p>b</blockquote>", "> a\n> \n> b"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
        ("<table><tr><th>a<th>b<tr><td>c<td>d|e</table>", {
            "| a | b |\n| - | - |\n| c | d\\|e |"
        }),
        ("<a href=c>d</a>", "[d](https://example.com/a/c)"),
        ("<base href=https://b.test/x/><a href=c>d</a>", "[d](https://b.test/x/c)"),
        ("<base href='javascript:a'><a href=c>d</a>", "[d](https://example.com/a/c)"),
        ("<a href=javascript:alert(1)>d</a>", "d"),
        ("<img src=/i.png alt=x>", "![x](https://example.com/i.png)"),
        ("a*b_c # d", "a\\*b\\_c # d"),
        ("a<script>b</script>", "a"),
    ] {
        assert_eq!(whole(html), expected, "{html}");
    }
}

#[test]
fn text_of_a_page_cannot_become_a_link_or_markup() {
    for text in [
        "[x](javascript:alert(1))",
        "![z](http://a.test/)",
        "&lt;script&gt;y&lt;/script&gt;",
        "a&lt;img src=x onerror=y&gt;",
        "&lt;javascript:alert(1)&gt;",
        "a &lt;b&gt; &lt; c",
    ] {
        for html in [format!("<p>{text}"), format!("<table><tr><td>{text}"), format!("<li>{text}")]
        {
            let found = whole(&html);
            let is_escaped =
                |mark: char| found.match_indices(mark).all(|(at, _)| found[..at].ends_with('\\'));
            assert!(is_escaped('[') && is_escaped(']'), "{html}: {found}");
            let is_tag = |(at, _): (usize, &str)| {
                let next = found[at + 1..].chars().next();
                next.is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(next))
                    && !found[..at].ends_with('\\')
            };
            assert!(!found.match_indices('<').any(is_tag), "{html}: {found}");
        }
    }
}

#[test]
fn the_main_content_is_found_and_else_the_page_is_whole() {
    let sentence = "This sentence is about a fox, which is quick and brown, and jumps over a dog. ";
    let article = format!("<h2>Foxes</h2><p>{0}</p><p>{0}</p>", sentence.repeat(5));
    let links = "<nav><ul><li><a href=/1>One</a><li><a href=/2>Two</a></ul></nav>";
    let html = format!("{links}<article>{article}</article><footer>Imprint</footer>");
    let main = convert(html.as_bytes(), PagePart::Main).text;
    assert!(main.contains("## Foxes") && main.contains("quick and brown"), "{main}");
    assert!(!main.contains("/1") && !main.contains("Imprint"), "{main}");
    let all = convert(html.as_bytes(), PagePart::Whole).text;
    assert!(all.contains("[One](https://example.com/1)") && all.contains("Imprint"), "{all}");
    assert_eq!(
        convert(links.as_bytes(), PagePart::Main),
        convert(links.as_bytes(), PagePart::Whole)
    );
}

#[test]
fn other_encodings_are_decoded() {
    let whole = |html: &[u8]| convert(html, PagePart::Whole).text;
    assert_eq!(whole(b"<meta charset=windows-1252><p>caf\xe9"), "caf\u{e9}");
    assert_eq!(whole(b"<meta charset=shift_jis><p>\x83\x65\x83\x58"), "\u{30c6}\u{30b9}");
    assert_eq!(whole(b"\xff\xfe<\0p\0>\0\xe9\0"), "\u{e9}");
    assert_eq!(whole(b"<p>a\xff\0b"), "a\u{ff}b");
}

/// Pages that are hard for recursive tree walkers.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let nested = |name: &str| format!("<{name}>").repeat(5_000) + "x";
    let mut pages: Vec<(&'static str, Vec<u8>)> = Vec::new();
    for name in ["div", "table", "ul", "ol", "blockquote", "b", "font", "p", "a href=/x", "pre"] {
        pages.push((name, nested(name).into_bytes()));
    }
    // Use a quarter of each length so that a debug build takes seconds.
    let many = |part: &str, bytes: usize| part.repeat(bytes / 4 / part.len()).into_bytes();
    pages.extend([
        ("nested cells", many("<table><tr><td>", 1 << 20)),
        ("nested items", many("<ul><li>a", 1 << 20)),
        ("nested items of paragraphs", many("<ul><li><p>a<p>b", 1 << 20)),
        ("nested quotes", many("<blockquote><p>a", 1 << 20)),
        ("quotes of many lines", {
            ["<blockquote>".repeat(20).as_bytes(), &many("<p>a", 1 << 18)].concat()
        }),
        ("cells", [b"<table><tr>".to_vec(), many("<td>a", 500_000)].concat()),
        ("rows", [b"<table>".to_vec(), many("<tr><td>a<td>b", 1_500_000)].concat()),
        ("a wide cell and many rows", {
            let wide = format!("<table><tr><td>{}", "w ".repeat(1 << 19));
            [wide.into_bytes(), many("<tr><td>a", 1 << 19)].concat()
        }),
        ("tables and text", many("<table><tr><td>a</table>b", 2 << 20)),
        ("text in tables", many("<table>a<tr>b<td>c", 2 << 20)),
        ("formatting", (0..100_000).flat_map(|n| format!("<b id={n}>").into_bytes()).collect()),
        ("formatting and paragraphs", many("<p><b><i><a href=/x>y", 2 << 20)),
        ("a long attribute", format!("<p class='{}'>a", "x".repeat(2 << 20)).into_bytes()),
        ("many attributes", format!("<p {}>a", "x=y ".repeat(1 << 19)).into_bytes()),
        ("an open comment", [b"<p>a<!-- ".to_vec(), many("- <p>", 1 << 20)].concat()),
        ("ampersands", many("&", 4 << 20)),
        ("characters of two bytes", many("\u{a1}", 4 << 20)),
        ("NUL", many("\0", 1 << 20)),
        ("no UTF-8", many("<p>\u{e9}", 1 << 20).iter().map(|byte| byte | 0x80).collect()),
        ("stars", many("*", 1 << 20)),
        ("backticks", many("<code>`", 1 << 20)),
        ("backticks in a block", [b"<pre>".to_vec(), many("`", 1 << 20)].concat()),
        ("brackets", many("[](", 1 << 20)),
        ("words", many("word, ", 8 << 20)),
        ("paragraphs", many("<p>word, word, word and word.", 8 << 20)),
        ("breaks", many("<br>", 1 << 20)),
        ("breaks and text", many("a<br><br>", 1 << 20)),
        ("lines of divs", many("<div>a<br>b</div>", 2 << 20)),
        ("empty blocks", many("<div></div>", 1 << 20)),
        ("empty links", many("<a href=/x></a>", 1 << 20)),
        ("empty items", [b"<ul>".to_vec(), many("<li>", 1 << 20)].concat()),
        ("headings", many("<h1>a</h1>", 1 << 20)),
        ("hashes", many("<h1># # #</h1>", 1 << 20)),
        ("white space", many(" \n", 8 << 20)),
        ("a line", many("a", 8 << 20)),
        ("pictures", many("<img src=/x.png>", 1 << 20)),
        ("end tags", many("</p></div></b>", 2 << 20)),
        ("drawings", many("<svg><desc><p>a", 1 << 20)),
        ("spans", [many("<span><b>", 1 << 19), many("a</b></span>", 1 << 19)].concat()),
        ("side by side", {
            many("<div><div class=comment>a, b</div><p>word, word</p></div>", 4 << 20)
        }),
        ("a list of links", {
            [b"<ul>".to_vec(), many("<li><a href=/x>a, b, c</a>", 2 << 20)].concat()
        }),
    ]);
    pages
}

#[test]
fn hostile_pages_are_converted_and_stay_within_bounds() {
    for (name, page) in hostile() {
        for content in [PagePart::Main, PagePart::Whole] {
            // Use the stack size of the service's blocking threads.
            let page = page.clone();
            let thread = std::thread::Builder::new().stack_size(2 << 20);
            let found = thread.spawn(move || convert(&page, content)).unwrap().join();
            let found = found.unwrap_or_else(|_| panic!("{name}, {content:?}"));
            assert!(found.text.len() <= MAX_BYTES, "{name}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_converted(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        convert(&bytes, PagePart::Main);
        convert(&bytes, PagePart::Whole);
    }

    #[test]
    fn any_markup_is_converted(
        html in "(</?(p|b|a|ul|li|table|tr|td|pre|code|h1|br|div)>|[a-z*_`|]{1,3}){0,60}"
    ) {
        convert(html.as_bytes(), PagePart::Main);
        convert(html.as_bytes(), PagePart::Whole);
    }
}
