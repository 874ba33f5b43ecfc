//! Checks that each behaviour's names, connections and handshakes fail as specified.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    net::{IpAddr, Ipv6Addr, SocketAddr},
};

use everytab_patience::{LIMIT, SILENCE};
use everytab_testbed::{Behaviour, Mix};
use hickory_proto::{op::ResponseCode, rr::RecordType};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::client::{
    addresses, answer_of, ask, ask_over_tcp, causes, get, get_within, internet_of, port, start,
};

#[tokio::test]
async fn names_fail_as_their_behaviour_says() {
    for (behaviour, code) in [
        (Behaviour::DnsNxdomain, ResponseCode::NXDomain),
        (Behaviour::DnsServfail, ResponseCode::ServFail),
    ] {
        let (running, _scratch) = internet_of(behaviour).await;
        for host in running.hosts() {
            assert_eq!(addresses(&running, &host).await, Err(code), "{host}");
        }
        running.stop().await;
    }
    let (running, _scratch) = internet_of(Behaviour::DnsNoAddress).await;
    let host = running.hosts().next().unwrap();
    assert_eq!(addresses(&running, &host).await, Ok(Vec::new()));
    let (running, _scratch) = internet_of(Behaviour::DnsNeverAnswers).await;
    let host = running.hosts().next().unwrap();
    let asked = timeout(SILENCE, answer_of(running.client.dns, &host, RecordType::A));
    assert!(asked.await.is_err());
}

#[tokio::test]
async fn a_name_of_no_host_does_not_exist_and_case_does_not_matter() {
    let (running, _scratch) = internet_of(Behaviour::Fine).await;
    for host in ["nobody.example", "localhost", "com", "www.example.com"] {
        assert_eq!(addresses(&running, host).await, Err(ResponseCode::NXDomain), "{host}");
    }
    let host = running.hosts().next().unwrap();
    let found = addresses(&running, &host).await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_loopback());
    assert_eq!(addresses(&running, &host.to_uppercase()).await.unwrap(), found);
}

