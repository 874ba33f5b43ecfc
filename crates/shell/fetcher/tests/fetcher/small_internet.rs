//! Fetches an icon for every behaviour of the small internet, and checks the outcome.

use std::{collections::HashMap, sync::Arc};

use everytab_fetcher::{
    FetchSettings, Fetcher, HostCandidates, Outcome, ShardOptions, ShardResult, fetch_shard,
};
use everytab_patience::SILENCE;
use everytab_testbed::{Behaviour, Mix, Running, Settings, SmallInternet};

use super::shards::{host, spool};

const HOSTS_OF_A_BEHAVIOUR: usize = 2;

fn expected(behaviour: Behaviour, is_https: bool) -> &'static [Outcome] {
    use Behaviour as B;
    use Outcome::*;
    match behaviour {
        B::Fine | B::Slow | B::Gzip | B::WrongContentType => &[Ok],
        B::CertificateWrongName | B::CertificateExpired | B::CertificateSelfSigned => &[Ok],
        B::RedirectChain => &[Ok],
        B::RedirectOtherHost => &[Ok],
        B::DnsNxdomain => &[DnsNxdomain],
        B::DnsServfail => &[DnsServfail],
        B::DnsNoAddress => &[DnsNoAddress],
        B::DnsNeverAnswers => &[DnsTimeout],
        B::DnsPrivateAddress => &[IpBlocked],
        B::ConnectTimeout => &[ConnectTimeout],
        B::NeverAnswers if is_https => &[TlsTimeout],
        B::NeverAnswers => &[FirstByteTimeout],
        B::StallsInBody => &[TotalTimeout],
        B::Refused => &[ConnectRefused],
        B::Reset => &[ConnectReset],
        B::TlsHandshakeFailure if is_https => &[TlsHandshake, TlsUnsupported],
        B::TlsHandshakeFailure => &[Ok],
        B::NotFound | B::Gone => &[Http404410],
        B::Forbidden => &[Http401403],
        B::TooManyRequests => &[Http429],
        B::ServerError | B::Unavailable => &[Http5xx],
        B::HtmlInsteadOfIcon => &[NotImageHtml],
        B::EmptyBody => &[EmptyBody],
        B::TooLarge | B::TooLargeUnannounced => &[BodyTooLarge],
        B::RedirectTooMany => &[RedirectLimit],
        B::RedirectLoop => &[RedirectLoop],
        B::RedirectPrivate => &[RedirectBlocked],
        B::RedirectBadScheme => &[RedirectBadScheme],
        B::BrokenImage => &[ImageCorrupt, NotImageOther, Ok],
        B::LengthTooLong => &[BodyTruncated],
        // If an image is cut after its header, its type and dimensions are still known.
        B::LengthTooShort => &[Ok, ImageCorrupt, NotImageOther],
        B::RobotsDisallow | B::RobotsUnavailable => &[RobotsDisallowed],
    }
}

fn has_behaviour(outcome: Outcome) -> bool {
    use Outcome::*;
    match outcome {
        DnsNxdomain | DnsServfail | DnsTimeout | DnsNoAddress | IpBlocked => true,
        ConnectRefused | ConnectTimeout | ConnectReset => true,
        TlsHandshake | TlsUnsupported | TlsTimeout | FirstByteTimeout | TotalTimeout => true,
        BodyTruncated | BodyTooLarge | EmptyBody => true,
        RedirectLoop | RedirectLimit | RedirectBadScheme | RedirectBlocked => true,
        Http401403 | Http404410 | Http429 | Http5xx => true,
        NotImageHtml | NotImageOther | ImageCorrupt | RobotsDisallowed | Ok => true,
        EndpointDead | ConnectUnreachable | H1Parse | H2Protocol | HeaderTooLarge => false,
        BodyReset | ContentDecode | HttpChallenge | Http4xx => false,
        ImageTooBig | SvgRejected | OptedOut | Crashed => false,
        TypeRefused | Redirected | NotModified => false,
        UrlUnparsable | UrlTooLong | UrlScheme | UrlPort | UrlCredentials => false,
    }
}

