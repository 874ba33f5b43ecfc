//! Style sheets that follow the colours of the system, and variables: each is drawn as Chromium 156
//! draws it.

use everytab_icon::svg_work;

use super::svg_features::{at, drawn, refusal};

const GREEN: [u8; 4] = [0, 255, 0, 255];
const RECT: &str = r#"<rect width="32" height="32"/>"#;

fn painted(body: &str) -> [u8; 4] {
    at(&drawn(body), 16, 16)
}

#[test]
fn a_style_sheet_paints_as_in_a_light_browser() {
    let sheets = [
        "rect{fill:#0f0}@media (prefers-color-scheme:dark){rect{fill:red}}",
        "rect{fill:red}@media (prefers-color-scheme:light){rect{fill:#0f0}}",
        "@media screen{@media (prefers-color-scheme:light){rect{fill:#0f0}}}",
        "@media (max-width:100px){rect{fill:#0f0}}@media (min-width:100px){rect{fill:red}}",
        "@supports (fill:red){rect{fill:#0f0}}@supports not (fill:red){rect{fill:red}}",
        "@layer a{rect{fill:#0f0}}@container (width>1px){rect{fill:red}}",
        "@import url(x;y.css);@font-face{src:url(a)}@keyframes x{to{fill:red}}rect{fill:#0f0}",
        ":root{fill:#0f0}",
        "svg:root,a{fill:#0f0}",
        ":root{color:#0f0}@media (prefers-color-scheme:dark){:root{color:red}}\
         rect{fill:currentColor}",
        ":root{--a:#0f0}@media (prefers-color-scheme:dark){:root{--a:red}}rect{fill:var(--a)}",
        ":root{--a:red}@media (prefers-color-scheme:light){:root{--a:#0f0}}\
         rect{fill:var( --a )}",
        "svg{--b:var(--a)}*{--a:#0f0}rect{fill:var(--b)}",
        "rect{--a:#0f0;fill:var(--a)}",
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
fn attributes_have_variables_and_media() {
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
        r#"<g style="--a:#0f0"><rect width="32" height="32" fill="var(--a)"/></g>"#.to_owned(),
        r#"<rect width="32" height="32" style="--a:red;fill:#0f0"/>"#.to_owned(),
        r#"<rect width="32" height="32" style="--a:#0f0;fill:var(--a)"/>"#.to_owned(),
        r#"<rect width="32" height="32" fill="light-dark(#0f0,red)"/>"#.to_owned(),
    ];
    for body in bodies {
        assert_eq!(painted(&body), GREEN, "{body}");
    }
}

#[test]
fn the_namespace_of_a_style_sheet_is_kept() {
    let text = "<svg:svg xmlns:svg='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><svg:style>\
         @media screen{rect{fill:#0f0}}</svg:style><svg:rect width='32' height='32'/>\
         </svg:svg>";
    let (_, pixels) = everytab_icon::decode::decode(text.as_bytes()).unwrap();
    assert_eq!(at(&pixels, 16, 16), GREEN);
}

#[test]
fn what_stands_in_an_entity_that_is_used_twice_is_left() {
    let text = "<!DOCTYPE svg [<!ENTITY r \"<rect width='9' height='9' fill='var(--a)'/>\">]>\
         <svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>\
         <style>:root{--a:#0f0}</style>&r;&r;</svg>";
    assert!(svg_work(text.as_bytes()).is_ok());
}

#[test]
fn variables_that_stand_for_more_and_more_are_refused() {
    let growing: String =
        (0..20).map(|n| format!("--v{n}:{};", format!("var(--v{})", n + 1).repeat(20))).collect();
    let bodies = [
        format!("<style>:root{{{growing}}}rect{{fill:var(--v0)}}</style>{RECT}"),
        format!("<style>rect{{fill:{}}}</style>{RECT}", "var(--a,".repeat(30_000)),
        format!("<style>rect{{fill:{}}}</style>{RECT}", "var(a ".repeat(30_000)),
        format!(
            "<style>:root{{--a:;--b:{}}}rect{{fill:{}}}</style>{RECT}",
            "var(--a)".repeat(1_000),
            "var(--b)".repeat(1_000)
        ),
    ];
    for body in bodies {
        let start = &body[..60];
        assert!(
            ["style variables", "too much to draw"].iter().any(|why| refusal(&body).contains(why)),
            "{start}: {}",
            refusal(&body)
        );
    }
    // A circle stands for nothing.
    let circle =
        format!("<style>:root{{--a:var(--b);--b:var(--a)}}rect{{fill:var(--a)}}</style>{RECT}");
    painted(&circle);
}
