//! Tests that an independent verifier accepts each request that is signed with Web Bot Auth, and
//! that the private key is only in its file.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread,
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use everytab_fetcher::{
    FetchSettings, Fetcher, HostCandidates, Outcome, RequestSigner, ShardOptions, SigningKey,
    Spool, fetch_shard,
};
use everytab_testbed::{Http2Request, Mix};
use everytab_webpage::{Candidate, CandidateSource};
use serde_json::Value;

use crate::{
    environment::{Database, Stores, internet},
    setup::{Running, files, folder, run, worker},
};

const SITE_URL: &str = "https://tabs.example/";

/// Returns a Python with http-message-signatures. `None` if it is missing, so that the test is
/// skipped.
fn python() -> Option<String> {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import http_message_signatures"]).output();
    if probe.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    println!("skipped: {python} has no http-message-signatures");
    None
}

fn verifier(python: &str) -> Command {
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/verify_signatures.py"));
    command
}

struct Verifier {
    child: Child,
    port: u16,
    verdicts: Receiver<Value>,
}

impl Verifier {
    fn start(python: &str, directory: &Path) -> Self {
        let mut command = verifier(python);
        command.arg(directory).arg("https://tabs.example").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        let (send, verdicts) = channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if send.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, port, verdicts }
    }

    /// Returns the requests since the last call, each with the verifier's objection if there is
    /// one.
    fn verdicts(&self) -> Vec<(String, Option<String>)> {
        let verdict = |line: Value| {
            let text = |name: &str| line[name].as_str().map(str::to_owned);
            (text("host").unwrap_or_default() + &text("path").unwrap_or_default(), text("fault"))
        };
        self.verdicts.try_iter().map(verdict).collect()
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn published_key(dir: &Path) -> (PathBuf, Value) {
    let key = dir.join("month.pem");
    let site = format!("file://{}", dir.join("site").display());
    let file = key.display().to_string();
    run(worker(["signing-key", "new", &file])).expect_code(0);
    let publish = worker([
        "signing-key",
        "publish",
        "--signing-key",
        &file,
        "--site",
        &site,
        "--site-url",
        SITE_URL,
    ]);
    let said = run(publish).expect_code(0).stdout;
    (key, serde_json::from_str(&said).unwrap())
}

fn directory(dir: &Path) -> PathBuf {
    dir.join("site/.well-known/http-message-signatures-directory")
}

fn candidates(url: &str) -> HostCandidates {
    let candidate = Candidate {
        url: url.to_owned(),
        source: CandidateSource::LinkRel,
        apple_touch: false,
        declared_type: None,
        declared_sizes: None,
    };
    HostCandidates { host_no: 0, hostname: "a.test".to_owned(), candidates: vec![candidate] }
}

#[test]
fn a_key_is_created_once_published_with_the_old_one_and_never_shown() {
    let folder = folder();
    let dir = folder.path();
    let (key, said) = published_key(dir);
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    let file = key.display().to_string();
    let again = run(worker(["signing-key", "new", &file])).expect_code(1);
    assert!(again.stderr.contains("choose a file name"), "{}", again.stderr);
    let shown = run(worker(["signing-key", "show", "--signing-key", &file])).expect_code(0);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["key_id"], said["key_id"]);

    let next = dir.join("next.pem").display().to_string();
    run(worker(["signing-key", "new", &next])).expect_code(0);
    let site = format!("file://{}", dir.join("site").display());
    let publish = ["signing-key", "publish", "--signing-key", &next, "--site", &site];
    run(worker(publish)).expect_code(0);
    let keys: Value = serde_json::from_slice(&fs::read(directory(dir)).unwrap()).unwrap();
    let keys = keys["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert_eq!(keys[0]["kid"], said["key_id"]);
    assert!(keys.iter().all(|key| key.get("d").is_none()), "{keys:?}");

    // The error names an invalid file, but does not repeat its content.
    let wrong = dir.join("wrong.pem");
    fs::write(&wrong, "a secret of mine").unwrap();
    let wrong = wrong.display().to_string();
    let refused = run(worker(["run", "--signing-key", &wrong, "--database-url", "postgres:///x"]));
    let refused = refused.expect_code(2);
    assert!(refused.stderr.contains(&wrong), "{}", refused.stderr);
    assert!(!refused.stderr.contains("secret of mine"), "{}", refused.stderr);
}

#[test]
fn an_independent_verifier_accepts_the_requests_of_a_shard_and_the_directory() {
    let Some(python) = python() else { return };
    let folder = folder();
    let dir = folder.path();
    let (key, said) = published_key(dir);
    let headers = said["headers"].to_string();
    let mut check = verifier(&python);
    check.arg(directory(dir)).args(["tabs.example", &headers]);
    let checked = check.output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));

    let verifier = Verifier::start(&python, &directory(dir));
    let names = crate::address_guard::resolve(
        ["a.test", "b.test"].map(|name| (name.to_owned(), vec![[127, 0, 0, 1].into()])).into(),
    );
    let fetch = |signed: bool| {
        let key = Arc::new(SigningKey::from_pem(&fs::read(&key).unwrap()).unwrap());
        let settings = FetchSettings {
            dns: Some(names),
            allow_ranges: vec!["127.0.0.0/8".parse().unwrap()],
            dial_ports: [(80, verifier.port), (8080, verifier.port)].into(),
            ..FetchSettings::default()
        };
        let signer = signed.then(|| Arc::new(RequestSigner::new(key, SITE_URL).unwrap()));
        let options = ShardOptions { signer, later_pass: false, ..ShardOptions::default() };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let spool = Arc::new(Spool::create(dir, 1 << 20).unwrap());
        let urls = ["http://a.test/icon", "http://a.test:8080/icon", "http://A.test/old?x=1"];
        let hosts = urls.map(candidates).into();
        let shard = runtime.block_on(async {
            let fetcher = Fetcher::new(settings).unwrap();
            fetch_shard(&fetcher, hosts, spool, options).await.unwrap()
        });
        let outcomes = shard.results.iter().map(|result| result.url_fetch.outcome);
        outcomes.collect::<Vec<_>>()
    };
    assert_eq!(fetch(true), [Outcome::Ok; 3]);
    let mut asked = verifier.verdicts();
    asked.sort();
    let paths = [
        "a.test/icon",
        "a.test/old?x=1",
        "a.test/robots.txt",
        "a.test:8080/icon",
        "a.test:8080/robots.txt",
        "b.test:8080/icon",
        "b.test:8080/robots.txt",
    ];
    let expected = paths.map(|path| (path.to_owned(), None));
    assert_eq!(asked, expected);
    // The verifier must object to unsigned requests.
    fetch(false);
    let asked = verifier.verdicts();
    assert!(!asked.is_empty() && asked.iter().all(|(_, fault)| fault.is_some()), "{asked:?}");
}

