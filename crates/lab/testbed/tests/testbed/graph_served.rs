//! A site graph over the real listeners: traps, conditional requests, the access log.

use std::{collections::BTreeMap, io::Read, time::Duration};

use everytab_testbed::{
    AccessLogTarget, GraphSettings, Running, Trap, check_politeness, read_access_log,
};
use tempfile::TempDir;

use crate::client::{client_of, port, start_graph};

struct Trapped {
    running: Running,
    _scratch: TempDir,
    client: reqwest::Client,
    origin: String,
    host: String,
}

impl Trapped {
    async fn new(trap: Trap) -> Self {
        let settings = GraphSettings {
            traps: vec![trap],
            trap_hosts: 1_000,
            ..GraphSettings::plain(30, 20, 200)
        };
        let (running, _scratch) = start_graph(settings).await;
        let graph = running.graph().unwrap();
        let number = (0..30).find(|host| graph.trap(*host) == Some(trap)).unwrap();
        let host = graph.host_name(number);
        let scheme = if graph.has_https(number) { "https" } else { "http" };
        let origin = format!("{scheme}://{host}:{}", port(&running, scheme));
        let farm = (0..100).map(|number| format!("farm{number}.{host}"));
        let hosts: Vec<String> = farm.chain([host.clone()]).collect();
        let client = client_of(&running, &hosts).await;
        Self { running, _scratch, client, origin, host }
    }

    async fn answer(&self, target: &str) -> reqwest::Response {
        self.client.get(format!("{}{target}", self.origin)).send().await.unwrap()
    }

    async fn text(&self, target: &str) -> String {
        self.answer(target).await.text().await.unwrap()
    }

    async fn links(&self, target: &str) -> Vec<String> {
        let text = self.text(target).await;
        let values = text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        values.map(|value| value.replace("&amp;", "&")).collect()
    }
}

async fn named_sitemaps(trapped: &Trapped) -> Vec<String> {
    let text = trapped.text("/robots.txt").await;
    let urls = text.lines().filter_map(|line| line.strip_prefix("Sitemap: "));
    urls.map(|url| url.splitn(4, '/').skip(3).map(|path| format!("/{path}")).collect()).collect()
}

#[tokio::test]
async fn home_pages_link_to_their_traps() {
    for trap in Trap::ALL {
        let trapped = Trapped::new(trap).await;
        let links = if trap.is_of_sitemaps() {
            named_sitemaps(&trapped).await
        } else {
            trapped.links("/").await
        };
        for entry in trap.entries() {
            assert!(links.iter().any(|link| link == entry), "{trap:?}: {links:?}");
            let url = format!("http://{}{entry}", trapped.host);
            assert_eq!(trapped.running.graph().unwrap().trap_of_url(&url), Some(trap));
        }
        let page = format!("http://{}/p/4.html", trapped.host);
        assert_eq!(trapped.running.graph().unwrap().trap_of_url(&page), None);
    }
}

