//! Tests that redirects in a crawl are followed for robots.txt, and reported to the caller
//! otherwise.

use std::time::Duration;

use everytab_fetcher::{
    ContentTypes, CutReason, DelaySettings, HostClient, HostDelay, MAX_SITEMAP_BYTES, Outcome,
    PageOptions, PageRequest, Purpose, RobotsEffect, Validators,
};

use super::{
    page_answers::{get, html, page},
    support::*,
};

#[tokio::test]
async fn a_pages_redirect_is_reported_and_not_followed() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/other" => redirect("https://B.test:443/x#part"),
        "/self" => redirect("self"),
        "/private" => redirect("http://127.0.0.1:8080/"),
        "/ftp" => redirect("ftp://a.test/"),
        "/port" => redirect("http://a.test:22/"),
        "/none" => status("302 Found"),
        _ => html(b"page"),
    })
    .await;
    let media = Purpose::media(1_000, ContentTypes::images());
    for (path, outcome, to) in [
        ("other", Outcome::Redirected, Some("https://b.test/x")),
        ("self", Outcome::Redirected, Some("http://a.test/self")),
        ("private", Outcome::Redirected, Some("http://127.0.0.1:8080/")),
        ("ftp", Outcome::RedirectBadScheme, None),
        ("port", Outcome::Redirected, Some("http://a.test:22/")),
        ("none", Outcome::Http4xx, None),
    ] {
        for purpose in [page(), media.clone()] {
            let url = format!("http://a.test/{path}");
            let fetched = get(&net, PageRequest::new(&url, &purpose)).await;
            assert_eq!((fetched.outcome, fetched.redirect.as_deref()), (outcome, to), "{path}");
            assert_eq!((fetched.status, fetched.exchanges.len()), (Some(302), 1), "{path}");
            assert_eq!(fetched.truncated, Some(CutReason::Length), "its body is not read");
            assert!(fetched.body.is_empty());
        }
    }
    assert_eq!(net.server.seen.paths().len(), 12, "nothing was followed");
}

#[tokio::test]
async fn the_caller_passes_cookies_along_a_chain_and_only_their_host_gets_them() {
    let net = Net::start(|asked| match header(&asked.head, "cookie").as_deref() {
        None => {
            let lines = ["set-cookie: seen=1; Path=/; HttpOnly", "location: /page"];
            Reply::Send(answer_with("302 Found", &lines, b""))
        }
        Some("seen=1") => html(b"page"),
        _ => status("500 Wrong Cookie"),
    })
    .await;
    let purpose = page();
    let first = get(&net, PageRequest::new("http://a.test/", &purpose)).await;
    assert_eq!((first.outcome, first.truncated), (Outcome::Redirected, None), "it has no body");
    let url = first.redirect.expect("a redirect");
    let cookies = first.cookies.clone();
    let second = get(&net, PageRequest { cookies, ..PageRequest::new(&url, &purpose) }).await;
    assert_eq!(second.outcome, Outcome::Ok);
    let other =
        PageRequest { cookies: first.cookies, ..PageRequest::new("http://b.test/", &purpose) };
    assert_eq!(get(&net, other).await.outcome, Outcome::Redirected, "no cookie is sent");
}

#[tokio::test]
async fn five_redirects_of_a_robots_txt_are_followed_even_to_other_hosts() {
    let net = Net::start(|asked| {
        let number: usize = asked.path.trim_start_matches("/n").parse().unwrap_or(0);
        match (asked.host.as_str(), asked.path.as_str()) {
            ("a.test", "/robots.txt") => redirect("http://b.test/robots.txt"),
            ("b.test", "/robots.txt") => {
                Reply::Send(answer_with("200 OK", &["content-type: text/html"], b"Disallow: /"))
            }
            (_, "/self") => redirect("/self"),
            (_, "/n0") => html(b"rules"),
            _ => redirect(&format!("/n{}", number - 1)),
        }
    })
    .await;
    let validators = Validators { etag: Some("\"v1\"".to_owned()), last_modified: None };
    let purpose = Purpose::robots();
    let request = PageRequest::new("http://a.test/robots.txt", &purpose);
    let request = PageRequest { validators: validators.clone(), ..request };
    let fetched = get(&net, request).await;
    assert_eq!((fetched.outcome, &fetched.body[..]), (Outcome::Ok, &b"Disallow: /"[..]));
    let urls: Vec<&str> = fetched.exchanges.iter().map(|one| one.url.as_str()).collect();
    assert_eq!(urls, ["http://a.test/robots.txt", "http://b.test/robots.txt"]);
    let statuses: Vec<_> = fetched.exchanges.iter().map(|one| one.status).collect();
    assert_eq!(statuses, [Some(302), Some(200)]);
    let conditional = fetched.exchanges.iter().map(|one| {
        header(std::str::from_utf8(&one.request_head).expect("text"), "if-none-match").is_some()
    });
    assert_eq!(conditional.collect::<Vec<_>>(), [true, false], "only of the first URL");
    assert!(fetched.exchanges.iter().all(|one| !one.response_head.is_empty()));
    for (path, outcome, exchanges) in [
        ("n5", Outcome::Ok, 6),
        ("n6", Outcome::RedirectLimit, 6),
        ("self", Outcome::RedirectLoop, 1),
    ] {
        let url = format!("http://a.test/{path}");
        let fetched = get(&net, PageRequest::new(&url, &purpose)).await;
        assert_eq!((fetched.outcome, fetched.exchanges.len()), (outcome, exchanges), "{path}");
    }
    let sitemap = Purpose::sitemap();
    let fetched = get(&net, PageRequest::new("http://a.test/robots.txt", &sitemap)).await;
    assert_eq!((fetched.outcome, fetched.exchanges.len()), (Outcome::Redirected, 1));
    assert_eq!(fetched.redirect.as_deref(), Some("http://b.test/robots.txt"));
}

