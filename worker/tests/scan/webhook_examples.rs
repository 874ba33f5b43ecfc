//! Tests that the examples in curl, Python and TypeScript accept webhooks that a worker sent, with
//! either secret during a rotation, and reject forged or old ones.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    api_client::Client,
    api_examples::{Examples, Language},
    api_walkthrough::{key, service},
    environment::{Database, Stores},
    live_crawls::{crawler, graph, graph_of_sites},
    setup::{LIMIT, Running, run, wait_for},
};

#[derive(Debug, Clone)]
struct Webhook {
    id: String,
    sent_at: String,
    signatures: String,
    body: Vec<u8>,
}

impl Webhook {
    /// Reads one webhook from a connection, and confirms it.
    fn receive(stream: TcpStream) -> Self {
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let header = |name: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(": "));
            let value = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
            value.unwrap_or_else(|| panic!("{name}: {head}")).1.to_owned()
        };
        let mut body = vec![0; header("content-length").parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
        reader.get_mut().write_all(answer).unwrap();
        let [id, sent_at, signatures] =
            ["webhook-id", "webhook-timestamp", "webhook-signature"].map(header);
        Self { id, sent_at, signatures, body }
    }

    fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Signs the webhook with openssl, which is independent of the code under test.
    fn signed(mut self, secret: &str, folder: &Path) -> Self {
        let digits = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let digits: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = folder.join("signed");
        let signed = [format!("{}.{}.", self.id, self.sent_at).as_bytes(), &self.body].concat();
        std::fs::write(&path, signed).unwrap();
        let mut openssl = Command::new("openssl");
        openssl.args(["dgst", "-sha256", "-mac", "HMAC", "-macopt", &format!("hexkey:{digits}")]);
        let output = openssl.arg("-binary").arg(path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        self.signatures = format!("v1,{}", STANDARD.encode(output.stdout));
        self
    }
}

/// An example that verifies webhooks with one secret.
enum Verifier {
    /// A program for one webhook.
    Program(Box<dyn Fn() -> Command>),
    /// A server at this address.
    Receiver(Running, String),
}

impl Verifier {
    fn new(examples: &Examples, language: Language, secret: &str) -> Self {
        let mut command = examples.command(language, "webhook");
        command.env("SECRET", secret);
        if language == Language::Curl {
            let secret = secret.to_owned();
            let script = command.get_args().next().unwrap().to_owned();
            return Self::Program(Box::new(move || {
                let mut command = Command::new("bash");
                command.arg(&script).env("SECRET", &secret);
                command
            }));
        }
        command.arg("127.0.0.1:0");
        let running = Running::start(command);
        let address = wait_for("the receiver's address", || {
            let text = running.stderr_text();
            let (_, rest) = text.split_once("listening on ")?;
            rest.split_once('\n').map(|(address, _)| address.to_owned())
        });
        Self::Receiver(running, address)
    }

    /// Passes a webhook to the example. Returns the event that it prints, or `None` if it rejects
    /// it.
    fn verify(&self, webhook: &Webhook, folder: &Path) -> Option<Value> {
        match self {
            Self::Program(command) => {
                let body = folder.join("body");
                std::fs::write(&body, &webhook.body).unwrap();
                let mut command = command();
                command.args([&webhook.id, &webhook.sent_at, &webhook.signatures]);
                command.stdin(Stdio::from(File::open(body).unwrap()));
                let output = command.output().unwrap();
                let said = String::from_utf8(output.stderr).unwrap();
                if output.status.success() {
                    return Some(serde_json::from_slice(&output.stdout).unwrap());
                }
                assert!(said.starts_with("not genuine: ") && output.stdout.is_empty(), "{said}");
                None
            }
            Self::Receiver(running, address) => {
                let before = running.stdout_text();
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                let Webhook { id, sent_at, signatures, body } = webhook;
                let head = format!(
                    "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\nwebhook-id: {id}\
                     \r\nwebhook-timestamp: {sent_at}\r\nwebhook-signature: {signatures}\r\n\r\n",
                    body.len()
                );
                stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                let printed = running.stdout_text().split_off(before.len());
                if answer.starts_with("HTTP/1.1 204 ") || answer.starts_with("HTTP/1.0 204 ") {
                    return Some(serde_json::from_str(&printed).unwrap());
                }
                assert!(answer.contains(" 401 ") && printed.is_empty(), "{answer}: {printed}");
                None
            }
        }
    }
}