#[tokio::test]
async fn traps_of_links_lead_to_new_urls_again_and_again() {
    for (trap, first) in [
        (Trap::Calendar, "/calendar/2026/11"),
        (Trap::EndlessQuery, "/filter?color=1"),
        (Trap::RepeatedSegments, "/deep/"),
        (Trap::HostSegment, "/about/"),
        (Trap::SessionPath, "/session/0/list"),
        (Trap::BaseGame, "/base/0/"),
        (Trap::Facets, "/shop/"),
        (Trap::SoftNotFound, "/missing/1"),
    ] {
        let trapped = Trapped::new(trap).await;
        let mut seen = vec![first.to_owned()];
        for _ in 0..30 {
            let target = seen.last().unwrap().clone();
            let mut links = trapped.links(&target).await;
            let base = url::Url::parse(&format!("http://x{target}")).unwrap();
            let base = match trap {
                Trap::BaseGame => base.join(&links.remove(0)).unwrap(),
                _ => base,
            };
            let resolved = links.iter().map(|link| base.join(link).unwrap());
            let new = resolved
                .map(|url| url[url::Position::BeforePath..].to_owned())
                .find(|target| target != "/" && !seen.contains(target));
            seen.push(new.unwrap_or_else(|| panic!("{trap:?}: nothing new on {target}")));
        }
        let last = seen.last().unwrap();
        match trap {
            Trap::Calendar => assert!(last.starts_with("/calendar/20"), "{last}"),
            Trap::EndlessQuery => assert_eq!(last.matches('=').count(), 31, "{last}"),
            Trap::RepeatedSegments => assert!(last.ends_with(&"more/".repeat(29)), "{last}"),
            Trap::HostSegment => assert!(last.matches(&trapped.host).count() > 28, "{last}"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_link_farm_has_hosts_without_end() {
    let trapped = Trapped::new(Trap::LinkFarm).await;
    let (scheme, port) = trapped.origin.split_once(&format!("://{}:", trapped.host)).unwrap();
    let entry = format!("{scheme}://farm0.{}/", trapped.host);
    assert!(trapped.links("/").await.contains(&entry));
    let mut hosts = std::collections::BTreeSet::new();
    for number in 0..4 {
        let url = format!("{scheme}://farm{number}.{}:{port}/", trapped.host);
        let text = trapped.client.get(url).send().await.unwrap().text().await.unwrap();
        hosts.extend(text.split(scheme).filter(|rest| rest.contains("farm")).map(str::to_owned));
    }
    assert_eq!(hosts.len(), 80);
    let graph = trapped.running.graph().unwrap();
    assert_eq!(graph.trap_of_url(&entry), Some(Trap::LinkFarm));
    assert_eq!(graph.host_of_name(&format!("farm0.{}", trapped.host)), None);
}

#[tokio::test]
async fn redirects_and_refreshing_pages_never_end() {
    let trapped = Trapped::new(Trap::RedirectLoop).await;
    for (from, to) in [("/loop/0", "/loop/1"), ("/loop/1", "/loop/2"), ("/loop/2", "/loop/0")] {
        assert_eq!(trapped.answer(from).await.headers()["location"], to);
    }
    let trapped = Trapped::new(Trap::RedirectChain).await;
    assert_eq!(trapped.answer("/chain/12345").await.headers()["location"], "/chain/12346");
    let trapped = Trapped::new(Trap::MetaRefreshLoop).await;
    assert!(trapped.text("/refresh/2").await.contains("content=\"0; url=/refresh/0\""));
}

#[tokio::test]
async fn bodies_are_as_long_as_it_is_said() {
    let trapped = Trapped::new(Trap::ManyLinks).await;
    assert_eq!(trapped.links("/many").await.len(), 12_001);
    assert_eq!(trapped.links("/many/11999").await, ["/", "/"]);

    let trapped = Trapped::new(Trap::EndlessBody).await;
    let mut answer = trapped.answer("/endless").await;
    assert_eq!(answer.content_length(), None);
    let mut read = 0;
    while read < 5_000_000 {
        read += answer.chunk().await.unwrap().unwrap().len();
    }

    let trapped = Trapped::new(Trap::GzipBomb).await;
    let answer = trapped.answer("/bomb").await;
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let packed = answer.bytes().await.unwrap();
    assert!(packed.len() < 2_000_000, "{}", packed.len());
    let mut piece = vec![0; 1 << 20];
    let mut unpacked = flate2::read::MultiGzDecoder::new(&*packed);
    let mut bytes = 0;
    loop {
        match unpacked.read(&mut piece).unwrap() {
            0 => break,
            read => bytes += read,
        }
    }
    assert_eq!(bytes, 1 << 30);
}

#[tokio::test]
async fn robots_files_are_as_bad_as_it_is_said() {
    let trapped = Trapped::new(Trap::RobotsHuge).await;
    let text = trapped.text("/robots.txt").await;
    assert!(text.len() > 30_000_000 && text.starts_with("User-agent: *\nDisallow: /private/\n"));
    let trapped = Trapped::new(Trap::RobotsHtml).await;
    let answer = trapped.answer("/robots.txt").await;
    assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let trapped = Trapped::new(Trap::RobotsUnavailable).await;
    for _ in 0..3 {
        assert_eq!(trapped.answer("/robots.txt").await.status(), 503);
    }
    let trapped = Trapped::new(Trap::RobotsDelay).await;
    assert!(trapped.text("/robots.txt").await.contains("Crawl-delay: 1000000000\n"));
}

#[tokio::test]
async fn types_lie_and_pages_are_in_utf_16() {
    let trapped = Trapped::new(Trap::LyingTypes).await;
    for (target, declared, start) in [
        ("/lying/html-as-png", Some("image/png"), &b"<!DOCTYPE"[..]),
        ("/lying/png-as-html", Some("text/html; charset=utf-8"), b"\x89PNG"),
        ("/lying/zip-as-text", Some("text/plain"), b"PK"),
        ("/lying/no-type", None, b"<!DOCTYPE"),
    ] {
        let answer = trapped.answer(target).await;
        let found = answer.headers().get("content-type").map(|value| value.to_str().unwrap());
        assert_eq!(found, declared, "{target}");
        assert!(answer.bytes().await.unwrap().starts_with(start), "{target}");
    }
    let trapped = Trapped::new(Trap::Utf16).await;
    for (target, encoding) in [
        ("/utf16/le-bom", encoding_rs::UTF_16LE),
        ("/utf16/be-bom", encoding_rs::UTF_16BE),
        ("/utf16/le-header", encoding_rs::UTF_16LE),
    ] {
        let bytes = trapped.answer(target).await.bytes().await.unwrap();
        let (text, _, is_broken) = encoding.decode(&bytes);
        assert!(!is_broken && text.contains("Grüße – ☃"), "{target}: {text}");
        assert!(text.contains("<a href=\"/utf16/behind-"), "{target}: {text}");
    }
    assert_eq!(trapped.answer("/utf16/behind-le").await.status(), 200);
}

#[tokio::test]
async fn an_unchanged_page_is_answered_with_304_and_a_changed_one_whole() {
    let settings = GraphSettings { changing: 500, ..GraphSettings::plain(2, 1, 60) };
    let (running, _scratch) = start_graph(settings).await;
    let graph = running.graph().unwrap();
    let hosts: Vec<String> = running.hosts().collect();
    let client = client_of(&running, &hosts).await;
    let ask = |url: String, tag: Option<reqwest::header::HeaderValue>| {
        let mut url = url::Url::parse(&url).unwrap();
        url.set_port(Some(port(&running, url.scheme()))).unwrap();
        let request = client.get(url);
        let request = match tag {
            Some(tag) => request.header("if-none-match", tag),
            None => request,
        };
        async move { request.send().await.unwrap() }
    };
    let mut statuses = BTreeMap::new();
    for host in 0..2 {
        for page in 0..graph.pages_of(host) {
            running.set_day(0);
            let page = everytab_testbed::GraphPage { host, page };
            let tag = ask(graph.url(page), None).await.headers()["etag"].clone();
            assert_eq!(ask(graph.url(page), Some(tag.clone())).await.status(), 304);
            running.set_day(1);
            let status = ask(graph.url(page), Some(tag)).await.status().as_u16();
            assert_eq!(status == 200, graph.changes(page));
            *statuses.entry(status).or_insert(0) += 1;
        }
    }
    assert_eq!(statuses.keys().copied().collect::<Vec<_>>(), [200, 304]);
}

#[tokio::test]
async fn the_access_log_has_every_request_with_its_times() {
    let settings =
        GraphSettings { slow: 1_000, slow_ms: (30, 60), ..GraphSettings::plain(6, 4, 60) };
    let (running, scratch) = start_graph(settings).await;
    let graph = running.graph().unwrap();
    let hosts: Vec<String> = running.hosts().collect();
    let client = client_of(&running, &hosts).await;
    let get = |host: u64, target: &'static str| {
        let mut url = url::Url::parse(&graph.url(graph.home(host))).unwrap().join(target).unwrap();
        url.set_port(Some(port(&running, url.scheme()))).unwrap();
        let client = client.clone();
        async move { client.get(url).send().await.unwrap().bytes().await.unwrap() }
    };
    get(0, "/before").await;
    running.log_accesses(&AccessLogTarget::Memory(100)).unwrap();
    let mut asked = Vec::new();
    for host in 0..6 {
        for target in ["/", "/robots.txt", "/missing?x=1"] {
            get(host, target).await;
            asked.push((graph.host_name(host), target.to_owned()));
        }
    }
    let lines = running.access_lines();
    let logged: Vec<(String, String)> =
        lines.iter().map(|line| (line.host.clone(), line.path.clone())).collect();
    assert_eq!(logged, asked);
    assert!(lines.iter().all(|line| line.end_us - line.start_us >= 30_000), "{lines:?}");
    assert!(lines.iter().all(|line| line.address.is_loopback()));
    assert!(lines.iter().all(|line| (line.status == 404) == line.path.starts_with("/missing")
        || line.path == "/robots.txt"));
    assert_eq!(check_politeness(&lines, |_| Duration::ZERO), [], "one after the other");
    let faults = check_politeness(&lines, |_| Duration::from_secs(3_600));
    assert_eq!(faults.len(), 12, "two of three requests of each host");

    tokio::join!(get(5, "/"), get(5, "/robots.txt"));
    let faults = check_politeness(&running.access_lines(), |_| Duration::ZERO);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].gap.is_none() && faults[0].later.host == graph.host_name(5));

    let path = scratch.path().join("access.log");
    running.log_accesses(&AccessLogTarget::File(path.clone())).unwrap();
    get(1, "/").await;
    assert_eq!((running.access_lines(), running.lost_accesses()), (Vec::new(), 0));
    let lines = read_access_log(&path).unwrap();
    assert_eq!((lines.len(), &lines[0].host), (1, &graph.host_name(1)));
}
