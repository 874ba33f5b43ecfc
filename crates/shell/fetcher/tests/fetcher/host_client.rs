//! Tests that `HostClient` sends one request at a time and adapts its delay to the responses.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

use everytab_fetcher::{
    DelaySettings, Fetcher, HostClient, HostDelay, Outcome, PageFetchResult, PageOptions,
    PageRequest, Purpose, SavedDelay,
};

use super::{
    page_answers::{html, page},
    support::*,
};

const DELAY: Duration = Duration::from_millis(200);

fn delay_of(delay: Duration) -> DelaySettings {
    DelaySettings { delay, factor: 0.0, ..DelaySettings::default() }
}

fn client(fetcher: &Fetcher) -> HostClient {
    HostClient::new(fetcher, Arc::new(PageOptions::default()), HostDelay::default())
}

async fn take(client: &mut HostClient, url: &str, settings: &DelaySettings) -> PageFetchResult {
    let purpose = page();
    let request = PageRequest::new(url, &purpose);
    client.fetch(&request, settings).await.expect("no local failure")
}

async fn timed(net: fn(&ReceivedRequest) -> Reply) -> (Net, Arc<Mutex<Vec<Instant>>>) {
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let seen = Arc::clone(&times);
    let net = Net::start(move |asked| {
        seen.lock().expect("unpoisoned").push(Instant::now());
        net(asked)
    })
    .await;
    (net, times)
}

fn assert_apart(times: &Mutex<Vec<Instant>>, count: usize, delay: Duration) {
    let times = times.lock().expect("unpoisoned");
    assert_eq!(times.len(), count);
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= delay, "{:?}", pair[1] - pair[0]);
    }
}

#[tokio::test]
async fn requests_to_a_host_keep_its_delay_and_one_connection() {
    let (net, times) = timed(|_| html(b"page")).await;
    let mut client = client(&net.fetcher());
    for number in 0..5 {
        let url = format!("http://a.test/{number}");
        let fetched = take(&mut client, &url, &delay_of(DELAY)).await;
        assert_eq!(fetched.outcome, Outcome::Ok);
    }
    assert_apart(&times, 5, DELAY);
    assert_eq!(net.server.seen.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_redirect_from_another_host_keeps_the_delay_of_its_target() {
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let seen = Arc::clone(&times);
    let net = Net::start(move |asked| match asked.host.as_str() {
        "b.test" => {
            seen.lock().expect("unpoisoned").push(Instant::now());
            html(b"rules")
        }
        _ => redirect("http://b.test/robots.txt"),
    })
    .await;
    net.dns.point("b.test", "127.0.0.1");
    let fetcher = net.fetcher();
    let (mut guest, mut own) = (client(&fetcher), client(&fetcher));
    take(&mut own, "http://b.test/1", &delay_of(DELAY)).await;
    let robots = Purpose::robots();
    let request = PageRequest::new("http://a.test/robots.txt", &robots);
    let (no_delay, delay) = (delay_of(Duration::ZERO), delay_of(DELAY));
    let fetched = guest.fetch(&request, &no_delay).await.expect("no local failure");
    assert_eq!((fetched.outcome, fetched.exchanges.len()), (Outcome::Ok, 2));
    take(&mut own, "http://b.test/2", &delay).await;
    let (guested, taken) =
        tokio::join!(guest.fetch(&request, &no_delay), take(&mut own, "http://b.test/3", &delay),);
    assert_eq!(
        (guested.expect("no local failure").outcome, taken.outcome),
        (Outcome::Ok, Outcome::Ok)
    );
    assert_apart(&times, 5, DELAY);
}

#[tokio::test]
async fn a_resent_request_waits_for_the_delay() {
    let (net, times) = timed(|asked| match asked.path.as_str() {
        "/first" => html(b"page"),
        _ => Reply::SendAndClose(Vec::new()),
    })
    .await;
    let mut client = client(&net.fetcher());
    take(&mut client, "http://a.test/first", &delay_of(DELAY)).await;
    let fetched = take(&mut client, "http://a.test/second", &delay_of(DELAY)).await;
    assert_eq!(fetched.outcome, Outcome::ConnectReset);
    assert_eq!(fetched.exchanges.len(), 2, "over the used connection, and over a new one");
    assert_apart(&times, 3, DELAY);
}

#[tokio::test]
async fn a_cancelled_request_counts() {
    let (net, times) = timed(|asked| match asked.path.as_str() {
        "/hangs" => Reply::SendAndHang(Vec::new()),
        _ => html(b"page"),
    })
    .await;
    let mut client = client(&net.fetcher());
    let settings = delay_of(DELAY * 3);
    let purpose = page();
    let request = PageRequest::new("http://a.test/hangs", &purpose);
    {
        let hanging = client.fetch(&request, &settings);
        tokio::pin!(hanging);
        while net.server.seen.paths().is_empty() {
            let step = tokio::time::timeout(Duration::from_millis(5), hanging.as_mut()).await;
            assert!(step.is_err(), "it hangs");
        }
    }
    take(&mut client, "http://a.test/", &settings).await;
    assert_apart(&times, 2, DELAY * 3);
}

#[tokio::test]
async fn a_503_without_retry_after_doubles_the_delay() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/busy" => Reply::Send(answer_with("429 Busy", &["retry-after: 1"], b"")),
        "/down" => status("503 Later"),
        _ => html(b"page"),
    })
    .await;
    let mut client = client(&net.fetcher());
    let settings = delay_of(Duration::from_millis(1));
    let fetched = take(&mut client, "http://a.test/busy", &settings).await;
    assert_eq!(fetched.retry_after, Some(Duration::from_secs(1)));
    assert_eq!(
        client.delay.delay(&settings),
        settings.delay,
        "Retry-After does not raise the delay"
    );
    take(&mut client, "http://a.test/down", &settings).await;
    assert_eq!(
        client.delay.delay(&settings),
        Duration::from_secs(1),
        "the minimum without Retry-After"
    );
}

