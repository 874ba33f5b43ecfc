//! Tests TLS. The fetcher accepts invalid certificates, and records them.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use everytab_fetcher::{Certificate, FetchSettings, Outcome, RobotsPolicy};
use everytab_patience::SILENCE;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use super::support::*;

pub(super) struct Authority {
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
    pub(super) pem: String,
}

pub(super) fn authority() -> Authority {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "a root for a test");
    let pem = parameters.self_signed(&key).expect("signed").pem();
    Authority { issuer: rcgen::Issuer::new(parameters, key), pem }
}

fn acceptor(
    authority: &Authority,
    protocols: &[&[u8]],
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> TlsAcceptor {
    let key = rcgen::KeyPair::generate().expect("a key");
    let parameters = rcgen::CertificateParams::new(vec!["a.test".to_owned()]).expect("a name");
    let certificate = parameters.signed_by(&key, &authority.issuer).expect("signed");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate)],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("a pair");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

pub(super) async fn serve(
    authority: &Authority,
    protocols: &[&[u8]],
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> (SocketAddr, AbortOnDropHandle<()>) {
    let acceptor = acceptor(authority, protocols, versions);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let handshake = stream.get_ref().1.handshake_kind();
                let service =
                    service_fn(move |request: http::Request<hyper::body::Incoming>| async move {
                        let text = format!("icon over {:?}, {handshake:?}", request.version());
                        Ok::<_, std::convert::Infallible>(http::Response::new(Full::<Bytes>::from(
                            text,
                        )))
                    });
                let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    (address, AbortOnDropHandle::new(task))
}

async fn settings_for(dns: &TestDns, https: SocketAddr) -> FetchSettings {
    for name in ["a.test", "b.test"] {
        dns.point(name, "127.0.0.1");
    }
    FetchSettings { dial_ports: [(443, https.port())].into(), ..settings(dns, https) }
}

#[tokio::test]
async fn http2_is_used_if_offered_and_certificates_are_recorded() {
    let authority = authority();
    let dns = TestDns::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let ca_file = folder.path().join("root.pem");
    std::fs::write(&ca_file, &authority.pem).expect("written");
    for (protocols, version) in
        [(vec![&b"h2"[..], b"http/1.1"], "HTTP/2.0"), (vec![&b"http/1.1"[..]], "HTTP/1.1")]
    {
        let (address, _server) = serve(&authority, &protocols, rustls::ALL_VERSIONS).await;
        let mut settings = settings_for(&dns, address).await;
        let without_our_root = everytab_fetcher::Fetcher::new(settings.clone()).expect("settings");
        settings.ca_file = Some(ca_file.clone());
        let fetcher = everytab_fetcher::Fetcher::new(settings).expect("settings");
        let fetched = fetch_one(&fetcher, "https://a.test/icon").await;
        assert_eq!(fetched.outcome, Outcome::Ok);
        let text = String::from_utf8_lossy(&fetched.body);
        assert!(text.starts_with(&format!("icon over {version}, ")), "{text}");
        assert_eq!(fetched.certificate, Some(Certificate::Verified));
        let fetched = fetch_one(&fetcher, "https://b.test/icon").await;
        assert_eq!(fetched.outcome, Outcome::Ok);
        assert_eq!(fetched.certificate, Some(Certificate::WrongName));
        let fetched = fetch_one(&without_our_root, "https://a.test/icon").await;
        assert_eq!(fetched.outcome, Outcome::Ok);
        assert_eq!(fetched.certificate, Some(Certificate::UnknownIssuer));
    }
}

#[tokio::test]
async fn a_second_connection_to_a_name_resumes_the_session_of_the_first() {
    let authority = authority();
    let dns = TestDns::start().await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let (address, _server) = serve(&authority, &[b"http/1.1"], &[version]).await;
        let fetcher =
            everytab_fetcher::Fetcher::new(settings_for(&dns, address).await).expect("settings");
        let mut handshakes = Vec::new();
        for (host, path) in [("a", "1"), ("a", "2"), ("b", "1")] {
            let url = format!("https://{host}.test/{path}");
            let fetched = fetch_one(&fetcher, &url).await;
            let text = String::from_utf8_lossy(&fetched.body).into_owned();
            handshakes.push(text.rsplit_once(' ').map(|(_, kind)| kind.to_owned()));
        }
        let kinds: Vec<_> = handshakes.iter().flatten().map(String::as_str).collect();
        // Sessions are not shared between names, so that servers cannot link these names.
        assert_eq!(kinds, ["Some(Full)", "Some(Resumed)", "Some(Full)"], "{version:?}");
    }
}

