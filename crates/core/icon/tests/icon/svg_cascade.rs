//! Tests the CSS cascade and selectors in SVGs. The expected pixels are from Chromium 156.

use super::svg_features::{at, drawn, refusal};

const GREEN: [u8; 4] = [0, 255, 0, 255];
const RECT: &str = r#"<rect class="a b" id="r" width="32" height="32" data-k="foo-bar baz"/>"#;

fn painted(body: &str) -> [u8; 4] {
    at(&drawn(body), 16, 16)
}

#[test]
fn selectors_match_as_in_a_browser() {
    let selectors = [
        "[data-k^=foo]",
        "[data-k$='baz']",
        "[data-k*=bar]",
        "[data-k~=baz]",
        "[data-k|=foo]",
        "[data-k='FOO-BAR BAZ' i]",
        "[width='32']",
        "circle~rect",
        "circle+rect",
        "g>:last-child",
        "rect:first-of-type",
        "rect:only-of-type",
        ":where(.a,circle)",
        ":is(#r,.x)",
        "g:has(rect)>rect",
        "rect:not(.x)",
        "g :nth-child(2)",
        "rect:nth-child(even)",
        ":nth-child(1 of .a)",
        "rect:empty",
        ".a.b",
        ".\\61",
        "*",
        "svg rect",
        "g:not(:first-child) rect",
        "*|rect",
        "rect:nth-last-of-type(1)",
        ":root rect",
        "a:hover,rect",
        ".a,rect::before",
    ];
    for selector in selectors {
        let style = format!("<style>rect{{fill:red}}{selector}{{fill:#0f0!important}}</style>");
        let body = format!("{style}<g/><g><circle/>{RECT}</g>");
        assert_eq!(painted(&body), GREEN, "{selector}");
    }
    let others = [
        "[data-k^=bar]",
        "[Width]",
        "RECT",
        ".A",
        "rect:hover",
        "rect:first-child",
        "rect:not(.a)",
        "circle:has(rect)",
        ".a,rect:foo",
        "rect::before",
        "g+rect",
        ".1a",
        "rect:nth-child(2n+1)",
    ];
    for selector in others {
        let style = format!("<style>{selector}{{fill:red!important}}</style>");
        let body = format!("{style}<g/><g fill=\"#0f0\"><circle/>{RECT}</g>");
        assert_eq!(painted(&body), GREEN, "{selector}");
    }
}

#[test]
fn declarations_are_ordered_as_in_a_browser() {
    let sheets = [
        "#r{fill:#0f0}.a{fill:red}",
        ".a.b{fill:#0f0}.a{fill:red}",
        ".a{fill:red}rect.a{fill:#0f0}",
        "rect{fill:#0f0!important}#r{fill:red}",
        ":where(#r){fill:red}rect{fill:#0f0}",
        "@layer a,b;@layer b{rect{fill:#0f0}}@layer a{#r{fill:red}}",
        "rect{fill:#0f0}@layer a{#r{fill:red}}",
        "@layer a{rect{fill:#0f0!important}}#r{fill:red!important}",
        "@supports (fill:red) and (not (foo:bar)){rect{fill:#0f0}}",
        "rect{fill:#0f0}@supports (foo:bar) or (clip-path:foo(1px)){rect{fill:red}}",
        "@supports selector(:has(a)){rect{fill:#0f0}}",
        "g{fill:red;rect{fill:#0f0}}",
        "g{& rect{fill:#0f0}}",
        "rect{fill:red;&.a{fill:#0f0}}",
        "rect{fill:red;@media (min-width:1px){fill:#0f0}}",
        "rect{fill:#0f0;&:hover{fill:red}}",
    ];
    for sheet in sheets {
        let body = format!("<style><![CDATA[{sheet}]]></style><g>{RECT}</g>");
        assert_eq!(painted(&body), GREEN, "{sheet}");
    }
    let inline = "<style>rect{fill:red}rect{stroke:none!important}</style>";
    let rect = r#"<rect width="32" height="32" style="fill:lime;stroke:red;stroke-width:40"/>"#;
    assert_eq!(painted(&format!("{inline}{rect}")), GREEN);
}

