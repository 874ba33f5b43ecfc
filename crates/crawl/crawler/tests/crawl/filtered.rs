//! Tests that crawls reject links and pages because of filters or `noarchive`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use everytab_commoncrawl::warc::{Limits, Records};
use everytab_coordinator::CrawlStatus;
use everytab_crawl_settings::{CrawlSettings, FrozenFilter, FrozenList, SearchOption};
use everytab_filters::{
    Filter, FilterSet, FilterSettings, ListFileKind, LoadedList, NameList, NameListBuilder,
};
use everytab_frontier::{CanonicalUrl, ParameterList};
use everytab_testbed::{ClosedCrawl, GraphSettings, OracleScope, PageKind};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixListener,
};

use crate::world::{World, assert_same, settings};

fn graph() -> GraphSettings {
    GraphSettings { hosts: 8, sites: 4, pages: 160, ..GraphSettings::default() }
}

fn frozen(filter: Value, lists: Vec<FrozenList>) -> FrozenFilter {
    let filter = FilterSettings::of_value(filter).unwrap();
    FrozenFilter { name: "test".to_owned(), version: 1, filter, lists }
}

fn filtered(filter: FrozenFilter) -> CrawlSettings {
    CrawlSettings { filters: vec![filter], ..settings("any") }
}

/// Builds a domain list as an object. [`put`] adds it to the store.
fn list_of(world: &World, domains: &[&str]) -> (FrozenList, Vec<u8>) {
    let mut builder = NameListBuilder::default();
    for domain in domains {
        builder.add_line("all", ListFileKind::Domains, domain.as_bytes()).unwrap();
    }
    let object = builder.build();
    let list = FrozenList {
        name: "list".to_owned(),
        version: 1,
        store: format!("file://{}", world.directory("lists").display()),
        object: "lists/list/1.list".to_owned(),
        sha256: hex::encode(Sha256::digest(&object)),
        bytes: object.len() as u64,
    };
    (list, object)
}

fn put(world: &World, list: &FrozenList, object: &[u8]) {
    let path = world.directory("lists").join(&list.object);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, object).unwrap();
}

fn count(counts: &Value, name: &str) -> i64 {
    counts.get(name).and_then(Value::as_i64).unwrap_or_default()
}

fn archived_urls(world: &World) -> BTreeSet<String> {
    let archives = world.sql("select object from everytab.crawl_archives");
    let mut urls = BTreeSet::new();
    for object in archives.lines() {
        let archive = std::fs::read(world.directory("store").join(object)).unwrap();
        let records = Records::new(&archive, Limits::default());
        urls.extend(records.filter_map(|(_, record)| record.unwrap().target_uri()));
    }
    urls
}

fn outcomes(recorded: &BTreeMap<String, String>) -> BTreeMap<&str, usize> {
    let mut outcomes = BTreeMap::new();
    for outcome in recorded.values() {
        *outcomes.entry(outcome.as_str()).or_default() += 1;
    }
    outcomes
}

