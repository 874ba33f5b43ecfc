//! Crawls as spider's README does, with one `Website` per host, and follows every link within it.
//! Stores nothing, or one WARC file per host.
//!
//! Arguments: a file with seeds, seconds, concurrent hosts, milliseconds between two requests to a
//! host, and the prefix of the WARC files' names (optional).

use std::{env, fs, sync::Arc, time::Duration};

use spider::{
    configuration::RedirectPolicy,
    tokio::{
        self,
        sync::Semaphore,
        time::{sleep, timeout},
    },
    utils::warc::WarcConfig,
    website::Website,
};

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [seeds, seconds, hosts, delay, warc @ ..] = &arguments[..] else {
        panic!("FILE SECONDS HOSTS MILLISECONDS [WARC]")
    };
    let seeds = fs::read_to_string(seeds).expect("the file of seeds");
    let limit = Duration::from_secs(seconds.parse().expect("a number of seconds"));
    let delay: u64 = delay.parse().expect("a number of milliseconds");
    let hosts = Arc::new(Semaphore::new(hosts.parse().expect("a number of hosts")));
    let crawls: Vec<_> = seeds
        .split_whitespace()
        .map(|seed| {
            let seed = seed.to_owned();
            let hosts = Arc::clone(&hosts);
            let host = seed.split('/').nth(2).expect("a URL").to_owned();
            let warc = warc.first().map(|begin| format!("{begin}{host}.warc"));
            tokio::spawn(async move {
                let _permit = hosts.acquire_owned().await;
                let mut website = Website::new(&seed);
                website
                    .with_respect_robots_txt(true)
                    .with_redirect_policy(RedirectPolicy::Strict)
                    .with_delay(delay)
                    .with_retry(1)
                    .with_user_agent(Some("everytab-bench/1.0 (+https://bot.test)"));
                // With this limit the crawl ends at the first page without new links if nothing
                // else is in flight.
                if delay == 0 {
                    website.with_concurrency_limit(Some(1));
                }
                if let Some(path) = warc {
                    website.configuration.with_warc(WarcConfig { path, ..Default::default() });
                }
                website.crawl().await;
            })
        })
        .collect();
    let all = async {
        for crawl in crawls {
            crawl.await.ok();
        }
    };
    if timeout(limit, all).await.is_ok() {
        sleep(Duration::from_millis(100)).await;
    }
}
