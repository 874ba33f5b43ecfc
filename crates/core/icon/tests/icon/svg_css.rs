//! Tests media queries for the colour scheme, and variables, which usvg does not support. The
//! expected pixels are from Chromium 156.

use everytab_icon::svg_work;

use super::svg_features::{at, drawn, refusal};

const GREEN: [u8; 4] = [0, 255, 0, 255];
const RECT: &str = r#"<rect width="32" height="32"/>"#;

fn painted(body: &str) -> [u8; 4] {
    at(&drawn(body), 16, 16)
}

#[test]
fn style_sheets_use_the_light_colour_scheme() {
    let sheets = [
        "rect{fill:#0f0}@media (prefers-color-scheme:dark){rect{fill:red}}",
        "rect{fill:red}@media (prefers-color-scheme:light){rect{fill:#0f0}}",
        "@media screen{@media (prefers-color-scheme:light){rect{fill:#0f0}}}",
        "@media (max-width:100px){rect{fill:#0f0}}@media (min-width:100px){rect{fill:red}}",
        "@supports (fill:red){rect{fill:#0f0}}@supports not (fill:red){rect{fill:red}}",
        "rect{fill:#0f0}@container (width>1px){rect{fill:red}}",
        "rect{fill:#0f0}@supports (fill:red) and (foo:bar){rect{fill:red}}",
        "rect{fill:#0f0}@supports (-webkit-touch-callout:none){rect{fill:red}}",
        "rect{fill:#0f0}@layer a{rect{fill:red}}",
        "rect{fill:#0f0}a{};rect{fill:red}",
        "@import url(x;y.css);@font-face{src:url(a)}@keyframes x{to{fill:red}}rect{fill:#0f0}",
        ":root{fill:#0f0}",
        "svg:root,a{fill:#0f0}",
        ":root{color:#0f0}@media (prefers-color-scheme:dark){:root{color:red}}\
         rect{fill:currentColor}",
        ":root{--a:#0f0}@media (prefers-color-scheme:dark){:root{--a:red}}rect{fill:var(--a)}",
        ":root{--a:red}@media (prefers-color-scheme:light){:root{--a:#0f0}}\
         rect{fill:var( --a )}",
        "svg{--b:var(--a)}*{--a:#0f0}rect{fill:var(--b)}",
        "svg.dark{--a:red}rect{fill:var(--a,#0f0)}",
        ":root{--c:0 255 0}rect{fill:rgb(var(--c) / 100%)}",
        "g{--a:red}:root{fill:#0f0}rect{fill:var(--a)}",
        "rect{--x:1;fill:#0f0}",
        ":root{--a:0 255 0}rect{fill:rgb(var(--a))}",
        ":root{--a:oklch(0.8664 0.2948 142.5)}rect{fill:var(--a)}",
        ":root{--f:\"a;b}\"}:root{--a:#0f0}rect{fill:var(--a)}",
        "rect{fill:var(--none,#0f0)}",
        "rect{fill:var(--none,var(--neither,rgb(0,255,0)))}",
        "rect{fill:light-dark(light-dark(#0f0,red),blue)}",
        "a[b=\"}\"]{}/*}*/rect{fill:#0f0}@media print{rect{fill:red}",
        "rect{fill:#0f0}@media (prefers-color-scheme:dark){rect{fill:red}",
        "@media (prefers-color-scheme:light){rect{fill:#0f0",
    ];
    for sheet in sheets {
        for [open, close] in [["", ""], ["<![CDATA[", "]]>"]] {
            let body = format!("<style>{open}{sheet}{close}</style>{RECT}");
            assert_eq!(painted(&body), GREEN, "{body}");
        }
    }
}

#[test]
fn attributes_support_variables_and_media_queries() {
    let variable = "<style>:root{--a:#0f0}</style>";
    let bodies = [
        format!(
            r#"<style media="(prefers-color-scheme: dark)">rect{{fill:red}}</style>{variable}
            <rect width="32" height="32" fill="var(--a)"/>"#
        ),
        format!(
            r#"<style media="print">:root{{--a:red}}</style>{variable}
            <rect width="32" height="32" style='fill:var(--a)'/>"#
        ),
        format!(
            r#"{variable}<linearGradient id="g"><stop stop-color="var(--a)"/></linearGradient>
            <rect width="32" height="32" fill="url(#g)"/>"#
        ),
        r#"<g fill="lime"><rect width="32" height="32" fill="var(--none)"/></g>"#.to_owned(),
        r#"<g fill="lime"><rect width="32" height="32" style="fill:var(--none)"/></g>"#.to_owned(),
        r#"<rect width="32" height="32" style="--a:red;fill:#0f0"/>"#.to_owned(),
        r#"<rect width="32" height="32" fill="light-dark(#0f0,red)"/>"#.to_owned(),
    ];
    for body in bodies {
        assert_eq!(painted(&body), GREEN, "{body}");
    }
}