#[test]
fn an_invalid_declaration_does_not_affect_others() {
    let styles = [
        "fill:red;stroke:;fill:#0f0",
        "fill:red;foo;fill:#0f0",
        "foo;fill:#0f0",
        "fill:#0f0;filter:progid:DXImageTransform.Microsoft.gradient(startColorstr='#80000000')",
        "*zoom:1;fill:#0f0",
        ";;fill:#0f0;;",
        "fill:#0f0;fill:bogus",
        "fill:#0f0;fill:#12",
        "fill:#0f0;fill:red blue",
        "fill:#0f0;fill:red !foo",
        "fill:#0f0 ! important;fill:red",
        "fill:#0f0;opacity:abc",
        "FILL:#0f0;Opacity:1",
        "fill:#0f0/*;*/;/**/",
        "fill:#0f0;transform:rotate(45);transform:foo(3px)",
        "fill:#0f0;visibility:foo;display:3",
        "fill:#0f0}rect{fill:red",
        "fill:CURRENTCOLOR;color:#0f0",
        "color:#0f0;fill:currentcolor",
        "fill:unset",
        "fill:inherit",
        "fill:revert",
        "fill:url(other.svg#a) lime",
        "fill:url(#gone) lime",
        "fill:color-mix(in srgb, lime, lime)",
        "fill:rgb(0 calc(100 + 155) 0)",
        "--a:lime;fill:VAR(--a)",
        "opacity:150%;fill:lime",
        "width:32px;height:calc(30px + 2px);fill:lime",
        "fill:light-dark(lime,red)",
    ];
    for style in styles {
        let rect = format!(r#"<rect width="32" height="32" style="{style}"/>"#);
        let body = format!(r#"<g fill="lime">{rect}</g>"#);
        assert_eq!(painted(&body), GREEN, "{style}");
    }
    let attributes = [
        r##"fill="#12""##,
        r#"fill="bogus""#,
        r#"fill="""#,
        r#"fill="lime;""#,
        r#"fill="inherit""#,
        r#"fill="currentcolor" color="lime""#,
        r#"fill="url(other.svg#a) lime""#,
        r#"opacity="1.5""#,
        r#"visibility="bogus""#,
        r#"mix-blend-mode="multiply""#,
        r#"rotate="45""#,
    ];
    for attribute in attributes {
        let body = format!(r#"<g fill="lime"><rect width="32" height="32" {attribute}/></g>"#);
        assert_eq!(painted(&body), GREEN, "{attribute}");
    }
    let named = drawn(r#"<rect width="32" height="32" fill="rebeccapurple"/>"#);
    assert_eq!(at(&named, 16, 16), [102, 51, 153, 255]);
}

#[test]
fn variables_belong_to_elements() {
    let bodies = [
        format!("<style>g{{--a:#0f0}}rect{{fill:var(--a)}}</style><g>{RECT}</g>"),
        format!("<style>:root{{--a:red}}g{{--a:#0f0}}rect{{fill:var(--a)}}</style><g>{RECT}</g>"),
        format!(
            "<style>:root{{--a:#0f0!important}}svg{{--a:red}}rect{{fill:var(--a)}}</style>{RECT}"
        ),
        format!("<style>:root{{--A:red}}rect{{fill:var(--a,#0f0)}}</style>{RECT}"),
        format!(
            "<style>:root{{--a:red}}g{{--a:initial}}rect{{fill:var(--a,#0f0)}}</style><g>{RECT}</g>"
        ),
        format!("<style>:root{{--a:}}rect{{fill:var(--a,) #0f0}}</style>{RECT}"),
        "<style>:root{--r:40px}circle{r:var(--r);fill:#0f0}</style><circle cx='16' cy='16'/>"
            .to_owned(),
    ];
    for body in bodies {
        assert_eq!(painted(&body), GREEN, "{body}");
    }
}

#[test]
fn style_sheets_can_set_geometry() {
    let bodies = [
        "<style>.a{width:32px;height:32px;fill:#0f0}</style><rect class='a'/>",
        "<style>circle{cx:50%;cy:50%;r:50%;fill:#0f0}</style><circle/>",
        "<style>ellipse{cx:16px;cy:16px;rx:9px;ry:auto;fill:#0f0}</style><ellipse/>",
        "<style>rect{x:8px;y:8px;width:calc(50% + 2px);height:1em;fill:#0f0}</style><rect/>",
        "<style>path{d:path('M0 0h32v32h-32z');fill:#0f0}</style><path/>",
        "<style>use{x:8px;y:8px}</style><rect id='s' width='16' height='16' fill='#0f0'/>\
         <rect width='32' height='32' fill='red'/><use href='#s'/>",
        "<style>rect{width:32}</style><rect width='3' height='32' fill='#0f0'/>",
        "<style>stop{stop-color:#0f0}</style><linearGradient id='g'><stop/></linearGradient>\
         <rect width='32' height='32' fill='url(#g)'/>",
        "<style>svg{background:#0f0}</style>",
    ];
    for body in bodies {
        assert_eq!(painted(body), GREEN, "{body}");
    }
}

#[test]
fn references_to_missing_or_wrong_elements_are_ignored() {
    let bodies = [
        "<g filter='url(#n)'>%</g>",
        "<g style='filter:url(#n) blur(2px)'>%</g>",
        "<g mask='url(#n)'>%</g>",
        "<g clip-path='url(#n)'>%</g>",
        "<g id='m'/><g clip-path='url(#m)'>%</g>",
        "<g id='m'/><g mask='url(#m)'>%</g>",
        "<g id='m'/><g filter='url(#m)'>%</g>",
        "<g clip-path='foo(3px)'>%</g>",
        "<path d='M0 0h3' marker-end='url(#n)'/>%",
        "<clipPath id='i'><rect width='32' height='32'/></clipPath><clipPath id='i'/>\
         <g clip-path='url(#i)'>%</g>",
        "<g id='i'/><clipPath id='i'/><g clip-path='url(#i)'>%</g>",
        "<g clip-path='url(&quot;#i&quot;)'>%</g>\
         <clipPath id='i'><circle cx='16' cy='16' r='9'/></clipPath>",
    ];
    for body in bodies {
        let rect = r#"<rect width="32" height="32" fill="lime"/>"#;
        assert_eq!(painted(&body.replace('%', rect)), GREEN, "{body}");
    }
    let gradient = |colour| {
        format!(r#"<linearGradient id="g"><stop stop-color="{colour}"/></linearGradient>"#)
    };
    let rect = r#"<rect width="32" height="32" fill="url(#g)"/>"#;
    let two = format!("{}{}{rect}", gradient("lime"), gradient("red"));
    assert_eq!(painted(&two), GREEN);
    // The gradient's id belongs to the group before it, and a group is not a paint.
    let covered = format!("<g id='g'/>{}{rect}<rect width='1' height='1'/>", gradient("red"));
    assert_eq!(painted(&covered), [0; 4]);
}

#[test]
fn animations_show_their_value_at_time_0() {
    let animations = [
        r#"<set attributeName="fill" to="lime" begin="0s"/>"#,
        r#"<set attributeName="fill" to="lime"/>"#,
        r#"<animate attributeName="fill" values="lime;lime" dur="9s"/>"#,
        r#"<animate attributeName="fill" from="lime" to="lime" dur="9s"/>"#,
        r#"<animate attributeName="fill" values="red;lime;red" begin="-5s" dur="9s"/>"#,
        r#"<set attributeName="fill" to="lime" begin="-5s" dur="4s" repeatCount="2"/>"#,
    ];
    for animation in animations {
        let body = format!(r#"<rect width="32" height="32" fill="red">{animation}</rect>"#);
        assert_eq!(painted(&body), GREEN, "{animation}");
    }
    let later = [
        r#"<set attributeName="fill" to="red" begin="2s"/>"#,
        r#"<set attributeName="fill" to="red" begin="click"/>"#,
        r#"<animate attributeName="fill" to="lime" dur="9s"/>"#,
        r#"<set attributeName="fill" to="red" begin="-5s" dur="4s"/>"#,
        r#"<animateColor attributeName="fill" from="red" to="red" dur="9s"/>"#,
    ];
    for animation in later {
        let body = format!(r#"<rect width="32" height="32" fill="lime">{animation}</rect>"#);
        assert_eq!(painted(&body), GREEN, "{animation}");
    }
    let moved = r#"<rect width="8" height="32" fill="lime"><animateTransform dur="9s"
        attributeName="transform" type="translate" values="12;12"/></rect>"#;
    assert_eq!(painted(moved), GREEN);
    let risen = r#"<rect width="32" height="32" fill="lime" opacity="0">
        <animate attributeName="opacity" begin="-1.5s" dur="3000ms" values="0;1;0"/></rect>"#;
    assert_eq!(painted(risen), GREEN);
    let wide =
        r#"<rect width="8" height="32" fill="lime"><set attributeName="width" to="32"/></rect>"#;
    assert_eq!(painted(wide), GREEN);
}

#[test]
fn work_counts_selectors_and_nesting() {
    let many = "<g class='a'/>".repeat(4_000);
    let bodies = [
        format!("<style>{}</style>{many}", ".a~.a{fill:red}".repeat(50)),
        format!("<style>{}</style>{many}", "g:has(~ b){fill:red}".repeat(2_000)),
        format!("<style>{}</style>{many}", "*{fill:red}".repeat(9_000)),
        format!("<style>{}</style>{RECT}", "a{b".repeat(100_000)),
        format!("<style>{}</style>{RECT}", ":is(".repeat(100_000)),
        format!(
            "<style>a{{{}}}</style>{RECT}",
            "&amp;,".repeat(5_000) + "&amp;{&amp;,".repeat(9).as_str()
        ),
        format!("<style>a{{{}}}</style>{RECT}", ";b".repeat(150_000)),
    ];
    for body in bodies {
        let result = everytab_icon::svg_work(
            format!("<svg xmlns='http://www.w3.org/2000/svg'>{body}</svg>").as_bytes(),
        );
        assert!(result.is_err() || result.is_ok_and(|units| units > 10_000_000), "{}", &body[..40]);
    }
    let nested = format!("<style>{}{}</style>{RECT}", "a,b,c,d,e,f{".repeat(8), "}".repeat(8));
    assert!(refusal(&nested).contains("nested selectors"), "{nested}");
}
