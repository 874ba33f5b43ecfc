//! Tests references that usvg and browsers handle differently: circular references and symbols with
//! a transform. Chromium 156 draws both pictures in each pair identically.

use everytab_icon::{IconError, convert::to_tab_icon};

fn svg(body: &str) -> Vec<u8> {
    let root = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">"#;
    format!("{root}{body}</svg>").into_bytes()
}

fn same(circle: &str, without: &str) {
    let drawn = to_tab_icon(&svg(circle)).unwrap_or_else(|error| panic!("{error}: {circle}"));
    assert!(drawn == to_tab_icon(&svg(without)).unwrap(), "{circle}");
}

const SQUARE: &str = r#"<rect width="24" height="20" x="4" y="4" fill="red"/>"#;
const FILLED: &str = r#"<rect width="24" height="20" x="4" y="4" fill="url(#a)"/>"#;
const STOPS: &str = r#"<stop stop-color="red"/><stop stop-color="blue" offset="1"/>"#;

#[test]
fn a_gradient_that_refers_to_itself_keeps_its_stops() {
    let gradient = |attributes: &str| {
        format!(r#"<linearGradient id="a" {attributes}>{STOPS}</linearGradient>{FILLED}"#)
    };
    let without = gradient("");
    same(&gradient(r##"href="#a""##), &without);
    same(&gradient(r##"href = '#a' x1="0""##), &without);
    let xlink = r##"xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="#a""##;
    same(&gradient(xlink), &without);
    let radial =
        |link: &str| format!(r#"<radialGradient id="a" {link}>{STOPS}</radialGradient>{FILLED}"#);
    same(&radial(r##"href="#a""##), &radial(""));
    let chain = |last: &str| {
        let second = format!(r##"<linearGradient id="b" href="#c"/>{FILLED}"##);
        let third = format!(r#"<linearGradient id="c" {last}>{STOPS}</linearGradient>"#);
        format!(r##"<linearGradient id="a" href="#b"/>{second}{third}"##)
    };
    same(&chain(r##"href="#a""##), &chain(""));
    same(&chain(r##"href="#b""##), &chain(""));
}

#[test]
fn a_use_of_its_own_group_is_ignored() {
    let group = |link: &str| format!(r##"<g id="a">{SQUARE}<use {link}/></g>"##);
    same(&group(r##"href="#a""##), &group(""));
    same(&group(r##"href="#a" x="3""##), &group(""));
    let outer = |link: &str| format!(r#"<g id="a"><g>{SQUARE}<use {link}/></g></g>"#);
    same(&outer(r##"href="#a""##), &outer(""));
    let pair = |link: &str| {
        let first = format!(r##"<g id="a">{SQUARE}<use href="#b"/></g>"##);
        format!(r#"{first}<defs><g id="b"><circle r="9"/><use {link}/></g></defs>"#)
    };
    same(&pair(r##"href="#a""##), &pair(""));
    let three = |link: &str| {
        let first = format!(r##"<g id="a">{SQUARE}<use href="#b"/><use href="#c"/></g>"##);
        let second = r##"<g id="b"><circle r="9"/><use href="#c"/></g>"##;
        format!(r#"{first}<defs>{second}<g id="c"><circle r="3"/><use {link}/></g></defs>"#)
    };
    same(&three(r##"href="#a""##), &three(""));
    let itself = format!(r##"{SQUARE}<use id="u" href="#u"/>"##);
    same(&itself, SQUARE);
    let root = r##"<svg id="s" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">"##;
    let file = format!(r##"{root}{SQUARE}<use href="#s"/></svg>"##);
    assert_eq!(to_tab_icon(file.as_bytes()).unwrap(), to_tab_icon(&svg(SQUARE)).unwrap());
}

fn ways(property: &str) -> [(String, String); 5] {
    let rule = format!("{{{property}:url(#a)}}");
    [
        (String::new(), format!(r#"{property}="url(#a)""#)),
        (String::new(), format!(r#"style="opacity:1;{property}: url( '#a' )""#)),
        (format!("<style>.c{rule}</style>"), r#"class="c""#.to_owned()),
        (format!("<style>.c{rule}</style>"), r#"class="c" style="opacity:1""#.to_owned()),
        (format!("<style>#d{rule}</style>"), r#"id="d""#.to_owned()),
    ]
}

#[test]
fn a_property_that_refers_to_an_ancestor_is_none() {
    for (property, container) in [
        ("mask", r#"<mask id="a">"#),
        ("clip-path", r#"<clipPath id="a">"#),
        ("fill", r#"<pattern id="a" width="1" height="1">"#),
        ("stroke", r#"<pattern id="a" width="1" height="1">"#),
    ] {
        let user = format!(r#"<rect width="30" height="28" {property}="url(#a)"/>"#);
        let end = container.split([' ', '<']).nth(1).unwrap();
        let file = |(sheet, inner): (String, String)| {
            let shape = format!(r#"<circle cx="9" cy="9" r="8" {inner}/>"#);
            let light = r#"<rect x="15" y="3" width="9" height="9" fill="white"/>"#;
            format!("{sheet}{container}{light}{shape}</{end}>{user}")
        };
        let without = file((String::new(), format!(r#"{property}="none""#)));
        for way in ways(property) {
            same(&file(way), &without);
        }
    }
}

#[test]
fn a_marker_that_refers_to_itself_is_drawn_once() {
    let marker = |inner: &str| {
        let line = format!(r#"<path d="M0 0L2 2V9" {inner}/>"#);
        let used = r#"<path d="M3 3L20 9V20" marker-mid="url(#a)"/>"#;
        format!(r#"<marker id="a">{line}</marker>{used}"#)
    };
    same(&marker(r#"marker-start="url(#a)""#), &marker(""));
    same(&marker(r#"style="marker:url(#a)""#), &marker(""));
}

#[test]
fn a_symbols_transform_has_its_origin_at_the_use() {
    let shapes = r#"<path d="M1 1h9v5H1z" fill="red"/><circle r="4" fill="blue"/>"#;
    let turn = "matrix(0 .5 -1 0 12 3)";
    for view in ["", r#"viewBox="0 0 20 20""#, r#"viewBox="-5 -5 20 20" overflow="visible""#] {
        let defined =
            |attributes: &str| format!(r#"<symbol id="s" {view} {attributes}>{shapes}</symbol>"#);
        for size in ["", r#"width="20" height="24""#] {
            let used = format!(
                r##"{}<use href="#s" x="6" y="-3" {size}/>"##,
                defined(&format!(r#"transform="{turn}""#))
            );
            let placed =
                format!(r##"<g transform="translate(6 -3) {turn}"><use href="#s" {size}/></g>"##);
            same(&used, &(defined("") + &placed));
            let moved = used.replace(r#" x="6""#, r#" transform="translate(2 3)" x="6""#);
            let group = format!(r#"<g transform="translate(2 3)">{placed}</g>"#);
            same(&moved, &(defined("") + &group));
        }
    }
}

/// The document has no position from which a reference inside an entity could be removed.
#[test]
fn a_circular_reference_in_an_entity_is_rejected() {
    let type_of = r##"<!DOCTYPE svg [<!ENTITY e "<use href='#a'/>">]>"##;
    let body = svg(&format!(r#"<g id="a">{SQUARE}&e;</g>"#));
    let file = [type_of.as_bytes(), &body].concat();
    let outcome = to_tab_icon(&file);
    let refused = Err(IconError::SvgRefused { reason: "a reference to itself" });
    assert!(outcome.is_ok() || outcome == refused, "{outcome:?}");
}