#[test]
fn unsupported_css_has_no_effect() {
    let hidden = "<svg xmlns='http://www.w3.org/2000/svg' width='32' height='32'>\
        <rect width='32' height='32' fill='rgba(0,255,0,50%25)'/>\
        <rect width='32' height='32' fill='lime'/></svg>";
    let hidden = hidden.replace('<', "%3C").replace('>', "%3E");
    let bodies = [
        format!("<style><!-- rect{{fill:red}} -->rect{{fill:#0f0}}</style>{RECT}"),
        format!("<style>@a;<b>rect{{fill:red}}</b></style><g fill=\"#0f0\">{RECT}</g>"),
        format!("<style>@a;<style>rect{{fill:#0f0}}</style></style>{RECT}"),
        format!("<style>:root{{fill:#0f0}}</style><svg fill=\"#0f0\"><svg>{RECT}</svg></svg>"),
        // There is no `#` in this `data:` URL, because it would start a fragment.
        format!(r#"<image width="32" height="32" href="data:image/svg+xml,{hidden}"/>"#),
    ];
    for body in bodies {
        assert_eq!(painted(&body), GREEN, "{body}");
    }
    let opacity = format!("<style>:root{{opacity:.5}}rect{{fill:#0f0}}</style><svg>{RECT}</svg>");
    assert_eq!(painted(&opacity), [0, 255, 0, 128]);
}

#[test]
fn a_style_sheet_in_its_own_namespace_is_rewritten() {
    for sheet in ["<s:style xmlns:s='http://www.w3.org/2000/svg'>", "<svg:style>"] {
        let close = if sheet.starts_with("<s:") { "</s:style>" } else { "</svg:style>" };
        let text = format!(
            "<svg:svg xmlns:svg='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>{sheet}\
             @media screen{{:root{{fill:#0f0}}}}{close}<svg:rect width='32' height='32'/></svg:svg>"
        );
        let (_, pixels) = everytab_icon::decode::decode(text.as_bytes()).unwrap();
        assert_eq!(at(&pixels, 16, 16), GREEN, "{sheet}");
    }
}

#[test]
fn an_entity_with_css_may_be_used_twice() {
    let text = "<!DOCTYPE svg [<!ENTITY r \"<rect width='32' height='32' fill='var(--a)'/>\">]>\
         <svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>\
         <style>:root{--a:#0f0}</style>&r;&r;</svg>";
    let (_, pixels) = everytab_icon::decode::decode(text.as_bytes()).unwrap();
    assert_eq!(at(&pixels, 16, 16), GREEN);
}

#[test]
fn variables_that_expand_exponentially_are_rejected() {
    let growing: String =
        (0..4).map(|n| format!("--v{n}:{};", format!("var(--v{})", n + 1).repeat(100))).collect();
    let why =
        refusal(&format!("<style>:root{{--v4:x;{growing}}}rect{{fill:var(--v0)}}</style>{RECT}"));
    assert!(why.contains("style variables"), "{why}");
    let long = format!(
        "<style>:root{{--a:{};fill:{}}}</style>",
        "x".repeat(300),
        "var(--a)".repeat(1_000)
    );
    assert!(refusal(&long).contains("style variables"));
    let circle = ":root{--a:var(--b);--b:var(--a);fill:#0f0}rect{fill:var(--a)}";
    assert_eq!(painted(&format!("<style>{circle}</style>{RECT}")), GREEN);
}

#[test]
fn work_for_css_is_counted_before_parsing() {
    let deep = format!("{}{}", "<style>".repeat(90), "</style>".repeat(90));
    let bodies = [
        format!("<style>a{{{}}}</style>{RECT}", "--;".repeat(150_000)),
        format!(r#"<a style="{}"/>{RECT}"#, "--;".repeat(150_000)),
        format!("<style>@a;{}</style>{RECT}", "a{b:c}".repeat(80_000)),
    ];
    for body in bodies {
        assert!(refusal(&body).contains("too much to draw"));
    }
    let plain =
        svg_work(format!("<svg xmlns='http://www.w3.org/2000/svg'>{deep}</svg>").as_bytes());
    assert!(plain.is_err() || plain.unwrap() < 1_000_000);
}
