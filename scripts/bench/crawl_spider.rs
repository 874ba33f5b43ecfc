//! Crawls as the README of spider does, one `Website` a host: follows every link within it, and
//! keeps nothing.
//!
//! Arguments: a file of seeds, seconds, hosts at once.

use std::{env, fs, sync::Arc, time::Duration};

use spider::{
    tokio::{
        self,
        sync::Semaphore,
        time::{sleep, timeout},
    },
    website::Website,
};

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [seeds, seconds, hosts] = &arguments[..] else { panic!("FILE SECONDS HOSTS") };
    let seeds = fs::read_to_string(seeds).expect("the file of seeds");
    let limit = Duration::from_secs(seconds.parse().expect("a number of seconds"));
    let hosts = Arc::new(Semaphore::new(hosts.parse().expect("a number of hosts")));
    let crawls: Vec<_> = seeds
        .split_whitespace()
        .map(|seed| {
            let (seed, hosts) = (seed.to_owned(), Arc::clone(&hosts));
            tokio::spawn(async move {
                let _permit = hosts.acquire_owned().await;
                let mut website = Website::new(&seed);
                website
                    .with_respect_robots_txt(true)
                    .with_concurrency_limit(Some(1))
                    .with_user_agent(Some("everytab-bench/1.0 (+https://bot.test)"));
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
