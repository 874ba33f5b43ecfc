//! The turns of a host: one request at a time, its delay between them, and what its answers make
//! of the delay.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

use everytab_fetcher::{
    DelaySettings, Fetcher, HostDelay, HostTurns, Outcome, PageFetched, PageOptions, PageRequest,
    Purpose, SavedDelay,
};

use super::{
    page_answers::{html, page},
    support::*,
};

const DELAY: Duration = Duration::from_millis(200);

fn delay_of(delay: Duration) -> DelaySettings {
    DelaySettings { delay, factor: 0.0, ..DelaySettings::default() }
}

fn turns(fetcher: &Fetcher) -> HostTurns {
    HostTurns::new(fetcher, Arc::new(PageOptions::default()), HostDelay::default())
}

async fn take(turns: &mut HostTurns, url: &str, settings: &DelaySettings) -> PageFetched {
    let purpose = page();
    let request = PageRequest::new(url, &purpose);
    turns.fetch(&request, settings).await.expect("no trouble of this machine")
}

/// A net whose server writes down when each request came and when it was answered.
async fn timed(net: fn(&Asked) -> Reply) -> (Net, Arc<Mutex<Vec<Instant>>>) {
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
    let mut turns = turns(&net.fetcher());
    for number in 0..5 {
        let url = format!("http://a.test/{number}");
        let fetched = take(&mut turns, &url, &delay_of(DELAY)).await;
        assert_eq!(fetched.outcome, Outcome::Ok);
    }
    assert_apart(&times, 5, DELAY);
    assert_eq!(net.server.seen.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_redirect_of_another_host_takes_the_delay_of_the_host_to_which_it_leads() {
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
    let (mut guest, mut own) = (turns(&fetcher), turns(&fetcher));
    take(&mut own, "http://b.test/1", &delay_of(DELAY)).await;
    let robots = Purpose::robots();
    let request = PageRequest::new("http://a.test/robots.txt", &robots);
    let (no_delay, delay) = (delay_of(Duration::ZERO), delay_of(DELAY));
    let fetched = guest.fetch(&request, &no_delay).await.expect("no trouble of this machine");
    assert_eq!((fetched.outcome, fetched.exchanges.len()), (Outcome::Ok, 2));
    take(&mut own, "http://b.test/2", &delay).await;
    // Nor are they requested at once.
    let (guested, taken) =
        tokio::join!(guest.fetch(&request, &no_delay), take(&mut own, "http://b.test/3", &delay),);
    assert_eq!((guested.expect("no trouble").outcome, taken.outcome), (Outcome::Ok, Outcome::Ok));
    assert_apart(&times, 5, DELAY);
}

#[tokio::test]
async fn a_request_that_is_sent_again_waits_the_delay_too() {
    let (net, times) = timed(|asked| match asked.path.as_str() {
        "/first" => html(b"page"),
        _ => Reply::SendAndClose(Vec::new()),
    })
    .await;
    let mut turns = turns(&net.fetcher());
    take(&mut turns, "http://a.test/first", &delay_of(DELAY)).await;
    let fetched = take(&mut turns, "http://a.test/second", &delay_of(DELAY)).await;
    assert_eq!(fetched.outcome, Outcome::ConnectReset);
    assert_eq!(fetched.exchanges.len(), 2, "over the used connection, and over a new one");
    assert_apart(&times, 3, DELAY);
}

#[tokio::test]
async fn a_request_that_is_dropped_counts_as_one() {
    let (net, times) = timed(|asked| match asked.path.as_str() {
        "/hangs" => Reply::SendAndHang(Vec::new()),
        _ => html(b"page"),
    })
    .await;
    let mut turns = turns(&net.fetcher());
    let settings = delay_of(DELAY * 3);
    let purpose = page();
    let request = PageRequest::new("http://a.test/hangs", &purpose);
    {
        let hanging = turns.fetch(&request, &settings);
        tokio::pin!(hanging);
        while net.server.seen.paths().is_empty() {
            let step = tokio::time::timeout(Duration::from_millis(5), hanging.as_mut()).await;
            assert!(step.is_err(), "it hangs");
        }
    }
    take(&mut turns, "http://a.test/", &settings).await;
    assert_apart(&times, 2, DELAY * 3);
}

#[tokio::test]
async fn a_complaint_without_a_time_doubles_the_delay() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/busy" => Reply::Send(answer_with("429 Busy", &["retry-after: 1"], b"")),
        "/down" => status("503 Later"),
        _ => html(b"page"),
    })
    .await;
    let mut turns = turns(&net.fetcher());
    let settings = delay_of(Duration::from_millis(1));
    let fetched = take(&mut turns, "http://a.test/busy", &settings).await;
    assert_eq!(fetched.retry_after, Some(Duration::from_secs(1)));
    assert_eq!(turns.delay.delay(&settings), settings.delay, "its origin is paused by the caller");
    take(&mut turns, "http://a.test/down", &settings).await;
    assert_eq!(turns.delay.delay(&settings), Duration::from_secs(1), "at least, without a time");
}

#[tokio::test]
async fn a_slow_host_is_asked_less_often() {
    let net =
        Net::start(|_| Reply::Later(Duration::from_millis(300), answer_with("200 OK", &[], b"x")))
            .await;
    let mut turns = turns(&net.fetcher());
    let settings = DelaySettings { delay: Duration::ZERO, ..DelaySettings::default() };
    take(&mut turns, "http://a.test/", &settings).await;
    let delay = turns.delay.delay(&settings);
    assert!(delay >= Duration::from_millis(600), "twice the response time: {delay:?}");
    assert!(turns.delay.free_at(&settings) > turns.delay.ended_at());
}

#[tokio::test]
async fn a_successor_takes_up_what_the_holder_knew() {
    let net = Net::start(|_| html(b"page")).await;
    let now = tokio::time::Instant::now();
    let saved = SavedDelay { free_in_ms: 300, ..SavedDelay::default() };
    let delay = HostDelay::restore(saved, now);
    let mut turns = HostTurns::new(&net.fetcher(), Arc::default(), delay);
    let settings = delay_of(Duration::ZERO);
    take(&mut turns, "http://missing.test/", &settings).await;
    assert!(now.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn a_turn_that_is_waited_for_holds_no_permit() {
    let mut net = Net::start(|_| html(b"page")).await;
    net.settings.per_host = 1;
    net.settings.per_address = 1;
    net.settings.in_flight = 1;
    let fetcher = net.fetcher();
    let mut turns = turns(&fetcher);
    let settings = delay_of(Duration::from_secs(3_600));
    take(&mut turns, "http://a.test/", &settings).await;
    let purpose = page();
    let request = PageRequest::new("http://a.test/again", &purpose);
    let waiting = turns.fetch(&request, &settings);
    tokio::pin!(waiting);
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    assert_eq!(fetcher.in_flight().requests, 0);
    let icon = fetch_one(&fetcher, "http://a.test/icon").await;
    assert_eq!(icon.outcome, Outcome::Ok, "another request to the host goes on");
}

#[tokio::test]
async fn an_address_of_many_hosts_is_asked_at_its_distance() {
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
            take(&mut turns(fetcher), &url, &delay_of(Duration::ZERO)).await.outcome
        }
    });
    let began = Instant::now();
    let outcomes = futures_util::future::join_all(fetches).await;
    assert_eq!(outcomes, [Outcome::Ok; 4]);
    let last = times.lock().expect("unpoisoned").last().copied().expect("four requests");
    assert!(last - began >= DELAY * 3, "{:?}", last - began);
}
