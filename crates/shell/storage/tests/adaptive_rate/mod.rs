//! Tests stores with an adaptive rate against a server with a lower limit, and the User-Agent of
//! all requests.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use everytab_storage::{AdaptiveRate, Store, StoreSettings, open};

use crate::scripted::{Reply, Scripted};

/// Maximum successful responses per second: a twentieth of the rate that the settings allow.
const BORNE: f64 = 50.0;
const ALLOWED: f64 = 1_000.0;
const READERS: usize = 24;
const DURATION: Duration = Duration::from_secs(8);

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    requests: f64,
    answered: f64,
    borne: f64,
}

/// A token bucket with one token per successful response.
#[derive(Debug)]
struct Bucket {
    counts: Counts,
    tokens: f64,
    filled_at: Instant,
}

impl Bucket {
    fn new() -> Self {
        Self { counts: Counts::default(), tokens: 0.0, filled_at: Instant::now() }
    }

    fn takes(&mut self) -> bool {
        let now = Instant::now();
        let filled = now.duration_since(self.filled_at).as_secs_f64() * BORNE;
        self.filled_at = now;
        self.counts.borne += filled;
        self.tokens = (self.tokens + filled).min(BORNE / 5.0);
        self.counts.requests += 1.0;
        let is_borne = self.tokens >= 1.0;
        if is_borne {
            self.tokens -= 1.0;
            self.counts.answered += 1.0;
        }
        is_borne
    }
}

async fn read_much(scheme: &str) -> Counts {
    let bucket = Arc::new(Mutex::new(Bucket::new()));
    let shared = Arc::clone(&bucket);
    let server = Scripted::start(move |_, request| {
        if shared.lock().expect("no reader panics with it").takes() {
            return Reply::ranged(request, &[7; 1_000]);
        }
        Reply::new(503, "<Error><Code>SlowDown</Code></Error>")
    })
    .await;
    let rate = Arc::new(AdaptiveRate::default());
    rate.allow(Some(ALLOWED));
    let settings = StoreSettings {
        endpoint: Some(server.url()),
        no_credentials: true,
        rate: Some(Arc::clone(&rate)),
        max_attempts: 12,
        ..StoreSettings::default()
    };
    let url = match scheme {
        "s3" => "s3://bucket".to_owned(),
        _ => server.url(),
    };
    let store = open(&url, &settings).await.expect("opening sends nothing");
    let until = Instant::now() + DURATION;
    let readers: Vec<_> = (0..READERS)
        .map(|reader| {
            let store: Arc<dyn Store> = Arc::clone(&store);
            tokio::spawn(async move {
                while Instant::now() < until {
                    let _ = store.get_range(&format!("k{reader}"), 0..10).await;
                }
            })
        })
        .collect();
    tokio::time::sleep_until(until.into()).await;
    readers.iter().for_each(tokio::task::JoinHandle::abort);
    let counts = bucket.lock().expect("no reader panics with it").counts;
    println!(
        "{scheme}: {:.0} requests, {:.0} answered of {:.0}: {:.2} and {:.2} of what it bears",
        counts.requests,
        counts.answered,
        counts.borne,
        counts.requests / counts.borne,
        counts.answered / counts.borne,
    );
    counts
}

#[tokio::test]
async fn requests_stay_close_to_what_the_store_bears() {
    for scheme in ["s3", "http"] {
        let counts = read_much(scheme).await;
        assert!(counts.requests < 1.2 * counts.borne, "{scheme}: {counts:?}");
        assert!(counts.answered > 0.7 * counts.requests, "{scheme}: {counts:?}");
        assert!(counts.answered > 0.25 * counts.borne, "{scheme}: {counts:?}");
    }
}

#[tokio::test]
async fn every_request_has_the_user_agent() {
    let server = Scripted::start(|before, request| match before {
        0 => Reply::new(503, "<Error><Code>SlowDown</Code></Error>"),
        _ => Reply::ranged(request, &[7; 100]),
    })
    .await;
    let user_agent = "everytab/1 (+https://tabs.example/bot.html; me@tabs.example)";
    let settings = StoreSettings {
        endpoint: Some(server.url()),
        no_credentials: true,
        user_agent: user_agent.to_owned(),
        ..StoreSettings::default()
    };
    for url in ["s3://bucket", &server.url()] {
        let store = open(url, &settings).await.expect("opening sends nothing");
        store.get_range("range", 0..10).await.expect("the second try goes well");
        store.head("head").await.expect("the second try goes well");
        store.get("whole").await.expect("the second try goes well");
    }
    let seen = server.seen();
    assert!(seen.len() >= 12, "{}", seen.len());
    for request in seen {
        assert_eq!(request.headers["user-agent"], user_agent, "{}", request.path);
    }
}