/// Returns named forgeries, which every example must reject.
fn forged(webhook: &Webhook, secret: &str, folder: &Path) -> Vec<(&'static str, Webhook)> {
    let changed = |change: &dyn Fn(&mut Webhook)| {
        let mut webhook = webhook.clone();
        change(&mut webhook);
        webhook
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let sent_at = |time: String| changed(&|one| one.sent_at.clone_from(&time));
    let signature = |text: &str| changed(&|one| text.clone_into(&mut one.signatures));
    let [old, early] = [now - 3600, now + 3600].map(|time| sent_at(time.to_string()));
    vec![
        ("another signature", signature(&format!("v1,{}=", "A".repeat(43)))),
        ("no signature", signature("")),
        ("a signature that is no ASCII", signature("v1,\u{e9}\u{e9} \u{e9}")),
        ("another version of the signature", signature(&webhook.signatures.replace("v1,", "v2,"))),
        ("another id", changed(&|one| one.id.push('0'))),
        ("another time", sent_at((webhook.sent_at.parse::<u64>().unwrap() + 1).to_string())),
        ("a time that is none", sent_at("soon".to_owned()).signed(secret, folder)),
        ("another body", changed(&|one| one.body.push(b' '))),
        ("an old one with the right signature", old.signed(secret, folder)),
        ("one of the future with the right signature", early.signed(secret, folder)),
    ]
}

#[test]
fn each_example_accepts_real_webhooks_and_rejects_forged_and_old_ones() {
    let internet = graph_of_sites(61, 6, 60);
    let folder = internet.folder.path();
    let examples = Examples::compile(folder);
    let database = Database::new(&internet, Stores::folders(&internet, folder));
    // The operator must allow addresses for events over http in both roles.
    let more = ["--allow-range", "127.0.0.0/8"];
    let (service, address) = service(&database, &folder.join("crawls"), &more);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let place = listener.local_addr().unwrap();
    let ports = format!("80,443,{}", place.port());
    let client = Client { address, key: key(&database, "a receiver", &["--ports", &ports]) };
    let wanted = json!({ "url": format!("http://{place}/"), "events": ["url.done"] });
    let hook = client.post("/v1/webhooks", &wanted);
    let worker = crawler(&internet, &database, &["--ports", &ports]);
    // Other events arrive, too, in any order.
    let received = |kind: &str, id: &Value| {
        wait_for(kind, || {
            let webhook = Webhook::receive(listener.accept().ok()?.0);
            let event = webhook.event();
            (event["type"] == kind && event["data"]["id"] == *id).then_some(webhook)
        })
    };

    let url = graph(&internet).url(graph(&internet).home(0));
    let submitted = client.post("/v1/url", &json!({ "url": url }));
    let done = received("url.done", &submitted["id"]);
    let data = done.event()["data"].clone();
    assert_eq!(data["state"], "captured", "{data}");
    let path = format!("/v1/url/{}", submitted["id"].as_str().unwrap());
    assert_eq!(client.get(&path)["record"], data["record"]);
    let path = format!("/v1/webhooks/{}", hook["id"].as_str().unwrap());
    let rotated = client.post(&format!("{path}/rotate"), &json!({}));
    client.post(&format!("{path}/test"), &json!({}));
    let tested = received("webhook.test", &Value::Null);
    assert_eq!(tested.signatures.split(' ').count(), 2, "{}", tested.signatures);

    let secrets = [&hook, &rotated].map(|one| one["secret"].as_str().unwrap());
    assert_eq!(done.clone().signed(secrets[0], folder).signatures, done.signatures);
    for language in Language::ALL {
        let [old, new] = secrets.map(|secret| Verifier::new(&examples, language, secret));
        let printed = |webhook: &Webhook| {
            let mut event = webhook.event();
            event["id"] = json!(webhook.id);
            Some(event)
        };
        assert_eq!(old.verify(&done, folder), printed(&done), "{language:?}");
        assert_eq!(new.verify(&done, folder), None, "{language:?}: accepted with a later secret");
        for verifier in [&old, &new] {
            assert_eq!(verifier.verify(&tested, folder), printed(&tested), "{language:?}");
        }
        for (what, webhook) in forged(&done, secrets[0], folder) {
            assert_eq!(old.verify(&webhook, folder), None, "{language:?}: {what}");
        }
    }

    let shown = run(database.owner(&["keys", "webhooks"])).expect_code(0).stdout;
    assert!(shown.contains("enabled: ") && !shown.contains("whsec_"), "{shown}");
    let listed = || run(database.owner(&["keys", "webhooks", "--json"])).expect_code(0).stdout;
    let listed: Value = serde_json::from_str(listed().trim()).unwrap();
    assert_eq!((&listed["id"], &listed["failures"]), (&hook["id"], &json!(0)));
    worker.terminate();
    worker.finish().expect_code(4);
    service.terminate();
    service.finish().expect_code(4);
}
