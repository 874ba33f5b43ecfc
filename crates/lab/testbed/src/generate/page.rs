//! One page: its HTML in its charset, and its header fields.

use std::fmt::Write;

use super::{
    icon_links,
    text::{self, Declared, PageCharset, Script},
};
use crate::dice::Dice;

pub(super) struct GeneratedPage {
    pub(super) content_type: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    pub(super) charset: &'static str,
    pub(super) language: &'static str,
}

pub(super) fn page(host: &str, suffix: &str, dice: &mut Dice) -> GeneratedPage {
    let script = text::of_suffix(suffix, dice);
    let charset = text::charset(script, dice);
    let html = html(host, script, &charset, dice);
    let mut body = Vec::new();
    if charset.declared == Declared::ByteOrderMark {
        body.extend_from_slice(b"\xef\xbb\xbf");
    }
    body.extend_from_slice(&charset.encoding.encode(&html).0);
    let content_type = match charset.declared {
        Declared::Header | Declared::Both if dice.permille(500) => {
            format!("text/html; charset={}", charset.label)
        }
        Declared::Header | Declared::Both => {
            format!("text/html;charset=\"{}\"", charset.label.to_uppercase())
        }
        _ => "text/html".to_owned(),
    };
    let headers = framing_headers(host, dice);
    let name = charset.encoding.name();
    let language = script.language;
    GeneratedPage { content_type, headers, body, charset: name, language }
}

fn html(host: &str, script: &Script, charset: &PageCharset, dice: &mut Dice) -> String {
    let mut html = String::new();
    html.push_str(dice.pick(&["<!DOCTYPE html>\n", "<!doctype html>", "", DOCTYPE_XHTML]));
    html.push_str("<html>\n<head>\n");
    match charset.declared {
        Declared::Meta | Declared::Both => {
            let _ = writeln!(html, "<meta charset=\"{}\">", charset.label);
        }
        Declared::HttpEquiv => {
            let label = charset.label;
            let _ = writeln!(
                html,
                "<META http-equiv=Content-Type content=\"text/html; charset={label}\">"
            );
        }
        Declared::Header | Declared::ByteOrderMark | Declared::Nowhere => {}
    }
    html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    let title = title_element(host, script, dice);
    let links = icon_links::markup(host, dice);
    let in_body = dice.permille(10);
    if dice.permille(300) {
        html.push_str(&links);
        html.push_str(if in_body { "" } else { &title });
    } else {
        html.push_str(if in_body { "" } else { &title });
        html.push_str(&links);
    }
    html.push_str(STYLE_AND_SCRIPT);
    html.push_str("</head>\n<body>\n");
    if dice.permille(100) {
        html.push_str(
            "<svg width=\"8\" height=\"8\"><title>Menu</title><path d=\"M0 0h8\"/></svg>\n",
        );
    }
    html.push_str(if in_body { &title } else { "" });
    write_body(&mut html, script, dice);
    html.push_str("</body>\n</html>\n");
    html
}

const DOCTYPE_XHTML: &str = "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\" \
    \"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n";

/// Text that looks like markup to a parser that does not support raw text elements and comments.
const STYLE_AND_SCRIPT: &str = "<style>body{margin:0;font:16px sans-serif}a{color:#357}</style>\n\
    <script>var t=\"<title>not this<\\/title><link rel=icon href=/wrong.ico>\";</script>\n\
    <!-- <title>nor this</title> <link rel=\"icon\" href=\"/commented.ico\"> -->\n\
    <noscript><img src=\"/pixel.gif\" alt=\"\"></noscript>\n";

fn title_element(host: &str, script: &Script, dice: &mut Dice) -> String {
    let form = dice.below(1_000);
    let count = if form < 995 { dice.between(1, 8) } else { 400 };
    let words = capitalised(&script.words(count, dice));
    match form {
        0..30 => String::new(),
        30..40 => "<title></title>\n".to_owned(),
        40..120 => format!("<title>\n   {words}\n  </title>\n"),
        120..180 => format!("<title>{words} &amp; {words}</title>\n"),
        180..220 => format!("<title>{words} &#8211; caf&eacute;&nbsp;&raquo;</title>\n"),
        220..230 => format!("<title>{words} &amp;amp; &lt;b&gt;</title>\n"),
        230..260 => format!("<TITLE>{words}</TITLE>\n"),
        260..270 => format!("<title>{words} &#x1F600; &#128;</title>\n"),
        270..280 => format!("<title data-site=\"1\">{words} <b>bold</b></title>\n"),
        280..285 => format!("<title>{words}</title>\n<title>second</title>\n"),
        285..600 => format!("<title>{words} | {}</title>\n", site_name(host)),
        _ => format!("<title>{words}</title>\n"),
    }
}

fn site_name(host: &str) -> String {
    let labels = host.split('.').filter(|label| !["www", "m", "blog", "shop"].contains(label));
    capitalised(labels.max_by_key(|label| label.len()).unwrap_or(host))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

fn write_body(html: &mut String, script: &Script, dice: &mut Dice) {
    let sizes = [(120_u64, 30), (500, 35), (1_600, 24), (5_000, 9), (18_000, 2)];
    let mut words = dice.weighted(&sizes);
    while words > 0 {
        let count = words.min(dice.between(5, 60));
        let _ = writeln!(html, "<p class=\"text\">{}</p>", script.words(count, dice));
        if dice.permille(250) {
            let page = dice.below(500);
            let _ = writeln!(html, "<a href=\"/page/{page}.html\">{}</a>", dice.pick(script.words));
        }
        words -= count;
    }
}

fn framing_headers(host: &str, dice: &mut Dice) -> Vec<(&'static str, String)> {
    const XFO: &str = "X-Frame-Options";
    const CSP: &str = "Content-Security-Policy";
    let mut headers = Vec::new();
    match dice.below(1_000) {
        0..130 => headers.push((XFO, "SAMEORIGIN".to_owned())),
        130..160 => headers.push((XFO, "DENY".to_owned())),
        160..165 => headers.push((XFO, format!("ALLOW-FROM https://{host}/"))),
        165..170 => headers.push((XFO, "SAMEORIGIN, SAMEORIGIN".to_owned())),
        170..200 => {
            headers.push((XFO, "SAMEORIGIN".to_owned()));
            headers.push((CSP, "frame-ancestors 'self'".to_owned()));
        }
        200..203 => {
            headers.push((XFO, "DENY".to_owned()));
            headers.push((CSP, "default-src https:; frame-ancestors *".to_owned()));
        }
        203..215 => headers.push((CSP, "frame-ancestors 'none'".to_owned())),
        215..220 => headers.push((CSP, format!("frame-ancestors 'self' https://*.{host}"))),
        220..280 => headers.push((CSP, "upgrade-insecure-requests".to_owned())),
        280..300 => {
            headers.push((CSP, "default-src 'self'; img-src * data:; script-src 'self'".to_owned()))
        }
        300..305 => {
            headers.push(("Content-Security-Policy-Report-Only", "frame-ancestors 'none'".into()))
        }
        _ => {}
    }
    headers
}