/// Chromium also accepts the end of a TLS stream without a closing message.
#[tokio::test]
async fn a_body_without_a_length_ends_with_its_connection() {
    let authority = authority();
    let dns = TestDns::start().await;
    for (fields, outcome) in [
        ("x: y", Outcome::Ok),
        ("content-length: -1", Outcome::Ok),
        ("content-length: 4", Outcome::Ok),
        ("content-length: 5", Outcome::BodyTruncated),
        ("transfer-encoding: chunked", Outcome::H1Parse),
    ] {
        let acceptor = acceptor(&authority, &[b"http/1.1"], rustls::ALL_VERSIONS);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = tokio::spawn(async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let _ = stream.read(&mut [0; 4_096]).await;
                let reply = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nicon");
                let _ = stream.write_all(reply.as_bytes()).await;
                let _ = stream.flush().await;
                let _ = stream.into_inner().0.shutdown().await;
            }
        });
        let _server = AbortOnDropHandle::new(server);
        let fetcher = everytab_fetcher::Fetcher::new(settings_for(&dns, address).await);
        let fetched = fetch_one(&fetcher.expect("settings"), "https://a.test/icon").await;
        assert_eq!(fetched.outcome, outcome, "{fields}");
        if outcome == Outcome::Ok {
            assert_eq!(fetched.body, "icon", "{fields}");
        }
    }
}

#[tokio::test]
async fn a_failed_handshake_has_its_outcome() {
    let dns = TestDns::start().await;
    for (reply, outcome) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], Outcome::TlsHandshake),
        (b"", Outcome::ConnectReset),
        (b"\x15\x03\x01\x00\x02\x02\x46", Outcome::TlsUnsupported),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = tokio::spawn(async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            loop {
                let Ok((mut stream, _)) = listener.accept().await else { continue };
                let mut hello = [0; 4_096];
                let _ = stream.read(&mut hello).await;
                let _ = stream.write_all(reply).await;
                let _ = stream.shutdown().await;
            }
        });
        let _server = AbortOnDropHandle::new(server);
        let fetcher = everytab_fetcher::Fetcher::new(settings_for(&dns, address).await);
        let fetched =
            fetcher.expect("settings").fetch_one("https://a.test/", RobotsPolicy::Ignore).await;
        assert_eq!(fetched.expect("no local failure").outcome, outcome, "{reply:?}");
    }
}

#[tokio::test]
async fn a_handshake_that_never_finishes_times_out() {
    let dns = TestDns::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut settings = settings_for(&dns, address).await;
    settings.connect_timeout = SILENCE;
    let fetcher = everytab_fetcher::Fetcher::new(settings).expect("settings");
    let fetched = fetch_one(&fetcher, "https://a.test/").await;
    assert_eq!(fetched.outcome, Outcome::TlsTimeout);
    assert_eq!(fetched.certificate, None);
}

#[tokio::test]
async fn a_certificate_file_without_certificates_is_rejected_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("empty.pem");
    std::fs::write(&path, "nothing").expect("written");
    let settings = FetchSettings { ca_file: Some(path), ..FetchSettings::default() };
    let error = everytab_fetcher::Fetcher::new(settings).err().expect("an error").to_string();
    assert!(error.contains("empty.pem"), "{error}");
}
