//! Tests that a scan writes the same bytes with stores in directories, S3 or HTTP.

use everytab_testbed::{Behaviour, Mix};

use crate::{
    environment::{Database, Stores, internet, with_s3},
    outcomes,
    setup::{assert_same, published, run, worker},
};

#[test]
fn a_scan_over_s3_or_http_gives_the_same_bundles_as_over_directories() {
    let mix = Mix::none().with(Behaviour::NotFound, 100_000).with(Behaviour::Gzip, 100_000);
    let internet = internet(250, mix);
    let s3 = internet.s3();
    let dir = internet.folder.path();
    let local = |name: &str, stores: &Stores| {
        let dir = dir.join(name).display().to_string();
        let mut command = worker(["local", "--dir", &dir, "--exit-when-done"]);
        command.args(["--crawl", internet.crawl()]).args(stores.arguments());
        command.args(internet.running.client.arguments());
        if let Some(endpoint) = &stores.s3 {
            with_s3(&mut command, endpoint);
        }
        run(command).expect_code(0)
    };
    local("folders", &Stores::folders(&internet, &dir.join("folders")));
    let expected = published(&dir.join("folders/site"));

    local("over-s3", &Stores::s3(&s3.endpoint));
    let site = dir.join("s3/everytab/site");
    assert_same(&expected, &published(&site), "folders and S3");
    outcomes::assert_totals(&site);
    assert!(!dir.join("over-s3/site").exists(), "the site was also written to a directory");

    let over_http = Stores {
        source: internet.running.client.bucket_url.clone(),
        ..Stores::folders(&internet, &dir.join("over-http"))
    };
    let database = Database::new(&internet, over_http);
    // HTTP has no listings, and the list of crawls is on another server.
    let mut latest = database.owner(&["scan", "start", "--crawl", "latest"]);
    latest.args(database.stores.arguments());
    let refused = run(latest).expect_code(1);
    assert!(refused.stderr.contains("name a crawl with --crawl"), "{}", refused.stderr);
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let site = dir.join("over-http/site");
    assert_same(&expected, &published(&site), "folders and HTTP");
    outcomes::assert_totals(&site);
}