#[test]
fn an_independent_verifier_accepts_what_inspect_url_sends_over_http2() {
    let Some(python) = python() else { return };
    let internet = internet(12, Mix::none());
    internet.running.keep_access_log();
    let dir = internet.folder.path();
    let (key, _) = published_key(dir);
    let key = key.display().to_string();
    let urls: Vec<String> =
        internet.running.hosts().map(|host| format!("https://{host}/favicon.ico")).collect();
    let options = internet.running.client.arguments();
    let inspect = |more: &[&str]| {
        let mut command = worker(["inspect", "url"]);
        command.args(&options).args(more).args(["--"]).args(&urls);
        run(command)
    };
    let unnamed = inspect(&["--signing-key", &key]).expect_code(2);
    assert!(unnamed.stderr.contains("--site-url"), "{}", unnamed.stderr);
    let said = inspect(&["--signing-key", &key, "--site-url", SITE_URL]).expect_code(0);
    assert_eq!(said.stdout.lines().count(), urls.len());
    let asked = internet.running.http2_requests();
    let paths: BTreeSet<&str> = asked.iter().map(|request| &*request.path).collect();
    assert_eq!(paths, BTreeSet::from(["/favicon.ico", "/robots.txt"]), "{asked:?}");
    let verdicts = verdicts_of(&python, &directory(dir), &asked);
    assert!(verdicts.len() >= 8, "{verdicts:?}");
    assert!(verdicts.iter().all(|verdict| verdict["fault"].is_null()), "{verdicts:?}");

    // A signature for one site must not be valid for another.
    let mut stolen = asked[0].clone();
    stolen.host = "other.example".to_owned();
    let verdicts = verdicts_of(&python, &directory(dir), &[stolen]);
    assert!(verdicts[0]["fault"].is_string(), "{verdicts:?}");
    let before = asked.len();
    inspect(&[]).expect_code(0);
    let asked = internet.running.http2_requests();
    let is_signed = |request: &Http2Request| request.headers.contains_key("signature");
    assert!(asked.len() > before && !asked[before..].iter().any(is_signed));
}

