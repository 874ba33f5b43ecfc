//! Tests simplifying ordinary and hostile pages.

use proptest::prelude::*;
use url::Url;

use super::{
    open_tags::MAX_DEPTH,
    simplifier::{MAX_ELEMENTS, MAX_TEXT_BYTES},
    *,
};

fn simple(html: &str) -> String {
    let base = Url::parse("https://example.com/a/b?c").unwrap();
    let found = simplify(html, Some(&base), 1 << 20);
    assert!(!found.is_truncated, "{html}");
    found.html
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(simple(html), *expected, "{html}");
    }
}

#[test]
fn elements_end_in_the_right_place() {
    check(&[
        ("", ""),
        ("<p>a<p>b</p>c", "<p>a</p><p>b</p>c"),
        ("<p>a<div>b</p>c</div>", "<p>a</p><div>bc</div>"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>d"),
        ("<li>a<li>b", "<div>a</div><div>b</div>"),
        ("<b>a<i>b</b>c</i>", "<strong>a<em>b</em></strong>c"),
        ("<b><b>a</b>b</b>", "<strong>a</strong>b"),
        ("<p><b>a<p>b", "<p><strong>a</strong></p><p>b</p>"),
        ("<h1><div>a</div><p>b</h1>c", "<h1>a b</h1>c"),
        ("<h1>a<h2>b", "<h1>a</h1><h2>b</h2>"),
        ("</p></div>a</b>", "a"),
        ("<dl><dt>a<dd>b</dl>", "<div><p>a</p><p>b</p></div>"),
        (
            "<nav>a</nav><aside>b",
            "<div role=\"navigation\">a</div><div role=\"complementary\">b</div>",
        ),
        ("<ol start=3><li>a", "<ol start=\"3\"><li>a</li></ol>"),
        ("<span>a</span><my-x>b</my-x>", "ab"),
        ("a<br>b<hr>c", "a<br>b<hr>c"),
    ]);
}

#[test]
fn a_table_contains_only_rows_and_cells() {
    let one = "<table><tr><td>a</td></tr></table>";
    check(&[
        ("<table><tr><td>a</table>", one),
        ("<table><td>a", one),
        ("<table><tbody><tr><td>a</td></tr></tbody></table>", one),
        ("<table> <form> <tr> <td>a</td> </tr> </form> </table>", one),
        ("<table><caption>t</caption><tr><td>a", &format!("<div>t</div>{one}")),
        ("<table>b<tr><td>a", &format!("b{one}")),
        ("<table><tr><td>a</td></tr>b<tr><td>a", &format!("{one}b{one}")),
        ("<tr><td>a</td><td>b</td>", "a b"),
        (
            "<table><tr><td><table><tr><td>a</table>b<td>c</table>",
            "<table><tr><td><table><tr><td>a</td></tr></table>b</td><td>c</td></tr></table>",
        ),
        ("<div><table><tr><td>a</div>b", "<div><table><tr><td>ab</td></tr></table></div>"),
        ("<table><tr><th>a<td>b<tr><td>c", {
            "<table><tr><th>a</th><td>b</td></tr><tr><td>c</td></tr></table>"
        }),
    ]);
}

#[test]
fn a_link_is_absolute_or_only_its_text() {
    check(&[
        ("<a href=x>a</a>", "<a href=\"https://example.com/a/x\">a</a>"),
        ("<a href='/x?y=1&amp;z#f'>a</a>", "<a href=\"https://example.com/x?y=1&amp;z#f\">a</a>"),
        ("<a href=//b.test>a<a href=/c>b", {
            "<a href=\"https://b.test/\">a</a><a href=\"https://example.com/c\">b</a>"
        }),
        ("<a href='java&#10;script:alert(1)'>a</a>", "a"),
        ("<a href=' JavaScript:alert(1)'>a</a>", "a"),
        ("<a href='data:text/html,x'>a</a><a href='vbscript:x'>b</a>", "ab"),
        ("<a href='file:///etc/passwd'>a</a>", "a"),
        ("<a href='mailto:a@b.test'>a</a>", "a"),
        ("<a href='http://u:p@b.test/'>a</a>", "<a href=\"http://b.test/\">a</a>"),
        (
            "<a href='/\"><script>'>a</a>",
            "<a href=\"https://example.com/%22%3E%3Cscript%3E\">a</a>",
        ),
        ("<a name=x>a</a>", "a"),
        ("<img src=/i.png alt='a \"b\"\n<c'>", {
            "<img src=\"https://example.com/i.png\" alt=\"a &quot;b&quot; &lt;c\">"
        }),
        ("<img src='data:image/png;base64,x' data-src=/i.png>", {
            "<img src=\"https://example.com/i.png\" alt=\"\">"
        }),
        ("<img src='data:image/png;base64,x' alt=a>", ""),
    ]);
}

#[test]
fn text_is_folded_and_hidden_content_dropped() {
    check(&[
        ("a  \n b&nbsp;&lt;c&gt; &amp; \u{0}d\u{7}", "a b &lt;c&gt; &amp; d"),
        ("<div> a </div> <div> b</div>", "<div>a </div><div>b</div>"),
        ("<pre>a\n  b<br>c<div>d</div></pre>", "<pre>a\n  b\nc\nd</pre>"),
        ("<pre class='x y\"'><code class=language-rust>a</code></pre>", {
            "<pre class=\"x y\"><code>a</code></pre>"
        }),
        ("<xmp><b>&amp;</xmp>", "<pre>&lt;b&gt;&amp;amp;</pre>"),
        ("a<script>b</script><style>c</style><!-- d --><template>e</template>f", "af"),
        ("a<!-- b", "a"),
        ("a<svg><title>b</title></svg><math><mi>c</mi></math>d", "ad"),
        ("<div hidden>a<div>b</div>c</div>d", "d"),
        ("<p style='display:none'>a<p>b", "<p>b</p>"),
        ("<body hidden>a", "a"),
        ("<ul><li hidden>a<li>b</ul>", "<ul><li>b</li></ul>"),
        ("<table><tr hidden><td>a<tr><td hidden>b<td>c</table>d", {
            "<table><tr><td>c</td></tr></table>d"
        }),
        ("<div hidden><p>a<p>b<ul><li>c</ul></div>d", "d"),
        ("<button>a</button><button>b</button>", "a b "),
        ("<select><option>a</select>b", "b"),
        ("<div class='a\" onclick=x' id=b>c</div>", "<div class=\"a onclickx\" id=\"b\">c</div>"),
    ]);
}

#[test]
fn depth_elements_and_length_are_bounded() {
    for name in ["div", "blockquote", "ul", "ol", "table", "section", "a href=/", "b", "pre", "li"]
    {
        let html = format!("<{name}>").repeat(5_000) + "x";
        let found = simplify(&html, None, 1 << 20);
        assert!(found.html.contains('x'), "{name}");
        assert!(depth(&found.html) <= MAX_DEPTH, "{name}");
    }
    for html in ["<table><tr><td>".repeat(5_000), "<ul><li>".repeat(5_000)] {
        assert!(depth(&simplify(&html, None, 1 << 20).html) <= MAX_DEPTH);
    }
    for around in MAX_DEPTH - 5..MAX_DEPTH {
        let html = "<div>".repeat(around) + "<table><td>x";
        assert!(depth(&simplify(&html, None, 1 << 20).html) <= MAX_DEPTH, "{around}");
    }
    let many = simplify(&"<p>a".repeat(2 * MAX_ELEMENTS), None, 64 << 20);
    assert!(many.is_truncated);
    assert_eq!(many.html.matches("<p>").count(), MAX_ELEMENTS);
    let base = Url::parse("https://example.com/").unwrap();
    let links = simplify(&"<a href=/>a</a> ".repeat(6_000), Some(&base), 1 << 20);
    assert!(links.is_truncated);
    assert_eq!(links.html.matches("<a ").count(), 5_000);
    let long = simplify(&format!("<p>{}", "\u{e9}".repeat(1_000)), None, 100);
    assert!(long.is_truncated && long.html.len() <= 110, "{}", long.html.len());
    let text = simple(&"&\u{a1}".repeat(100_000));
    assert!(text.split("<span></span>").all(|part| part.len() < MAX_TEXT_BYTES + 8));
    assert_eq!(text.matches("&amp;\u{a1}").count() + text.matches("&amp;<span").count(), 100_000);
    let attribute = format!("<div class='{}'>a</div>", "x".repeat(2 << 20));
    assert_eq!(simple(&attribute), "<div>a</div>");
}

fn depth(html: &str) -> usize {
    let mut open: Vec<&str> = Vec::new();
    let mut deepest = 0;
    for tag in html.split('<').skip(1).map(|tag| tag.split('>').next().unwrap()) {
        let name = tag.split(' ').next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{html}"),
            None if matches!(name, "br" | "hr" | "img") => {}
            None => open.push(name),
        }
        deepest = deepest.max(open.len());
    }
    assert!(open.is_empty(), "{open:?} is open in {html}");
    deepest
}

fn markup() -> impl Strategy<Value = String> {
    let names = "div|p|b|i|a|ul|ol|li|table|tr|td|th|tbody|caption|h1|h2|pre|code|blockquote|br|hr";
    let names = format!("{names}|img|svg|math|template|script|select|button|dd|dt|nav|xmp|x-y");
    let tag = prop::string::string_regex(&format!(
        "</?({names})( (href|src|class|hidden|style)=['\"]?[a-z:/\"]{{0,5}}['\"]?)?/?>"
    ));
    prop::collection::vec(prop_oneof![3 => tag.unwrap(), 1 => "[ -~\n\u{0}\u{e9}]{0,6}"], 0..60)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_markup_becomes_well_formed(html in markup()) {
        let base = Url::parse("https://example.com/").unwrap();
        let found = simplify(&html, Some(&base), 1 << 16).html;
        depth(&found);
        prop_assert!(!found.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
}