#[tokio::test]
async fn the_outcome_of_a_robots_txt_decides_its_effect() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/404" => status("404 Not Found"),
        "/403" => status("403 Forbidden"),
        "/418" => status("418 Teapot"),
        "/429" => status("429 Too Many Requests"),
        "/503" => status("503 Later"),
        "/empty" => ok(b""),
        "/30mb" => ok(&vec![b'#'; 30 << 20]),
        _ => ok(b"Disallow: /"),
    })
    .await;
    let purpose = Purpose::robots();
    for (path, answer, bytes) in [
        ("404", RobotsEffect::NoRules, 2),
        ("403", RobotsEffect::NoRules, 2),
        ("418", RobotsEffect::Allowed, 2),
        ("429", RobotsEffect::Forbidden, 2),
        ("503", RobotsEffect::Forbidden, 2),
        ("empty", RobotsEffect::NoRules, 0),
        ("30mb", RobotsEffect::Rules, 500 << 10),
        ("rules", RobotsEffect::Rules, 11),
    ] {
        let fetched = get(&net, PageRequest::new(&format!("http://a.test/{path}"), &purpose)).await;
        assert_eq!(
            (fetched.outcome.robots_effect(), fetched.body.len()),
            (answer, bytes),
            "{path}"
        );
    }
    let fetched = get(&net, PageRequest::new("http://missing.test/robots.txt", &purpose)).await;
    assert_eq!(fetched.outcome.robots_effect(), RobotsEffect::NoResponse);
}

#[tokio::test]
async fn a_sitemap_is_cut_at_its_limit() {
    let net =
        Net::start(|_| Reply::Send(answer_with("200 OK", &[], &vec![b' '; MAX_SITEMAP_BYTES + 1])))
            .await;
    let purpose = Purpose::sitemap();
    let fetched = get(&net, PageRequest::new("http://a.test/sitemap.xml", &purpose)).await;
    assert_eq!((fetched.outcome, fetched.truncated), (Outcome::Ok, Some(CutReason::Length)));
    assert_eq!(fetched.body.len(), MAX_SITEMAP_BYTES);
}

#[tokio::test]
async fn a_redirect_on_the_same_host_waits_for_its_delay() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/robots.txt" => redirect("/robots"),
        "/robots" => redirect("http://b.test/rules"),
        "/rules" => redirect("http://a.test/back"),
        _ => html(b"rules"),
    })
    .await;
    net.dns.point("b.test", "127.0.0.1");
    let mut client =
        HostClient::new(&net.fetcher(), PageOptions::default().into(), HostDelay::default());
    let delay = Duration::from_millis(300);
    let settings = DelaySettings { delay, factor: 0.0, ..DelaySettings::default() };
    let purpose = Purpose::robots();
    let request = PageRequest::new("http://a.test/robots.txt", &purpose);
    let fetched = client.fetch(&request, &settings).await.expect("no local failure");
    assert_eq!(fetched.outcome, Outcome::Ok);
    let [first, second, _, last] = &fetched.exchanges[..] else {
        panic!("{:?}", fetched.exchanges)
    };
    for (one, next) in [(first, second), (second, last)] {
        let apart = (next.asked_at - one.asked_at).to_std().expect("in order");
        assert!(apart >= delay, "{apart:?} before {}", next.url);
    }
}