#[tokio::test]
async fn at_a_shared_address_some_hosts_hang_and_others_answer() {
    let mix = Mix::none().with(Behaviour::NeverAnswers, 500_000).with_shared_address(1_000_000);
    let (running, _scratch) = start(mix).await;
    let mut seen = BTreeMap::new();
    for host in running.hosts() {
        let found = addresses(&running, &host).await.unwrap();
        let endpoint = SocketAddr::new(found[0], port(&running, "http"));
        let hangs = running.behaviour(&host) == Behaviour::NeverAnswers;
        let mut stream = TcpStream::connect(endpoint).await.unwrap();
        let request = format!("GET /favicon.ico HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let limit = if hangs { SILENCE } else { LIMIT };
        let answer = timeout(limit, stream.read_u8()).await;
        assert_eq!(answer.is_err(), hangs, "{host}");
        seen.entry(endpoint).or_insert_with(Vec::new).push(hangs);
    }
    assert!(seen.len() <= 3, "{seen:?}");
    let is_mixed = |hang: &Vec<bool>| hang.contains(&true) && hang.contains(&false);
    assert!(seen.values().any(is_mixed), "{seen:?}");
}

#[tokio::test]
async fn names_are_told_over_tcp_as_over_udp() {
    let (running, _scratch) = internet_of(Behaviour::Fine).await;
    let host = running.hosts().next().unwrap();
    let over_udp = ask(running.client.dns, &host, RecordType::A).await;
    let over_tcp = ask_over_tcp(running.client.dns, &host).await;
    assert_eq!(over_udp.answers.len(), 1);
    assert_eq!(over_udp.answers[0].data, over_tcp.answers[0].data);
}

#[tokio::test]
async fn nothing_is_left_when_it_is_stopped_or_dropped() {
    for stop in [true, false] {
        let (running, _scratch) = internet_of(Behaviour::StallsInBody).await;
        let host = running.hosts().next().unwrap();
        let (ca_file, ports) = (running.client.ca_file.clone(), running.client.dial_ports.clone());
        assert!(ca_file.exists());
        let mut held = get(&running, "http", &host, "/a.png").await.unwrap();
        if stop {
            running.stop().await;
        } else {
            drop(running);
        }
        let rest = async {
            while held.chunk().await?.is_some() {}
            reqwest::Result::Ok(())
        };
        assert!(!rest.await.unwrap_err().is_timeout(), "the connection is still open");
        for (_, port) in ports {
            let dialled = TcpStream::connect(("127.0.0.1", port)).await;
            assert_eq!(dialled.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        }
        assert!(!ca_file.exists());
    }
}

#[tokio::test]
async fn private_addresses_are_given_where_the_behaviour_says() {
    let (running, _scratch) = internet_of(Behaviour::DnsPrivateAddress).await;
    for host in running.hosts() {
        let found = addresses(&running, &host).await.unwrap();
        assert!(found.iter().any(|address| !address.is_loopback()), "{host}: {found:?}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_refused_by_the_system() {
    let (running, _scratch) = internet_of(Behaviour::Refused).await;
    let host = running.hosts().next().unwrap();
    let address = addresses(&running, &host).await.unwrap()[0];
    for scheme in ["http", "https"] {
        let dialled = SocketAddr::new(address, port(&running, scheme));
        let connected = TcpStream::connect(dialled).await;
        if address == IpAddr::V6(Ipv6Addr::LOCALHOST) {
            assert_eq!(connected.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        } else {
            println!("no ::1 here: a refusal is a reset");
            let read = connected.unwrap().read(&mut [0; 8]).await;
            assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
        }
    }
}

#[tokio::test]
async fn a_dropped_connection_request_is_never_answered() {
    let (running, _scratch) = internet_of(Behaviour::ConnectTimeout).await;
    for host in running.hosts() {
        let address = addresses(&running, &host).await.unwrap()[0];
        for scheme in ["http", "https"] {
            let dialled = SocketAddr::new(address, port(&running, scheme));
            let connecting = timeout(SILENCE, TcpStream::connect(dialled)).await;
            assert!(connecting.is_err(), "{dialled} answered");
        }
    }
    assert_eq!(running.counts().connections, 0);
}

#[tokio::test]
async fn a_silent_host_accepts_and_says_nothing() {
    let (running, _scratch) = internet_of(Behaviour::NeverAnswers).await;
    let host = running.hosts().next().unwrap();
    let get = |scheme| get_within(SILENCE, &running, scheme, &host, "/favicon.ico");
    let error = get("http").await.unwrap_err();
    assert!(error.is_timeout() && !error.is_connect(), "{}", causes(&error));
    let error = get("https").await.unwrap_err();
    assert!(error.is_timeout(), "{}", causes(&error));
}

#[tokio::test]
async fn a_reset_connection_ends_in_a_reset() {
    let (running, _scratch) = internet_of(Behaviour::Reset).await;
    let host = running.hosts().next().unwrap();
    let address = addresses(&running, &host).await.unwrap()[0];
    let dialled = SocketAddr::new(address, port(&running, "http"));
    let mut stream = TcpStream::connect(dialled).await.unwrap();
    let read = stream.read(&mut [0; 8]).await;
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn handshakes_fail_and_http_still_works() {
    let (running, _scratch) = internet_of(Behaviour::TlsHandshakeFailure).await;
    let host = running.hosts().next().unwrap();
    let error = get(&running, "https", &host, "/favicon.ico").await.unwrap_err();
    assert!(causes(&error).contains("fatal alert"), "{}", causes(&error));
    assert_eq!(get(&running, "http", &host, "/favicon.ico").await.unwrap().status(), 200);
}

#[tokio::test]
async fn certificates_have_the_fault_that_they_are_said_to_have() {
    for (behaviour, fault) in [
        (Behaviour::CertificateWrongName, "not valid for name"),
        (Behaviour::CertificateExpired, "expired"),
        (Behaviour::CertificateSelfSigned, "UnknownIssuer"),
    ] {
        let (running, _scratch) = internet_of(behaviour).await;
        let host = running.hosts().next().unwrap();
        let error = get(&running, "https", &host, "/favicon.ico").await.unwrap_err();
        assert!(causes(&error).contains(fault), "{behaviour:?}: {}", causes(&error));
    }
    let (running, _scratch) = internet_of(Behaviour::Fine).await;
    for host in running.hosts() {
        let answer = get(&running, "https", &host, "/favicon.ico").await.unwrap();
        assert_eq!(answer.status(), 200, "{host}");
    }
}
