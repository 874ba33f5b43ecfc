//! Checks each behaviour's responses over HTTP/1.1 and HTTP/2.

use everytab_patience::SILENCE;
use everytab_testbed::{Behaviour, Mix, Running};

use crate::client::{causes, get, get_within, internet_of, start};

const MAX_BYTES: usize = 512 * 1_024;

async fn status_of_all(running: &Running, target: &str) -> Vec<u16> {
    let mut found = Vec::new();
    for (number, host) in running.hosts().enumerate() {
        let scheme = if number % 2 == 0 { "https" } else { "http" };
        found.push(get(running, scheme, &host, target).await.unwrap().status().as_u16());
    }
    found
}

#[tokio::test]
async fn statuses_are_those_of_the_behaviour() {
    for (behaviour, status) in [
        (Behaviour::Fine, 200),
        (Behaviour::NotFound, 404),
        (Behaviour::Gone, 410),
        (Behaviour::Forbidden, 403),
        (Behaviour::TooManyRequests, 429),
        (Behaviour::ServerError, 500),
        (Behaviour::Unavailable, 503),
        (Behaviour::RobotsDisallow, 200),
    ] {
        let (running, _scratch) = internet_of(behaviour).await;
        let found = status_of_all(&running, "/favicon.ico").await;
        assert!(found.iter().all(|found| *found == status), "{behaviour:?}: {found:?}");
        assert_eq!(running.counts().requests[&behaviour], found.len() as u64);
    }
}

#[tokio::test]
async fn both_versions_of_http_are_spoken() {
    let (running, _scratch) = internet_of(Behaviour::Fine).await;
    let mut versions = Vec::new();
    for host in running.hosts() {
        versions.push(get(&running, "https", &host, "/a.png").await.unwrap().version());
    }
    assert!(versions.contains(&reqwest::Version::HTTP_2), "{versions:?}");
    assert!(versions.contains(&reqwest::Version::HTTP_11), "{versions:?}");
}

#[tokio::test]
async fn an_icon_is_the_same_over_every_wire_and_again() {
    let (running, _scratch) = internet_of(Behaviour::Fine).await;
    for host in running.hosts() {
        let mut bodies = Vec::new();
        for scheme in ["http", "https", "https"] {
            let answer = get(&running, scheme, &host, "/img/icon-48x48.png?v=2").await.unwrap();
            bodies.push(answer.bytes().await.unwrap());
        }
        assert!(bodies.iter().all(|body| *body == bodies[0] && !body.is_empty()));
        image::load_from_memory(&bodies[0]).unwrap();
    }
}

#[tokio::test]
async fn bodies_are_not_what_was_asked_for() {
    let (running, _scratch) = internet_of(Behaviour::HtmlInsteadOfIcon).await;
    let host = running.hosts().next().unwrap();
    let body = get(&running, "http", &host, "/favicon.ico").await.unwrap().text().await.unwrap();
    assert!(body.starts_with("<!DOCTYPE html>"), "{body}");
    let (running, _scratch) = internet_of(Behaviour::EmptyBody).await;
    let answer = get(&running, "https", &host, "/favicon.ico").await.unwrap();
    assert_eq!(answer.bytes().await.unwrap().len(), 0);
    let (running, _scratch) = internet_of(Behaviour::BrokenImage).await;
    for host in running.hosts() {
        let answer = get(&running, "https", &host, "/icon.png").await.unwrap();
        let body = answer.bytes().await.unwrap();
        assert!(body.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert!(image::load_from_memory(&body).is_err());
    }
}

#[tokio::test]
async fn too_large_is_more_than_the_limit_with_and_without_a_length() {
    for (behaviour, announced) in
        [(Behaviour::TooLarge, true), (Behaviour::TooLargeUnannounced, false)]
    {
        let (running, _scratch) = internet_of(behaviour).await;
        for host in running.hosts().take(4) {
            for scheme in ["http", "https"] {
                let answer = get(&running, scheme, &host, "/favicon.ico").await.unwrap();
                assert_eq!(answer.content_length().is_some(), announced, "{scheme} {host}");
                assert!(answer.bytes().await.unwrap().len() > MAX_BYTES);
            }
        }
    }
}

#[tokio::test]
async fn lengths_lie_both_ways() {
    let (running, _scratch) = internet_of(Behaviour::LengthTooLong).await;
    let host = running.hosts().next().unwrap();
    let error = get(&running, "https", &host, "/a.png").await.unwrap().bytes().await.unwrap_err();
    assert!(!error.is_timeout(), "{}", causes(&error));
    let (fine, _other_scratch) = internet_of(Behaviour::Fine).await;
    let whole = get(&fine, "http", &host, "/a.png").await.unwrap().bytes().await.unwrap();
    let (running, _scratch) = internet_of(Behaviour::LengthTooShort).await;
    let half = get(&running, "http", &host, "/a.png").await.unwrap().bytes().await.unwrap();
    assert_eq!(half, whole[..whole.len() / 2]);
}

#[tokio::test]
async fn a_stalled_body_begins_and_never_ends() {
    let (running, _scratch) = internet_of(Behaviour::StallsInBody).await;
    let host = running.hosts().next().unwrap();
    for scheme in ["http", "https"] {
        let mut answer = get_within(SILENCE, &running, scheme, &host, "/a.png").await.unwrap();
        assert!(!answer.chunk().await.unwrap().unwrap().is_empty());
        let error = answer.bytes().await.unwrap_err();
        assert!(error.is_timeout(), "{}", causes(&error));
    }
}

#[tokio::test]
async fn a_packed_body_unpacks_to_the_icon() {
    let (packing, _scratch) = internet_of(Behaviour::Gzip).await;
    let (plain, _other_scratch) = internet_of(Behaviour::Fine).await;
    let host = packing.hosts().next().unwrap();
    let answer = get(&packing, "https", &host, "/a.svg").await.unwrap();
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let packed = answer.bytes().await.unwrap();
    let mut unpacked = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(&*packed), &mut unpacked).unwrap();
    let expected = get(&plain, "https", &host, "/a.svg").await.unwrap().bytes().await.unwrap();
    assert_eq!(unpacked, expected);
}

