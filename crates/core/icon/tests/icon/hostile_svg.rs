//! Tests SVGs that are constructed to take too much time or memory, or to read files or URLs.

use everytab_icon::convert::to_tab_icon;

fn svg(body: &str) -> String {
    format!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{body}</svg>"#)
}

fn outcome(text: String) -> &'static str {
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let run = move || to_tab_icon(text.as_bytes()).map_or_else(|error| error.kind(), |_| "ok");
    thread.spawn(run).unwrap().join().unwrap()
}

const RECT: &str = r#"<rect width="9" height="9"/>"#;

#[test]
fn nesting_that_could_overflow_the_stack_is_rejected() {
    assert_eq!(
        outcome(svg(&format!("{}{}", "<g>".repeat(150), "</g>".repeat(150)))),
        "svg_rejected"
    );
    let deep = svg(&format!("{}{}", "<g>".repeat(35_000), "</g>".repeat(35_000)));
    assert_eq!(outcome(deep), "image_corrupt");
    let real = format!("{}{RECT}{}", r#"<g opacity=".9">"#.repeat(90), "</g>".repeat(90));
    assert_eq!(outcome(svg(&real)), "ok");
}

#[test]
fn references_that_multiply_are_rejected() {
    let uses: String = (1..7)
        .map(|level| {
            let uses = format!(r##"<use href="#a{}"/>"##, level - 1).repeat(10);
            format!(r#"<g id="a{level}">{uses}</g>"#)
        })
        .collect();
    let bomb = format!(r##"<defs><g id="a0">{RECT}</g>{uses}</defs><use href="#a6"/>"##);
    assert_eq!(outcome(svg(&bomb)), "svg_rejected");

    let masks: String = (1..12)
        .map(|level| {
            let rects = format!(r#"<rect width="9" height="9" class="c{}"/>"#, level - 1).repeat(4);
            format!(r#"<mask id="m{level}">{rects}</mask>"#)
        })
        .collect();
    let style: String =
        (0..12).map(|level| format!(".c{level}{{/*x*/mask:/*;*/url( #m{level} )}}")).collect();
    let bomb = format!(
        r#"<style>{style}</style><mask id="m0">{RECT}</mask>{masks}<g class="c11">{RECT}</g>"#
    );
    assert_eq!(outcome(svg(&bomb)), "svg_rejected");
    // usvg also reads style sheets in elements that are not drawn.
    let masks = format!(r#"<mask id="m0">{RECT}</mask>{masks}<g class="c11">{RECT}</g>"#);
    for (namespace, expected) in [("http://www.w3.org/1999/xhtml", "svg_rejected"), ("x", "ok")] {
        let sheet = format!(r#"<style xmlns="{namespace}">{style}</style>"#);
        let html = format!("<foreignObject>{sheet}</foreignObject>{masks}");
        assert_eq!(outcome(svg(&html)), expected, "{namespace}");
    }

    let patterns: String = (1..6)
        .map(|level| {
            let rects = RECT.repeat(20);
            let fill = format!("url(#p{})", level - 1);
            let tile = format!(r#"<pattern id="p{level}" width="1" height="1">"#);
            format!(r#"{tile}<g fill="{fill}">{rects}</g></pattern>"#)
        })
        .collect();
    let first = format!(r#"<pattern id="p0" width="1" height="1">{RECT}</pattern>"#);
    let bomb = format!(r#"{first}{patterns}<g fill="url(#p5)">{RECT}</g>"#);
    assert_eq!(outcome(svg(&bomb)), "svg_rejected");

    let path = format!(r#"<path style="marker:url(#m)" d="M0 0{}"/>"#, "L1 2L3 4".repeat(15_000));
    let bomb = format!(r#"<marker id="m">{}</marker>{path}"#, RECT.repeat(200));
    assert_eq!(outcome(svg(&bomb)), "svg_rejected");

    // If references form a cycle, the last one is ignored, so nothing is drawn.
    let loops = r##"<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>"##;
    assert_eq!(outcome(svg(loops)), "image_blank");
    let all: String = (0..40)
        .map(|id| {
            let uses: String = (0..40).map(|to| format!(r##"<use href="#a{to}"/>"##)).collect();
            format!(r#"<g id="a{id}">{RECT}{uses}</g>"#)
        })
        .collect();
    assert_eq!(outcome(svg(&all)), "svg_rejected");
}

#[test]
fn entities_that_multiply_are_rejected() {
    let laughs = r#"<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;">]>"#;
    assert_eq!(outcome(format!("{laughs}{}", svg("<g>&b;</g>"))), "svg_rejected");
    let long = format!(r#"<!DOCTYPE svg [<!ENTITY a "{}">]>"#, "x".repeat(100_000));
    let uses = r#"<g id="&a;"/>"#.repeat(10_000);
    assert_eq!(outcome(format!("{long}{}", svg(&uses))), "svg_rejected");
    let illustrator = r#"<!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]>"#;
    let text = svg(RECT).replace("http://www.w3.org/2000/svg", "&ns;");
    assert_eq!(outcome(format!("{illustrator}{text}")), "ok");
}

#[test]
fn endless_drawing_is_rejected() {
    let tile = r#"<pattern id="p" width="90000" height="90000" patternUnits="userSpaceOnUse">"#;
    let bomb = format!(r#"{tile}{RECT}</pattern><g fill="url(#p)">{RECT}</g>"#);
    assert_eq!(outcome(svg(&bomb)), "svg_rejected");
    let dashes = r##"<path d="M0 0L9 9" stroke="#000" stroke-dasharray="0.0001"/>"##;
    assert_eq!(outcome(svg(dashes)), "svg_rejected");
    let noise = r#"<feTurbulence numOctaves="1000000" baseFrequency="1"/>"#;
    let bomb = format!(r#"<filter id="f">{noise}</filter><g filter="url(#f)">{RECT}</g>"#);
    assert_eq!(outcome(svg(&bomb)), "svg_rejected");
    let burn = format!(r#"{RECT}<g style="mix-blend-mode:color-burn">{RECT}</g>"#);
    assert_eq!(outcome(svg(&burn)), "svg_rejected");
}

#[test]
fn documents_that_make_parsers_quadratic_are_rejected() {
    let attributes: String = (0..20_000).map(|index| format!(r#" a{index}="""#)).collect();
    assert_eq!(outcome(svg(&format!("<g{attributes}/>"))), "svg_rejected");
    let style = format!("<style>{}</style>", "a{fill:red}".repeat(20_000));
    assert_eq!(outcome(svg(&format!("{style}{}", "<a/>".repeat(15_000)))), "svg_rejected");
    let twins = r#"<g id="a"/>"#.repeat(9_000) + &r##"<use href="#a"/>"##.repeat(5_000);
    assert_eq!(outcome(svg(&twins)), "image_blank");
    assert_eq!(outcome(svg(&" ".repeat(600_000))), "svg_rejected");
}

#[test]
fn files_and_urls_are_never_read() {
    let own_source = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/gradient.jpg");
    for address in [own_source, "file:///etc/hostname", "http://127.0.0.1:1/x.png"] {
        let image = format!(r#"<image href="{address}" width="9" height="9"/>"#);
        assert_eq!(outcome(svg(&image)), "image_blank");
    }
}

#[test]
fn arcs_with_huge_radii_are_rejected() {
    for huge in ["99999999999999999999", "1e75", "1E+30", "0011000000001", "1000000000.5e3"] {
        let arc = svg(&format!(r#"<path d="M1 1h6a{huge} 7.66 0 006.2-4.24L3 3z"/>"#));
        assert_eq!(outcome(arc), "svg_rejected", "{huge}");
        for shape in ["circle r", "rect width='9' height='9' rx", "ellipse rx='1' ry"] {
            assert_eq!(outcome(svg(&format!(r#"<{shape}="{huge}"/>"#))), "svg_rejected");
        }
        let share = r#"<circle r="50%"/></svg>"#;
        let root = r#"<svg xmlns="http://www.w3.org/2000/svg""#;
        for size in [format!("viewBox='0 0 9 {huge}'"), format!("width='{huge}' height='9'")] {
            assert_eq!(outcome(format!("{root} {size}>{share}")), "svg_rejected");
        }
        let font = format!("style='font-size:{huge}px' width='1em' height='9'");
        assert_eq!(outcome(format!("{root} {font}>{share}")), "svg_rejected");
        let font = format!(r#"<circle style="font-size:{huge}px" r="1em"/>"#);
        assert_eq!(outcome(svg(&font)), "svg_rejected");
    }
    let real = r#"<path d="M1e-9 1h6a5e0 7.66.5.006.2-4.24L3 3z"/><circle cx="5" cy="5" r="50%"/>"#;
    assert_eq!(outcome(svg(real)), "ok");
    let root = r#"<svg xmlns="http://www.w3.org/2000/svg" width="1em" height="1em""#;
    assert_eq!(outcome(format!(r#"{root} viewBox="0 0 9 9">{RECT}</svg>"#)), "ok");
}

#[test]
fn a_long_value_on_many_elements_is_rejected() {
    let elements = "<g/>".repeat(3_000);
    let points = vec!["0 0"; 600].join(",");
    let values =
        [format!("clip-path:polygon({points})"), format!("transform:{}", "scale(1)".repeat(300))];
    for value in values {
        let sheet = format!("<style>g{{{value}}}</style>");
        assert_eq!(
            outcome(svg(&format!("{sheet}{RECT}{elements}"))),
            "svg_rejected",
            "{sheet:.40}"
        );
        assert_eq!(outcome(svg(&format!("{sheet}{RECT}<g/><g/>"))), "ok", "{sheet:.40}");
    }
}

#[test]
fn animations_that_add_up_are_rejected() {
    let added = r#"<animateTransform attributeName="transform" additive="sum" from="1"/>"#;
    let animated = |count| outcome(svg(&format!("<g>{RECT}{}</g>", added.repeat(count))));
    assert_eq!(animated(5), "ok");
    assert_eq!(animated(3_000), "svg_rejected");
}

#[test]
fn work_counts_the_attributes_that_selectors_check() {
    let nested = |attributes: usize| {
        let attributes: String = (0..attributes).map(|at| format!(" a{at}=''")).collect();
        let (start, end) = (format!("<g{attributes}>").repeat(80), "</g>".repeat(80));
        let sheet = "<style>[zz] g{opacity:1}</style>";
        outcome(svg(&format!("{sheet}{RECT}{start}{}{end}", "<g/>".repeat(3_000))))
    };
    assert_eq!(nested(1), "ok");
    assert_eq!(nested(500), "svg_rejected");
}

#[test]
fn work_counts_every_filter_in_a_list() {
    let levels: String = (1..16)
        .map(|level| {
            let image = format!(r##"<feImage href="#g{}"/>"##, level - 1).repeat(2);
            let filter = format!(r#"<filter id="f{level}">{image}</filter>"#);
            format!(r#"{filter}<g id="g{level}" filter="url(#z) url(#f{level})">{RECT}</g>"#)
        })
        .collect();
    let first = format!(r#"<filter id="z"><feFlood/></filter><g id="g0">{RECT}</g>"#);
    let bomb = format!(r##"<defs>{first}{levels}</defs><use href="#g15"/>"##);
    assert_eq!(outcome(svg(&bomb)), "svg_rejected");
}
