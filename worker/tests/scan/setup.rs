//! Runs the program with a time limit, and reads the files that it publishes.

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use everytab_patience::LongWait;
pub(crate) use everytab_patience::{LIMIT, wait_for};
use serde_json::Value;
use tempfile::TempDir;

const POLL: Duration = Duration::from_millis(20);

/// Returns a command that runs the program without the caller's environment variables for it.
pub(crate) fn worker<I: AsRef<str>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everytab-worker"));
    set_environment(&mut command);
    command.args(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
    command
}

/// Sets the environment for the program, or for a script that runs it by name.
pub(crate) fn set_environment(command: &mut Command) {
    let program = Path::new(env!("CARGO_BIN_EXE_everytab-worker"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let ours = ["EVERYTAB_", "OTEL_"].iter().any(|prefix| text.starts_with(prefix))
            && text != "EVERYTAB_PG_BIN";
        if ours || text.starts_with("AWS_") || text == "DATABASE_URL" {
            command.env_remove(&name);
        }
    }
    // On an EC2 instance, tests must not read its metadata.
    command.env("EVERYTAB_INSTANCE_METADATA", "off");
    // Tests have their own sources, which need no limit.
    command.env("EVERYTAB_ARCHIVE_RATE", "off");
    command.env("EVERYTAB_INTERNET", "small");
    // The tests' servers share this host's CPUs. With more concurrent requests, fetches would
    // exceed their time limit on a busy host.
    command.env("EVERYTAB_IN_FLIGHT", "32");
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{}\n{}\n{}", self.status, self.stdout, self.stderr);
        self
    }
}

/// A running program, which is killed on drop.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: File,
    stderr: File,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let stdout = tempfile::tempfile().unwrap();
        let stderr = tempfile::tempfile().unwrap();
        command
            .stdin(Stdio::null())
            .stdout(stdout.try_clone().unwrap())
            .stderr(stderr.try_clone().unwrap());
        Self { child: command.spawn().unwrap(), stdout, stderr }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success(), "SIG{name} to {pid}");
    }

    pub(crate) fn stderr_text(&self) -> String {
        text(&self.stderr)
    }

    pub(crate) fn stdout_text(&self) -> String {
        text(&self.stdout)
    }

    pub(crate) fn finish(mut self) -> Ended {
        let mut wait = LongWait::new();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let said = [&self.stdout, &self.stderr].map(|file| file.metadata().unwrap().len());
            wait.note((self.child.id(), said));
            thread::sleep(POLL);
        };
        Ended { status, stdout: text(&self.stdout), stderr: text(&self.stderr) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if thread::panicking() {
            let said = self.stderr_text();
            let last: Vec<&str> = said.lines().rev().take(30).collect();
            eprintln!("last lines of process {}, newest first:\n{}", self.pid(), last.join("\n"));
        }
        // Fails only if the program has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a file's content without moving the position at which the program writes.
fn text(file: &File) -> String {
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn run(command: Command) -> Ended {
    Running::start(command).finish()
}

/// Returns a directory that another user's Postgres can enter.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("everytab-scan-").tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Returns the recorded sample's directory. `None` if there is none, so that the test is skipped.
pub(crate) fn corpus() -> Option<PathBuf> {
    let dir = std::env::var_os("EVERYTAB_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"),
        PathBuf::from,
    );
    if dir.join("index").is_dir() {
        return Some(dir);
    }
    println!("skipped: no corpus at {}", dir.display());
    None
}

pub(crate) fn scan_locally(dir: &Path, workers: u16, sample: &[&str]) -> Ended {
    let dir = dir.display().to_string();
    let workers = workers.to_string();
    let mut arguments = vec!["local", "--dir", &dir, "--workers", &workers, "--exit-when-done"];
    arguments.extend_from_slice(sample);
    run(worker(arguments)).expect_code(0)
}

/// Returns all files below a directory by relative path. Skips files that a running program removes
/// during the call.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap_or_else(|e| panic!("{}: {e}", next.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                match fs::read(&path) {
                    Ok(bytes) => found.insert(name, bytes),
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(error) => panic!("{}: {error}", path.display()),
                };
            }
        }
    }
    found
}

pub(crate) fn manifest(site: &Path) -> Value {
    let text = fs::read(site.join("manifest.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Returns the files under the prefix of the published scan, and the link pages as
/// `t/<bundle>.html`, with the scan's id replaced.
pub(crate) fn published(site: &Path) -> BTreeMap<String, Vec<u8>> {
    let manifest = manifest(site);
    let mut found = files(&site.join(manifest["prefix"].as_str().unwrap()));
    let scan = manifest["scan"].as_str().unwrap();
    let pages = files(&site.join("t")).into_iter();
    found.extend(pages.map(|(name, bytes)| {
        let html = String::from_utf8(bytes).unwrap();
        (format!("t/{name}"), html.replace(scan, "SCAN").into_bytes())
    }));
    let bundles = (0..).take_while(|n| found.contains_key(&format!("tabs/{n}.json"))).count();
    assert_eq!(Some(bundles as u64), manifest["bundles"].as_u64(), "gaps in {:?}", found.keys());
    let pages = found.keys().filter(|name| name.starts_with("t/")).count();
    assert!(pages >= bundles, "{pages} link pages of {bundles} bundles");
    assert!(found.keys().any(|name| name.starts_with("search/")), "{:?}", found.keys());
    found
}

pub(crate) fn tabs(site: &Path) -> Vec<Value> {
    // A rewritten bundle also exists under its original name.
    let is_original = |name: &str| name.starts_with("tabs/") && !name.contains('-');
    let bundles = published(site).into_iter().filter(|(name, _)| is_original(name));
    let tabs = bundles.flat_map(|(_, bundle)| {
        let bundle: Value = serde_json::from_slice(&bundle).unwrap();
        bundle["entries"].as_array().unwrap().clone()
    });
    tabs.collect()
}

#[track_caller]
pub(crate) fn assert_same(
    left: &BTreeMap<String, Vec<u8>>,
    right: &BTreeMap<String, Vec<u8>>,
    what: &str,
) {
    assert!(left.keys().eq(right.keys()), "{what}: {:?} and {:?}", left.keys(), right.keys());
    let differ: Vec<&String> =
        left.iter().filter(|(name, bytes)| right.get(*name) != Some(bytes)).map(|l| l.0).collect();
    assert!(differ.is_empty(), "{what}: these files differ: {differ:?}");
}

/// Starts an HTTP server that sends the status and body from `answer` to every request. Returns its
/// endpoint.
pub(crate) fn answering(answer: impl Fn() -> (&'static str, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|_| !line.trim().is_empty()) {
                let (name, value) = line.split_once(':').unwrap_or_default();
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let _ = reader.read_exact(&mut vec![0; length]);
            let (status, body) = answer();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            // The program may have closed the connection.
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    endpoint
}
