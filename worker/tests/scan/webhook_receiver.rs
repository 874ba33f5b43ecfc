//! The receiver of docs/examples/webhook.py, sent to by a worker for the real service: an event
//! that is signed is printed, and one that is forged is not.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    api_client::Client,
    api_walkthrough::{key, service},
    environment::{Database, Stores},
    live_crawls::{crawler, graph, graph_of_sites},
    setup::{LIMIT, Running, run, wait_for},
};

/// Starts the receiver on a free port; returns its address.
fn receiver(port: u16, secret: &str) -> (Running, String) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/webhook.py");
    let mut python = Command::new("python3");
    python.arg(example).arg(format!("127.0.0.1:{port}")).env("SECRET", secret);
    let running = Running::start(python);
    let address = wait_for("the receiver's address", || {
        let text = running.stderr_text();
        let (_, rest) = text.split_once("listening on ")?;
        rest.split_once('\n').map(|(address, _)| address.to_owned())
    });
    (running, address)
}

/// The events that the receiver printed.
fn printed(receiver: &Running) -> Vec<Value> {
    let text = receiver.stdout_text();
    let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The status of the receiver's answer to a forged event.
fn forged(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: 2\r\nwebhook-id: msg_1\r\n\
         webhook-timestamp: {}\r\nwebhook-signature: v1,{}=\r\n\r\n{{}}",
        now.as_secs(),
        "A".repeat(43)
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn the_example_receives_what_a_worker_sends_and_refuses_what_is_forged() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success()) {
        println!("skipped: docs/examples/webhook.py: no python3");
        return;
    }
    let internet = graph_of_sites(61, 6, 60);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let store = internet.folder.path().join("crawls");
    // Over http events go to addresses alone that the operator allows on both roles.
    let (service, address) = service(&database, &store, &["--allow-range", "127.0.0.0/8"]);
    // The receiver has its port before the key names it, and its secret after.
    let (unset, place) = receiver(0, "whsec_");
    drop(unset);
    let port = place.rsplit(':').next().unwrap().to_owned();
    let ports = format!("80,443,{port}");
    let key = key(&database, "a receiver", &["--ports", &ports]);
    let client = Client { address, key };
    let hook = client.post(
        "/v1/webhooks",
        &json!({ "url": format!("http://{place}/"), "events": ["url.done", "crawl.ended"] }),
    );
    let (receiver, place) = receiver(port.parse().unwrap(), hook["secret"].as_str().unwrap());
    let worker = crawler(&internet, &database, &["--ports", &ports]);
    let url = graph(&internet).url(graph(&internet).home(0));
    let submitted = client.post("/v1/url", &json!({ "url": url }));
    let done = wait_for("the event", || {
        printed(&receiver).into_iter().find(|event| event["type"] == "url.done")
    });
    assert_eq!(done["data"]["id"], submitted["id"], "{done}");
    assert_eq!(done["data"]["state"], "captured", "{done}");
    assert!(done["id"].as_str().unwrap().starts_with("msg_"), "{done}");
    let path = format!("/v1/url/{}", submitted["id"].as_str().unwrap());
    assert_eq!(client.get(&path)["record"], done["data"]["record"]);
    assert_eq!(forged(&place), "401");
    assert!(printed(&receiver).iter().all(|event| event["id"] != "msg_1"));
    let listed = run(database.owner(&["keys", "webhooks", "--json"])).expect_code(0).stdout;
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!((&listed["id"], &listed["failures"]), (&hook["id"], &json!(0)));
    let shown = run(database.owner(&["keys", "webhooks"])).expect_code(0).stdout;
    assert!(shown.contains("enabled: ") && !shown.contains("whsec_"), "{shown}");
    worker.terminate();
    worker.finish().expect_code(4);
    service.terminate();
    service.finish().expect_code(4);
}
