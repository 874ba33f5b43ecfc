//! Starts the small internet for a test, and queries it with a plain client.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use everytab_patience::{LIMIT, SILENCE, in_time};
use everytab_testbed::{
    Behaviour, Content, GraphSettings, Latency, Mix, Running, Settings, SmallInternet,
};
use hickory_proto::{
    op::{Message, Query, ResponseCode},
    rr::{Name, RData, RecordType},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
};

pub(crate) async fn internet_of(behaviour: Behaviour) -> (Running, TempDir) {
    start(Mix::only(behaviour)).await
}

pub(crate) async fn start(mix: Mix) -> (Running, TempDir) {
    let scratch = tempfile::tempdir().unwrap();
    let settings = Settings {
        seed: 11,
        content: Content::Generated { hosts: 12 },
        behaviours: mix,
        scratch_dir: scratch.path().to_owned(),
        latency: Latency::default(),
        standard_ports: false,
    };
    (SmallInternet::start(settings).await.unwrap(), scratch)
}

pub(crate) async fn start_graph(graph: GraphSettings) -> (Running, TempDir) {
    let scratch = tempfile::tempdir().unwrap();
    let settings = Settings::graph(11, graph, scratch.path());
    (SmallInternet::start(settings).await.unwrap(), scratch)
}

pub(crate) async fn client_of(running: &Running, hosts: &[String]) -> reqwest::Client {
    let authority = reqwest::Certificate::from_pem(running.ca_pem.as_bytes()).unwrap();
    let mut client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([authority])
        .connect_timeout(SILENCE)
        .timeout(LIMIT);
    for host in hosts {
        let found = addresses(running, host).await.unwrap_or_default();
        client = match found.first() {
            Some(address) => client.resolve(host, SocketAddr::new(*address, 0)),
            // Otherwise reqwest would use the system's resolver. Callers must not dial this host,
            // because the testbed also listens on 127.0.0.1.
            None => client.resolve(host, SocketAddr::from(([127, 0, 0, 1], 0))),
        };
    }
    client.build().unwrap()
}

pub(crate) async fn ask(server: SocketAddr, host: &str, kind: RecordType) -> Message {
    in_time(&format!("the DNS response for {host}"), answer_of(server, host, kind)).await
}

pub(crate) async fn answer_of(server: SocketAddr, host: &str, kind: RecordType) -> Message {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(format!("{host}.")).unwrap(), kind));
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&message.to_vec().unwrap(), server).await.unwrap();
    let mut buffer = [0; 4_096];
    let received = socket.recv(&mut buffer).await.unwrap();
    Message::from_vec(&buffer[..received]).unwrap()
}

pub(crate) async fn ask_over_tcp(server: SocketAddr, host: &str) -> Message {
    let mut message = Message::query();
    message.add_query(Query::query(Name::from_ascii(host).unwrap(), RecordType::A));
    let question = message.to_vec().unwrap();
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_u16(question.len() as u16).await.unwrap();
    stream.write_all(&question).await.unwrap();
    let length = stream.read_u16().await.unwrap();
    let mut answer = vec![0; usize::from(length)];
    stream.read_exact(&mut answer).await.unwrap();
    Message::from_vec(&answer).unwrap()
}

pub(crate) async fn addresses(running: &Running, host: &str) -> Result<Vec<IpAddr>, ResponseCode> {
    let mut found = Vec::new();
    for kind in [RecordType::A, RecordType::AAAA] {
        let answer = ask(running.client.dns, host, kind).await;
        if answer.metadata.response_code != ResponseCode::NoError {
            return Err(answer.metadata.response_code);
        }
        for record in &answer.answers {
            match &record.data {
                RData::A(address) => found.push(IpAddr::V4(address.0)),
                RData::AAAA(address) => found.push(IpAddr::V6(address.0)),
                other => panic!("expected an address, got {other}"),
            }
        }
    }
    Ok(found)
}

pub(crate) fn port(running: &Running, scheme: &str) -> u16 {
    let of = if scheme == "https" { 443 } else { 80 };
    running.client.dial_ports.iter().find(|(from, _)| *from == of).unwrap().1
}

pub(crate) async fn get(
    running: &Running,
    scheme: &str,
    host: &str,
    target: &str,
) -> Result<reqwest::Response, reqwest::Error> {
    get_within(LIMIT, running, scheme, host, target).await
}

pub(crate) async fn get_within(
    limit: Duration,
    running: &Running,
    scheme: &str,
    host: &str,
    target: &str,
) -> Result<reqwest::Response, reqwest::Error> {
    let address = addresses(running, host).await.expect("a name that resolves")[0];
    let port = port(running, scheme);
    let authority = reqwest::Certificate::from_pem(running.ca_pem.as_bytes()).unwrap();
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([authority])
        .timeout(limit)
        .resolve(host, SocketAddr::new(address, port))
        .build()
        .unwrap();
    client.get(format!("{scheme}://{host}:{port}{target}")).send().await
}

pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