#[tokio::test]
async fn a_slow_host_gets_fewer_requests() {
    let net =
        Net::start(|_| Reply::Later(Duration::from_millis(300), answer_with("200 OK", &[], b"x")))
            .await;
    let mut client = client(&net.fetcher());
    let settings = DelaySettings { delay: Duration::ZERO, ..DelaySettings::default() };
    take(&mut client, "http://a.test/", &settings).await;
    let delay = client.delay.delay(&settings);
    assert!(delay >= Duration::from_millis(600), "twice the response time: {delay:?}");
    assert!(client.delay.free_at(&settings) > client.delay.ended_at());
}

#[tokio::test]
async fn a_restored_delay_is_kept() {
    let net = Net::start(|_| html(b"page")).await;
    let now = tokio::time::Instant::now();
    let saved = SavedDelay { free_in_ms: 300, ..SavedDelay::default() };
    let delay = HostDelay::restore(saved, now);
    let mut client = HostClient::new(&net.fetcher(), Arc::default(), delay);
    let settings = delay_of(Duration::ZERO);
    take(&mut client, "http://missing.test/", &settings).await;
    assert!(now.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn waiting_for_the_delay_holds_no_permit() {
    let mut net = Net::start(|_| html(b"page")).await;
    net.settings.per_host = 1;
    net.settings.per_address = 1;
    net.settings.in_flight = 1;
    let fetcher = net.fetcher();
    let mut client = client(&fetcher);
    let settings = delay_of(Duration::from_secs(3_600));
    take(&mut client, "http://a.test/", &settings).await;
    let purpose = page();
    let request = PageRequest::new("http://a.test/again", &purpose);
    let waiting = client.fetch(&request, &settings);
    tokio::pin!(waiting);
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    assert_eq!(fetcher.in_flight().requests, 0);
    let icon = fetch_one(&fetcher, "http://a.test/icon").await;
    assert_eq!(icon.outcome, Outcome::Ok, "another fetch can continue");
}

#[tokio::test]
async fn an_address_with_many_hosts_keeps_its_interval() {
    let (mut net, times) = timed(|_| html(b"page")).await;
    net.settings.address_distance = DELAY / 2;
    let fetcher = net.fetcher();
    fetcher.share_addresses_with(2);
    let hosts: Vec<String> = (0..4).map(|number| format!("h{number}.test")).collect();
    let fetches = hosts.iter().map(|host| {
        net.dns.point(host, "127.0.0.1");
        let fetcher = &fetcher;
        async move {
            let url = format!("http://{host}/");
            take(&mut client(fetcher), &url, &delay_of(Duration::ZERO)).await.outcome
        }
    });
    let began = Instant::now();
    let outcomes = futures_util::future::join_all(fetches).await;
    assert_eq!(outcomes, [Outcome::Ok; 4]);
    let last = times.lock().expect("unpoisoned").last().copied().expect("four requests");
    assert!(last - began >= DELAY * 3, "{:?}", last - began);
}
