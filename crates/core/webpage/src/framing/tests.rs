//! Expected values follow from the algorithms, and agree with the web platform tests
//! x-frame-options/{deny,invalid,commas,multiple}.html.

use super::*;

fn judged(headers: &[(&str, &str)]) -> Framing {
    let headers: Vec<(String, Vec<u8>)> = std::iter::once(&("server", "x"))
        .chain(headers)
        .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
        .collect();
    let page = Url::parse("https://page.example/").unwrap();
    let content_type = crate::content_type::extract(&headers);
    evaluate(Some(&page), &headers, content_type.as_ref())
}

fn frame_options(lines: &[&str]) -> bool {
    let headers: Vec<_> = lines.iter().map(|value| ("x-frame-options", *value)).collect();
    judged(&headers).frameable(None)
}

#[test]
fn frame_options_that_block() {
    for lines in [
        &["DENY"][..],
        &["denY"],
        &["SAMEORIGIN"],
        &[" DENY "],
        &["SAMEORIGIN", "SAMEORIGIN"],
        &["SAMEORIGIN,"],
        &[",SAMEORIGIN,,DENY,"],
        &["ALLOWALL,INVALID"],
        &["ALLOWALL,"],
        &["ALLOW-FROM https://a.example, SAMEORIGIN"],
        &["SAMEORIGIN,\"DENY\""],
        &["  SAMEORIGIN,    DENY"],
        &["INVALID", "DENY"],
        &["DENY", "DENY"],
    ] {
        assert!(!frame_options(lines), "{lines:?}");
    }
}

#[test]
fn frame_options_that_do_not_block() {
    for lines in [
        &["ALLOWALL"][..],
        &["INVALID"],
        &["INVALID, INVALID"],
        &["INVALID", "OTHER"],
        &["ALLOW-FROM https://a.example"],
        &["ALLOW-FROM=https://a.example"],
        &["\"DENY\""],
        &["\"SAMEORIGIN,DENY\""],
        &[""],
        &["SAMEORIGIN; DENY"],
        &["DENY;"],
        &["'DENY'"],
    ] {
        assert!(frame_options(lines), "{lines:?}");
    }
}

const CSP: &str = "content-security-policy";

#[test]
fn an_enforced_frame_ancestors_overrides_frame_options() {
    let deny = ("x-frame-options", "DENY");
    let with = |policy| judged(&[deny, (CSP, policy)]);
    assert!(with("frame-ancestors *").frameable(None));
    assert!(!with("default-src 'self'").frameable(None));
    assert_eq!(with("default-src 'self'").rule, "x_frame_options_deny");
    let report = judged(&[("content-security-policy-report-only", "frame-ancestors 'none'")]);
    assert_eq!((report.verdict, report.rule), (Verdict::Allowed, "none"));
    assert_eq!(judged(&[(CSP, "default-src 'none'")]).verdict, Verdict::Allowed);
}

#[test]
fn the_verdict_names_its_rule() {
    let of = |policies: &[&str]| {
        let headers: Vec<_> = policies.iter().map(|policy| (CSP, *policy)).collect();
        let found = judged(&headers);
        (found.verdict, found.rule)
    };
    use Verdict::{Allowed, Blocked, Conditional};
    assert_eq!(of(&["frame-ancestors https:"]), (Allowed, "frame_ancestors_any"));
    assert_eq!(of(&["frame-ancestors"]), (Blocked, "frame_ancestors_none"));
    assert_eq!(of(&["frame-ancestors 'none'"]), (Blocked, "frame_ancestors_none"));
    assert_eq!(of(&["frame-ancestors 'self'"]), (Blocked, "frame_ancestors_self"));
    assert_eq!(of(&["frame-ancestors v.example"]), (Conditional, "frame_ancestors_list"));
    assert_eq!(of(&["frame-ancestors v.example/x"]), (Blocked, "frame_ancestors_self"));
    assert_eq!(
        of(&["frame-ancestors *", "frame-ancestors 'none'"]),
        (Blocked, "frame_ancestors_none")
    );
    assert_eq!(
        of(&["frame-ancestors 'none'", "frame-ancestors v.example"]),
        (Blocked, "frame_ancestors_none")
    );
    assert_eq!(
        of(&["frame-ancestors *, frame-ancestors v.example"]),
        (Conditional, "frame_ancestors_list")
    );
}

#[test]
fn a_verdict_can_be_evaluated_for_another_viewer() {
    let found = judged(&[(CSP, "frame-ancestors 'self' https://tabs.example")]);
    let viewer = |url: &str| found.frameable(Some(&Url::parse(url).unwrap()));
    assert_eq!(found.verdict, Verdict::Conditional);
    assert_eq!(found.header, Some(CSP));
    assert_eq!(found.value.as_deref(), Some("'self' https://tabs.example"));
    assert!(!found.frameable(None));
    assert!(viewer("https://tabs.example/"));
    assert!(viewer("https://page.example/"));
    assert!(!viewer("https://other.example/"));
}

#[test]
fn downloads_are_not_framed_and_missing_headers_are_unknown() {
    let rule = |headers: &[(&str, &str)]| judged(headers).rule;
    assert_eq!(rule(&[("content-type", "image/png")]), "not_html");
    assert_eq!(rule(&[("content-type", "text/html;charset=x")]), "none");
    assert_eq!(rule(&[("content-type", "junk")]), "none");
    assert_eq!(rule(&[("content-disposition", "Attachment; filename=a")]), "attachment");
    assert_eq!(rule(&[("content-disposition", "inline")]), "none");
    assert_eq!(rule(&[("content-disposition", "form-data; name=f")]), "attachment");
    assert_eq!(rule(&[("content-disposition", "inline, x")]), "attachment");
    let unknown = evaluate(None, &[], None);
    assert_eq!((unknown.verdict, unknown.rule), (Verdict::Unknown, "no_headers"));
    assert!(unknown.frameable(None));
}

#[test]
fn an_http_page_is_never_framed() {
    let open = judged(&[]);
    assert!(iframe_ok("https", &open, None));
    assert!(!iframe_ok("http", &open, None));
    assert!(!iframe_ok("https", &judged(&[("x-frame-options", "DENY")]), None));
}
