//! Tests the log of a crawling worker.

use crate::{
    environment::{Database, Stores},
    live_crawls::{crawler, graph_of_sites, start_crawl},
};

#[test]
fn a_crawling_worker_logs_its_progress_and_not_that_it_has_no_work() {
    let internet = graph_of_sites(35, 6, 60);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    start_crawl(&internet, &database, "20ms");
    let worker = crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);

    let (crawling, _) = worker.stderr.split_once("stopped crawling").unwrap();
    assert!(!crawling.contains("no work now"), "{crawling}");
    let line = crawling.lines().rfind(|line| line.contains("crawled")).unwrap();
    for part in ["pages", "pages_per_second", "bound", "paused_origins"] {
        assert!(line.contains(part), "{line}");
    }
}