fn verdicts_of(python: &str, directory: &Path, requests: &[Http2Request]) -> Vec<Value> {
    let mut command = verifier(python);
    command.arg(directory).args(["https://tabs.example", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = child.stdin.take().unwrap();
    for request in requests {
        writeln!(lines, "{}", serde_json::to_string(request).unwrap()).unwrap();
    }
    drop(lines);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the forms in which a private key could have been stored: its line in the file, and its
/// bytes in hex and in both base64 alphabets.
fn secret_forms(key: &Path) -> Vec<String> {
    let pem = fs::read_to_string(key).unwrap();
    let line = pem.lines().nth(1).unwrap().to_owned();
    let der = STANDARD.decode(&line).unwrap();
    let seed = &der[der.len() - 32..];
    let form = |text: String| text.trim_end_matches('=').to_owned();
    vec![
        line,
        hex::encode(seed),
        form(STANDARD.encode(seed)),
        form(URL_SAFE_NO_PAD.encode(seed)),
        format!("{seed:?}").trim_matches(['[', ']']).to_owned(),
    ]
}

#[test]
fn a_signed_scan_keeps_its_key_out_of_rows_logs_site_and_backup() {
    let internet = internet(60, Mix::none());
    let dir = internet.folder.path();
    let (key, said) = published_key(dir);
    // The key file is outside the directories that are searched.
    let secrets = secret_forms(&key);
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    database
        .start_scan(internet.crawl(), &["--site-url", SITE_URL, "--contact", "me@tabs.example"]);
    let file = key.display().to_string();
    let python = python();
    let verifier = python.map(|python| Verifier::start(&python, &directory(dir)));
    let mut worker = database.worker(&["--exit-when-done"]);
    worker.env("EVERYTAB_SIGNING_KEY", &file).env("RUST_LOG", "debug");
    if let Some(verifier) = &verifier {
        worker.args(["--dial-port", &format!("80={}", verifier.port)]);
    }
    let ended = Running::start(worker).finish().expect_code(0);
    if let Some(verifier) = &verifier {
        let asked = verifier.verdicts();
        let faults: Vec<_> = asked.iter().filter(|(_, fault)| fault.is_some()).collect();
        assert!(asked.len() > 10 && faults.is_empty(), "{} asked, {faults:?}", asked.len());
    }
    // Publishing the site kept the key directory, and wrote security.txt.
    let keys: Value = serde_json::from_slice(&fs::read(directory(dir)).unwrap()).unwrap();
    assert_eq!(keys["keys"][0]["kid"], said["key_id"]);
    let security = fs::read_to_string(dir.join("site/.well-known/security.txt")).unwrap();
    assert!(security.starts_with("Contact: mailto:me@tabs.example\nExpires: 20"), "{security}");

    let backup = dir.join("backup");
    let place = format!("file://{}", backup.display());
    let made = run(database.owner(&["backup", "--to", &place])).expect_code(0);
    let dump = database.psql(
        "select string_agg(query_to_xml(format('select * from everytab.%I', c.relname), true, true,
             '')::text, '') from pg_class c
         where c.relnamespace = 'everytab'::regnamespace and c.relkind = 'r'",
    );
    assert!(dump.contains("tabs.example") && ended.stderr.contains("worker started"));
    fs::remove_file(&key).unwrap();
    let mut places = vec![
        ("rows".to_owned(), dump.into_bytes()),
        ("log".to_owned(), (ended.stderr + &ended.stdout + &made.stderr).into_bytes()),
    ];
    places.extend(files(dir));
    for (name, bytes) in places {
        let bytes = if name.ends_with(".gz") { inflated(&bytes) } else { bytes };
        let text = String::from_utf8_lossy(&bytes);
        let found = secrets.iter().position(|secret| text.contains(secret.as_str()));
        assert_eq!(found, None, "form of the key in {name}");
    }
}

fn inflated(bytes: &[u8]) -> Vec<u8> {
    let mut inflated = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes);
    match std::io::Read::read_to_end(&mut decoder, &mut inflated) {
        Ok(_) => inflated,
        Err(_) => bytes.to_vec(),
    }
}
