//! Tests that a crawl that repeats an earlier one does not store unchanged pages again, and handles
//! all others like a new crawl.

use std::{collections::BTreeMap, time::Duration};

use everytab_crawl_settings::{CrawlSettings, DuplicatesOption};
use everytab_testbed::{ClosedCrawl, GraphSettings, OracleScope};
use uuid::Uuid;

use crate::world::{World, assert_same, settings};

async fn world(seed: u64) -> World {
    let graph = GraphSettings { hosts: 12, sites: 6, pages: 400, ..GraphSettings::default() };
    World::new(seed, graph).await
}

/// Crawls the whole world on this day, and compares the result with the oracle.
async fn crawl(world: &World, day: u32, settings: &CrawlSettings) -> Uuid {
    world.running.set_day(day);
    let home = world.graph().home(0);
    let id = world.start(settings, None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(id).await;
    worker.finish().await;
    let expected = ClosedCrawl { day, ..ClosedCrawl::new(vec![home], OracleScope::Any) };
    let mut recorded = world.recorded(id).await;
    for outcome in recorded.values_mut() {
        if matches!(outcome.as_str(), "not_modified" | "duplicate") {
            "ok".clone_into(outcome);
        }
    }
    assert_same(&recorded, &world.expected(expected));
    id
}

fn again(earlier: Uuid) -> CrawlSettings {
    CrawlSettings { again: Some(earlier), ..settings("any") }
}

fn count(world: &World, crawl: Uuid, condition: &str) -> usize {
    let of_crawl = format!("f.crawl = (select crawl from everytab.crawls where id = '{crawl}')");
    let sql = format!("select count(*) from everytab.fetches f where {of_crawl} and {condition}");
    world.sql(&sql).parse().unwrap()
}

fn bodies(world: &World, crawl: Uuid) -> BTreeMap<String, (String, String)> {
    let rows = world.sql(&format!(
        "select f.url_hash, encode(f.sha256, 'hex'), a.object,
                coalesce(f.body_offset, f.record_offset)
           from everytab.fetches f
           join everytab.crawl_archives a on a.archive = coalesce(f.body_archive, f.archive)
          where f.crawl = (select crawl from everytab.crawls where id = '{crawl}')
            and f.outcome in ('ok', 'not_modified')"
    ));
    let row = |line: &str| {
        let mut fields = line.split('|');
        let (url, digest) = (fields.next().unwrap().to_owned(), fields.next().unwrap().to_owned());
        (url, (digest, fields.collect::<Vec<_>>().join("|")))
    };
    rows.lines().map(row).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unchanged_pages_are_revisits_of_the_first_copy_on_every_later_day() {
    let world = world(41).await;
    let first = crawl(&world, 0, &settings("any")).await;
    let second = crawl(&world, 1, &again(first)).await;
    let pages = count(&world, second, "f.outcome in ('ok', 'not_modified')");
    let unchanged = count(&world, second, "f.outcome = 'not_modified'");
    assert!(unchanged > pages / 2 && unchanged < pages, "{unchanged} of {pages}");
    let revisits = "f.outcome = 'not_modified' and f.status = 304 and f.record_length > 0 \
                    and f.body_archive is not null and f.body_at < f.at \
                    and f.sha256 is not null and (f.title is not null or f.mime !~ 'html')";
    assert_eq!(count(&world, second, revisits), unchanged);
    assert_eq!(count(&world, second, "f.outcome = 'ok' and f.body_archive is not null"), 0);
    let (before, after) = (bodies(&world, first), bodies(&world, second));
    let same = after.iter().filter(|(url, body)| before.get(*url) == Some(*body)).count();
    assert_eq!(same, unchanged, "a revisit refers to the record that has the body");
    // The third crawl repeats the second one, whose revisits have no body.
    let third = crawl(&world, 1, &again(second)).await;
    assert_eq!(count(&world, third, "f.outcome = 'not_modified'"), pages);
    assert_eq!(bodies(&world, third), after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_identical_body_is_a_revisit_even_without_an_etag() {
    let world = world(42).await;
    let first = crawl(&world, 0, &settings("any")).await;
    world.sql("update everytab.fetches set etag = null, last_modified = null");
    let second = crawl(&world, 0, &again(first)).await;
    let pages = count(&world, second, "f.outcome = 'ok'");
    let identical = "f.outcome = 'ok' and f.status = 200 and f.body_archive is not null";
    assert_eq!(count(&world, second, identical), pages);
    assert_eq!(bodies(&world, second), bodies(&world, first));
    let rejecting = CrawlSettings { duplicates: DuplicatesOption::Reject, ..again(second) };
    let third = crawl(&world, 0, &rejecting).await;
    let rejected = "f.outcome = 'duplicate' and f.archive is null and f.body_archive is not null";
    assert_eq!(count(&world, third, rejected), pages);
    let refused = world.status(third).await.refused["duplicate"].as_u64();
    assert_eq!(refused, u64::try_from(pages).ok());
}

/// Counts a crawl's revisits that correctly refer to another URL's record. The second number counts
/// those that refer to another archive.
fn copies(world: &World, crawl: Uuid) -> (usize, usize) {
    let named = "f.body_url is not null and f.record_length > 0 and exists (
        select from everytab.fetches o
         where o.crawl = f.crawl and o.slot = f.slot and o.url = f.body_url and o.at = f.body_at
           and o.body_archive is null and o.archive = f.body_archive and o.sha256 = f.sha256
           and (o.host_hash, o.url_hash) = (f.body_host_hash, f.body_url_hash)
           and (o.record_offset, o.record_length) = (f.body_offset, f.body_length))";
    let elsewhere = format!("{named} and f.archive <> f.body_archive");
    (count(world, crawl, named), count(world, crawl, &elsewhere))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_file_under_another_url_of_its_site_is_stored_once() {
    let graph = GraphSettings {
        hosts: 6,
        sites: 2,
        pages: 500,
        media: 600,
        copies: 1_000,
        redirect: 0,
        redirect_away: 0,
        ..GraphSettings::default()
    };
    let world = World::new(45, graph).await;
    let first = crawl(&world, 0, &settings("any")).await;
    let files = "f.mime = 'application/pdf'";
    let all = count(&world, first, files);
    // A record cannot refer to an archive that is still being uploaded, so some files are stored
    // again.
    assert!(all > 30, "{all}");
    let stored = count(&world, first, &format!("{files} and f.body_archive is null"));
    assert!((2..all / 3).contains(&stored), "{stored} of {all}");
    assert_eq!(copies(&world, first).0, all - stored);
    // In the next crawl all are revisits, even if their responses have other `ETag`s.
    let second = crawl(&world, 1, &again(first)).await;
    assert_eq!(count(&world, second, &format!("{files} and f.body_archive is null")), 0);
    assert_eq!(bodies(&world, second).len(), bodies(&world, first).len());

    let id = world.start(&settings("any"), None, &[world.graph().home(0)]).await;
    let worker = world.worker("worker-2", |settings| settings.record_after = Duration::ZERO);
    world.ended(id).await;
    worker.finish().await;
    let (named, elsewhere) = copies(&world, id);
    assert!(elsewhere > 0 && named < all, "{elsewhere} of {named}");
    let stored = count(&world, id, &format!("{files} and f.body_archive is null"));
    assert_eq!(named + stored, all, "each file has a record with its body");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_too_old_or_gone_is_stored_again() {
    let world = world(43).await;
    let first = crawl(&world, 0, &settings("any")).await;
    let old = CrawlSettings { store_again_after_s: 0, ..again(first) };
    let second = crawl(&world, 0, &old).await;
    assert_eq!(count(&world, second, "f.body_archive is not null or f.status = 304"), 0);
    // Without the archives, there is no page to parse for links after a 304 response.
    std::fs::remove_dir_all(world.directory("store")).unwrap();
    let third = crawl(&world, 0, &again(first)).await;
    let html = "f.mime = 'text/html'";
    let pages = count(&world, third, &format!("{html} and f.outcome = 'ok' and f.status = 200"));
    assert!(pages > 100, "{pages}");
    assert_eq!(count(&world, third, &format!("{html} and f.body_archive is not null")), 0);
}