async fn follow(running: &Running, host: &str, max_hops: usize) -> (usize, u16) {
    let mut target = "/favicon.ico".to_owned();
    for hops in 0..=max_hops {
        let answer = get(running, "https", host, &target).await.unwrap();
        let Some(location) = answer.headers().get("location") else {
            return (hops, answer.status().as_u16());
        };
        let location = location.to_str().unwrap();
        let rest = location.rsplit_once(host).map_or(location, |(_, rest)| rest);
        target = rest.to_owned();
    }
    (max_hops + 1, 0)
}

#[tokio::test]
async fn redirects_end_at_the_icon_or_too_late_or_never() {
    let (running, _scratch) = internet_of(Behaviour::RedirectChain).await;
    for host in running.hosts() {
        let (hops, status) = follow(&running, &host, 9).await;
        assert!((1..=5).contains(&hops) && status == 200, "{host}: {hops} {status}");
    }
    let (running, _scratch) = internet_of(Behaviour::RedirectTooMany).await;
    for host in running.hosts() {
        let (hops, status) = follow(&running, &host, 12).await;
        assert!((6..=9).contains(&hops) && status == 200, "{host}: {hops} {status}");
    }
    let (running, _scratch) = internet_of(Behaviour::RedirectLoop).await;
    for host in running.hosts() {
        assert_eq!(follow(&running, &host, 12).await, (13, 0), "{host}");
    }
}

#[tokio::test]
async fn redirects_lead_astray() {
    for (behaviour, starts) in [
        (Behaviour::RedirectPrivate, &["http://", "https://1"][..]),
        (Behaviour::RedirectBadScheme, &["ftp:", "file:", "javascript:", "data:"]),
        (Behaviour::RedirectOtherHost, &["https://"]),
    ] {
        let (running, _scratch) = internet_of(behaviour).await;
        for host in running.hosts() {
            let answer = get(&running, "http", &host, "/favicon.ico").await.unwrap();
            let location = answer.headers()["location"].to_str().unwrap();
            assert!(starts.iter().any(|start| location.starts_with(start)), "{location}");
            if behaviour == Behaviour::RedirectOtherHost {
                let (other, _) = location["https://".len()..].split_once('/').unwrap();
                let icon = get(&running, "https", other, "/favicon.ico").await.unwrap();
                assert_eq!(icon.status(), 200);
            }
        }
    }
}

#[tokio::test]
async fn robots_forbid_or_fail_only_where_they_are_said_to() {
    let (running, _scratch) = internet_of(Behaviour::RobotsDisallow).await;
    for host in running.hosts() {
        let answer = get(&running, "https", &host, "/robots.txt").await.unwrap();
        assert!(answer.text().await.unwrap().to_lowercase().contains("disallow: /\n"));
    }
    let (running, _scratch) = internet_of(Behaviour::RobotsUnavailable).await;
    assert!(status_of_all(&running, "/robots.txt").await.iter().all(|status| *status == 503));
    let (running, _scratch) = internet_of(Behaviour::ServerError).await;
    let found = status_of_all(&running, "/robots.txt").await;
    assert!(found.iter().all(|status| [200, 404].contains(status)), "{found:?}");
    assert_eq!(running.counts().robots_requests, found.len() as u64);
}

#[tokio::test]
async fn wrong_types_come_with_right_bytes() {
    let (running, _scratch) = internet_of(Behaviour::WrongContentType).await;
    let mut types = std::collections::BTreeSet::new();
    for host in running.hosts() {
        let answer = get(&running, "https", &host, "/a-32x32.gif").await.unwrap();
        let content_type = answer.headers().get("content-type");
        types.insert(content_type.map(|value| value.to_str().unwrap().to_owned()));
        assert!(answer.bytes().await.unwrap().starts_with(b"GIF8"));
    }
    assert!(types.len() > 1 && !types.contains(&Some("image/gif".to_owned())), "{types:?}");
}

#[tokio::test]
async fn some_hosts_have_no_favicon_and_all_else() {
    let (running, _scratch) = start(Mix::none().with_missing_favicon(1_000_000)).await;
    assert!(status_of_all(&running, "/favicon.ico").await.iter().all(|status| *status == 404));
    assert!(status_of_all(&running, "/other.ico").await.iter().all(|status| *status == 200));
}

#[tokio::test]
async fn connections_at_once_are_counted_for_each_host() {
    let (running, _scratch) = internet_of(Behaviour::StallsInBody).await;
    let host = running.hosts().next().unwrap();
    let fetch = || async { get(&running, "http", &host, "/a.png").await.unwrap() };
    let held = tokio::join!(fetch(), fetch(), fetch());
    let counts = running.counts();
    drop(held);
    assert_eq!(counts.most_per_host, Some((3, host)));
    assert_eq!(counts.most_per_address.map(|(most, _)| most), Some(3));
}