#[test]
fn every_outcome_has_a_behaviour_or_is_listed_without_one() {
    for outcome in Outcome::ALL {
        let shows = |behaviour: &Behaviour| {
            [true, false].iter().any(|https| expected(*behaviour, *https).contains(outcome))
        };
        let is_shown = Behaviour::ALL.iter().any(shows);
        assert_eq!(is_shown, has_behaviour(*outcome), "{outcome}");
    }
}

fn every_behaviour() -> Mix {
    let share = 1_000_000 / Behaviour::ALL.len() as u32;
    let others = Behaviour::ALL.into_iter().filter(|behaviour| *behaviour != Behaviour::Fine);
    others.fold(Mix::none(), |mix, behaviour| mix.with(behaviour, share)).with_missing_favicon(0)
}

fn settings(net: &Running) -> FetchSettings {
    let client = &net.client;
    FetchSettings {
        dns: Some(client.dns),
        ca_file: Some(client.ca_file.clone()),
        allow_ranges: client.allow_ranges.iter().map(|r| r.parse().expect("a range")).collect(),
        dial_ports: client.dial_ports.iter().copied().collect(),
        dns_timeout: SILENCE,
        connect_timeout: SILENCE * 2,
        first_byte_timeout: SILENCE * 3,
        total_timeout: SILENCE * 4,
        // About a third of the hosts fail to resolve or to connect here. This must not open the
        // circuit breaker.
        breaker_minimum: 256,
        ..FetchSettings::default()
    }
}

async fn scan(settings: FetchSettings, hosts: Vec<HostCandidates>, seed: u64) -> ShardResult {
    let fetcher = Fetcher::new(settings).expect("valid settings");
    let options = ShardOptions { seed, later_pass: false, ..ShardOptions::default() };
    fetch_shard(&fetcher, hosts, spool(), options).await.expect("no local failure")
}

/// The parts of the results that must only depend on the responses.
fn essence(shard: &ShardResult) -> Vec<(String, Outcome, Option<[u8; 32]>)> {
    let of = |result: &everytab_fetcher::CandidateFetch| {
        (result.candidate.url.clone(), result.url_fetch.outcome, result.url_fetch.sha256)
    };
    shard.results.iter().map(of).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_behaviour_has_its_outcome_in_any_order() {
    let scratch = tempfile::tempdir().expect("a folder");
    let content = Settings {
        behaviours: every_behaviour(),
        ..Settings::generated(7, 300, scratch.path().join("net"))
    };
    let net = Arc::new(SmallInternet::start(content).await.expect("it starts"));
    let mut met: HashMap<Behaviour, usize> = HashMap::new();
    let names: Vec<String> = net
        .hosts()
        .filter(|name| {
            let count = met.entry(net.behaviour(name)).or_default();
            *count += 1;
            *count <= HOSTS_OF_A_BEHAVIOUR
        })
        .collect();
    assert_eq!(met.len(), Behaviour::ALL.len(), "too few hosts to meet every behaviour");
    let hosts: Vec<HostCandidates> = (0..)
        .zip(&names)
        .map(|(number, name)| {
            let urls = ["https", "http"].map(|scheme| format!("{scheme}://{name}/favicon.ico"));
            host(number, &[&urls[0], &urls[1]])
        })
        .collect();
    let shard = scan(FetchSettings { in_flight: 48, ..settings(&net) }, hosts.clone(), 1).await;
    let mut wrong = Vec::new();
    for result in &shard.results {
        let url = &result.candidate.url;
        let behaviour = net.behaviour(&names[result.host_no as usize]);
        let outcome = result.url_fetch.outcome;
        if !expected(behaviour, url.starts_with("https")).contains(&outcome) {
            wrong.push(format!("{behaviour:?} {url}: {outcome}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let again = scan(FetchSettings { in_flight: 300, ..settings(&net) }, hosts, 2).await;
    let pairs = essence(&shard).into_iter().zip(essence(&again));
    let differ: Vec<_> = pairs.filter(|(one, other)| one != other).collect();
    assert!(differ.is_empty(), "{differ:?}");
}
