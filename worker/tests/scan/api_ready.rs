//! Tests what the roles crawl and api need before they start, and when the service is ready.

use std::process::Command;

use everytab_postgres::shared_for_tests;

use crate::{
    api_walkthrough::{answer, ask, service_with},
    environment::{Database, Stores, internet, unused_address, with_s3},
    setup::{Running, run, wait_for, worker},
};

fn ready(address: &str) -> String {
    answer(ask(address, "GET", "/readyz", "", ""))
}

#[test]
fn a_service_is_ready_if_its_bucket_exists_and_reports_what_is_missing() {
    let internet = internet(4, everytab_testbed::Mix::none());
    let s3 = internet.s3();
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let start = |endpoint: &str| {
        service_with(&database, "s3://no-such-bucket/crawls", &[], |command: &mut Command| {
            with_s3(command, endpoint);
        })
    };
    let (service, address) = start(&s3.endpoint);
    let lacking = ready(&address);
    assert!(lacking.starts_with("HTTP/1.1 503"), "{lacking}");
    assert!(lacking.contains("the store does not exist"), "{lacking}");
    assert!(
        !lacking.contains("no-such-bucket"),
        "the response reveals details to everyone: {lacking}"
    );
    let logged = service.stderr_text();
    assert!(logged.contains("s3://no-such-bucket") && logged.contains("NoSuchBucket"), "{logged}");
    s3.create_bucket("no-such-bucket").unwrap();
    wait_for("the bucket", || ready(&address).starts_with("HTTP/1.1 200").then_some(()));
    assert!(service.stderr_text().contains("ready again"), "{}", service.stderr_text());

    let (other, address) = start(&format!("http://{}", unused_address()));
    let lacking = ready(&address);
    assert!(lacking.starts_with("HTTP/1.1 503"), "{lacking}");
    assert!(lacking.contains("cannot reach the store"), "{lacking}");
    for service in [service, other] {
        service.terminate();
        service.finish().expect_code(4);
    }
}

#[test]
fn the_crawl_and_api_roles_need_a_site_url_and_a_contact() {
    let database = shared_for_tests().fresh_database(None);
    let url = shared_for_tests().url(&database, "postgres");
    run(worker(["migrate", "--database-url", &url])).expect_code(0);
    let command = |role: &str, more: &[&str]| {
        let mut command = worker(["run", "--role", role, "--to", "/tmp", "--database-url", &url]);
        command.args(["--listen", "127.0.0.1:0"]).args(more).env_remove("EVERYTAB_INTERNET");
        command
    };
    let site = ["--site-url", "https://tabs.page/"];
    let wrong: [(&[&str], &[&str]); 6] = [
        (&[], &["--site-url", "EVERYTAB_SITE_URL", "--internet small"]),
        (&site, &["--contact", "EVERYTAB_CONTACT"]),
        (&["--site-url", "https://tabs.page/", "--contact", "me@a.test"], &["me@a.test"]),
        (&["--site-url", "https://a.example/", "--contact", "me@tabs.page"], &["a.example"]),
        (&["--user-agent", "Bot/1.0"], &["--user-agent", "mail"]),
        (&["--user-agent", "Bot/1.0 (+https://bot.example/)"], &["bot.example", "reserved"]),
    ];
    for role in ["crawl", "api"] {
        for (more, named) in wrong {
            let refused = run(command(role, more)).expect_code(2);
            for word in named {
                assert!(refused.stderr.contains(word), "{role} {more:?}: {}", refused.stderr);
            }
        }
        let good: [&[&str]; 3] = [
            &["--site-url", "https://tabs.page/", "--contact", "me@tabs.page"],
            &["--user-agent", "Bot/1.0 (me@tabs.page)"],
            &["--internet", "small"],
        ];
        for more in good {
            let started = Running::start(command(role, more));
            wait_for("its start", || {
                let said = started.stderr_text();
                (said.contains("serving the HTTP") || said.contains("crawling")).then_some(())
            });
            started.terminate();
            started.finish().expect_code(4);
        }
    }
    // A worker for scans needs no contact, because each scan has its own.
    let idle = Running::start({
        let mut command = worker(["run", "--database-url", &url]);
        command.env_remove("EVERYTAB_INTERNET");
        command
    });
    wait_for("a worker", || idle.stderr_text().contains("worker started").then_some(()));
    idle.terminate();
    idle.finish().expect_code(4);
}