async fn crawl(world: &World, settings: &CrawlSettings) -> (CrawlStatus, BTreeMap<String, String>) {
    let id = world.start(settings, None, &[world.graph().home(0)]).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    assert_eq!(status.ended_by.as_deref(), Some("empty"));
    (status, world.recorded(id).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_dropped_by_patterns_and_lists_are_counted_but_never_known() {
    let world = World::new(21, graph()).await;
    let site = world.graph().site_name(1);
    let (list, object) = list_of(&world, &[&site]);
    put(&world, &list, &object);
    let filter = json!({
        "rules": [{ "pattern": "re:[24]$", "verdict": "drop" }],
        "lists": [{ "name": "list", "mode": "drop" }],
    });
    let filter = frozen(filter, vec![list]);
    let compiled = Filter::compile(&filter.filter, |_| {
        let list = NameList::open(Arc::new(object.clone())).unwrap();
        Some(LoadedList::Names(Arc::new(list)))
    });
    let set = FilterSet::new(vec![compiled.unwrap()]).unwrap();
    let (status, recorded) = crawl(&world, &filtered(filter)).await;
    for key in recorded.keys() {
        let url = CanonicalUrl::parse(key, &ParameterList::default()).unwrap();
        assert_eq!(set.decide_url(&url, false), None, "{key}");
    }
    assert!(count(&status.links_refused, "filter_rule") > 0, "{status:?}");
    assert!(count(&status.links_refused, "filter_list") > 0, "{status:?}");
    let all = world.expected(ClosedCrawl::new(vec![world.graph().home(0)], OracleScope::Any));
    assert!(recorded.len() > 1 && recorded.len() < all.len());
    assert!(world.requests().iter().all(|line| !line.host.ends_with(&site)), "{site}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_dropped_by_words_has_a_row_but_no_record_or_links() {
    let world = World::new(22, graph()).await;
    let (_, all) = crawl(&world, &settings("any")).await;
    let titles = world.sql(
        "select split_part(title, ' ', 1), count(*) from everytab.fetches
          where outcome = 'ok' and depth > 0 group by 1 order by 2 desc, 1 limit 1",
    );
    let (word, _) = titles.split_once('|').unwrap();
    let filter = json!({ "words": { "weights": { word: 1 }, "threshold": 1, "in": ["title"] } });
    let filtered = filtered(frozen(filter, Vec::new()));
    let searched = CrawlSettings { search: SearchOption::On, ..filtered };
    let (status, recorded) = crawl(&world, &searched).await;
    let dropped = outcomes(&recorded).remove("filtered_words").unwrap_or_default();
    let texts = world.sql(
        "select count(*) > 0, count(*) filter (where f.outcome <> 'ok')
           from everytab.fetch_texts t join everytab.fetches f using (crawl, host_hash, url_hash)",
    );
    assert_eq!(texts, "t|0");
    assert!(dropped > 0, "{word}: {recorded:?}");
    assert_eq!(count(&status.refused, "filtered_words"), i64::try_from(dropped).unwrap());
    assert!(recorded.len() <= all.len());
    let kept = world.sql(
        "select count(*) from everytab.fetches
          where outcome = 'filtered_words' and (archive is not null or status <> 200
                                             or sha256 is null)",
    );
    assert_eq!(kept, "0");
    let of_word = format!(
        "select count(*) from everytab.fetches where crawl = {} and title like '{word} %'
            and outcome <> 'filtered_words'",
        status.crawl
    );
    assert_eq!(world.sql(&of_word), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_noarchive_page_has_a_row_but_no_record_and_its_links_are_followed() {
    let world = World::new(26, GraphSettings { noarchive: 300, ..graph() }).await;
    let searched = CrawlSettings { search: SearchOption::On, ..settings("any") };
    let (status, recorded) = crawl(&world, &searched).await;
    let all = ClosedCrawl::new(vec![world.graph().home(0)], OracleScope::Any);
    assert_same(&recorded, &world.expected(all.clone()));
    let pages: Vec<_> = world.graph().oracle(all).filter_map(|fetch| fetch.page).collect();
    let of_kind = |kind| pages.iter().filter(|page| world.graph().kind(**page) == kind).count();
    let by = [PageKind::NoarchiveMeta, PageKind::NoarchiveHeader].map(of_kind);
    assert!(by.iter().all(|pages| *pages > 5), "{by:?}");
    assert_eq!(count(&status.refused, "noarchive"), (by[0] + by[1]) as i64, "{status:?}");
    let kept = world.sql(
        "select count(*) filter (where f.archive is not null), count(t.crawl),
                count(*) filter (where f.sha256 is null or f.status <> 200)
           from everytab.fetches f left join everytab.fetch_texts t
                using (crawl, host_hash, url_hash)
          where f.outcome = 'noarchive'",
    );
    assert_eq!(kept, "0|0|0");
    let refused = world.sql("select url from everytab.fetches where outcome = 'noarchive'");
    let kept = world.sql("select url from everytab.fetches where outcome = 'ok'");
    let archived = archived_urls(&world);
    assert!(kept.lines().all(|url| archived.contains(url)));
    assert!(!refused.lines().any(|url| archived.contains(url)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_in_a_dropped_language_have_a_row_with_it_but_no_record() {
    let world = World::new(25, graph()).await;
    let filter = json!({ "languages": { "drop": ["jpn"] } });
    let (_, all) = crawl(&world, &filtered(frozen(filter, Vec::new()))).await;
    assert!(!all.values().any(|outcome| outcome == "filtered_language"));
    let language = world.sql(
        "select language from everytab.fetches
          where depth > 0 and language <> '' group by 1 order by count(*) desc, 1 limit 1",
    );
    assert_eq!(language.len(), 3, "the pages have a detectable language");
    let filter = json!({ "languages": { "drop": [language] } });
    let (status, recorded) = crawl(&world, &filtered(frozen(filter, Vec::new()))).await;
    let dropped = outcomes(&recorded).remove("filtered_language").unwrap_or_default();
    assert!(dropped > 0, "{language}: {recorded:?}");
    let of_language = format!(
        "select count(*) filter (where outcome <> 'filtered_language' or archive is not null),
                count(*) from everytab.fetches where crawl = {} and language = '{language}'",
        status.crawl
    );
    assert_eq!(world.sql(&of_language), format!("0|{dropped}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_waits_for_its_list_and_holds_no_other_crawl_back() {
    let world = World::new(23, graph()).await;
    let home = world.graph().home(0);
    let host = world.graph().host_name(0);
    let (list, object) = list_of(&world, &[&host]);
    let filter = json!({ "lists": [{ "name": "list", "mode": "drop" }] });
    let filter = frozen(filter, vec![list.clone()]);
    // An object with the right length but other content must not be used.
    put(&world, &list, &vec![0; object.len()]);
    let id = world.start(&filtered(filter), None, &[home]).await;
    let other = world.start(&settings("site"), None, &[world.graph().home(1)]).await;
    let worker = world.worker("worker-1", |_| {});
    assert!(world.ended(other).await.captured > 0);
    let waiting = world.status(id).await;
    assert_eq!((waiting.state.as_str(), waiting.captured), ("running", 0), "{waiting:?}");
    put(&world, &list, &object);
    let status = world.ended(id).await;
    worker.finish().await;
    // The seed was added before the list was available, so it is rejected when it is due.
    assert_eq!((status.known, count(&status.refused, "filtered_list")), (1, 1), "{status:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_classifier_drops_pages_and_the_links_of_others() {
    let world = World::new(24, graph()).await;
    let socket = world.directory("classifier.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let home = world.graph().url(world.graph().home(0));
    let server = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let home = home.clone();
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                stream.read_line(&mut line).await.unwrap();
                let question: Value = serde_json::from_str(&line).unwrap();
                let is_home = question["url"] == home.as_str();
                let answer = if is_home { "keep" } else { "drop" };
                let line = format!("{{\"verdict\":\"{answer}\",\"labels\":[\"other\"]}}\n");
                stream.get_mut().write_all(line.as_bytes()).await.ok();
            });
        }
    });
    let filter = json!({ "classifier": { "socket": socket.to_str().unwrap() } });
    let (status, recorded) = crawl(&world, &filtered(frozen(filter, Vec::new()))).await;
    server.abort();
    let outcomes = outcomes(&recorded);
    // A page is kept if its verdict is late.
    assert!(outcomes.get("filtered_classifier").is_some_and(|dropped| *dropped > 0), "{status:?}");
}
