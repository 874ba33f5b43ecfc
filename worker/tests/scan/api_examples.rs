//! Tests the programs in docs/examples, in curl, Python and TypeScript, against the real service
//! and a worker. A missing program is a failure, because scripts/install/test.sh installs all of
//! them.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    api_client::Client,
    api_walkthrough::{answer, ask, key, service},
    environment::{Database, Internet, Stores},
    live_crawls::{crawler, graph, graph_of_sites},
    setup::{Running, run, wait_for},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Curl,
    Python,
    TypeScript,
}

impl Language {
    pub(crate) const ALL: [Self; 3] = [Self::Curl, Self::Python, Self::TypeScript];
}

pub(crate) struct Examples {
    compiled: PathBuf,
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples")
}

/// Returns a directory of installed programs, by default the one of scripts/install/test.sh.
fn installed(variable: &str, default: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(
        || {
            let program = Path::new(env!("CARGO_BIN_EXE_everytab-worker"));
            program.ancestors().nth(2).unwrap().join(default)
        },
        PathBuf::from,
    )
}

impl Examples {
    pub(crate) fn compile(scratch: &Path) -> Self {
        let folder = scratch.join("typescript");
        std::fs::create_dir(&folder).unwrap();
        for file in std::fs::read_dir(examples().join("typescript")).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
            }
        }
        let packages = installed("EVERYTAB_NODE", "node").join("node_modules");
        let compiler = packages.join("typescript/bin/tsc");
        assert!(compiler.exists(), "no TypeScript: scripts/install/test.sh installs it");
        symlink(&packages, folder.join("node_modules")).unwrap();
        let mut compile = Command::new("node");
        compile.arg(compiler).current_dir(&folder);
        run(compile).expect_code(0);
        Self { compiled: folder.join("build") }
    }

    pub(crate) fn command(&self, language: Language, task: &str) -> Command {
        let (program, path): (OsString, PathBuf) = match language {
            Language::Curl => ("bash".into(), examples().join(format!("curl/{task}.sh"))),
            Language::Python => (
                installed("EVERYTAB_PYTHON", "python/bin/python").into(),
                examples().join(format!("python/{task}.py")),
            ),
            Language::TypeScript => ("node".into(), self.compiled.join(format!("{task}.js"))),
        };
        let mut command = Command::new(program);
        command.arg(path).env("PYTHONDONTWRITEBYTECODE", "1");
        for proxy in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"] {
            command.env_remove(proxy);
        }
        command
    }
}

struct World {
    internet: Internet,
    database: Database,
    client: Client,
    service: Running,
    worker: Running,
    examples: Examples,
}

impl World {
    fn new(seed: u64, pages: u64, limits: &[&str]) -> Self {
        let internet = graph_of_sites(seed, 6, pages);
        let folder = internet.folder.path();
        let database = Database::new(&internet, Stores::folders(&internet, folder));
        let (service, address) = service(&database, &folder.join("crawls"), &[]);
        let worker = crawler(&internet, &database, &[]);
        let examples = Examples::compile(folder);
        let key = key(&database, "an example", limits);
        let client = Client { address, key };
        Self { internet, database, client, service, worker, examples }
    }

    fn start<S: AsRef<str>>(&self, language: Language, task: &str, arguments: &[S]) -> Running {
        let mut command = self.examples.command(language, task);
        command.args(arguments.iter().map(AsRef::as_ref));
        command.env("API", format!("http://{}", self.client.address));
        command.env("KEY", &self.client.key);
        Running::start(command)
    }

    fn home(&self, host: usize) -> String {
        let graph = graph(&self.internet);
        graph.url(graph.home(host.try_into().unwrap()))
    }

    fn end(self) {
        self.worker.terminate();
        self.worker.finish().expect_code(4);
        self.service.terminate();
        self.service.finish().expect_code(4);
    }
}

#[test]
fn each_page_is_printed_as_markdown_or_rejected_with_its_code() {
    // The examples together exceed this limit. They must retry and succeed.
    let world = World::new(71, 60, &["--requests-per-second", "5", "--burst", "2"]);
    let running = Language::ALL
        .map(|language| world.start(language, "page", &[world.home(language as usize)]));
    let printed = running.map(|example| example.finish().expect_code(0).stdout);
    for (host, printed) in printed.into_iter().enumerate() {
        let path = format!("/v1/crawled/html?as=markdown&url={}", world.home(host));
        let kept = wait_for("a request that is not too many", || {
            let text = answer(ask(&world.client.address, "GET", &path, &world.client.key, ""));
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            (!head.contains(" 429 ")).then(|| body.to_owned())
        });
        assert_eq!(printed.trim_end(), kept.trim_end());
        assert!(!kept.trim().is_empty(), "no Markdown");
    }
    for (url, said) in [
        ("ftp://a.test/".to_owned(), "invalid_url: "),
        (format!("{}no-such-page", world.home(0)), "failed: http_404_410"),
    ] {
        let running = Language::ALL.map(|language| world.start(language, "page", &[&url]));
        for ended in running.map(Running::finish) {
            let ended = ended.expect_code(1);
            assert!(ended.stderr.contains(said), "{}", ended.stderr);
            assert_eq!(ended.stdout, "");
        }
    }
    world.end();
}

/// Returns the URLs in complete lines. A line has a state, an outcome and a URL.
fn urls(printed: &str) -> Vec<String> {
    let whole = printed.rsplit_once('\n').map_or("", |(lines, _)| lines);
    whole.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap().to_owned()).collect()
}

/// For the examples that crawl, which keep their state in the internet's directory.
impl World {
    fn state(&self, language: Language) -> PathBuf {
        self.internet.folder.path().join(format!("{language:?}.state"))
    }

    fn start_crawl(&self, language: Language) -> Running {
        let state = self.state(language).display().to_string();
        self.start(language, "crawl", &[self.home(language as usize), state])
    }

    /// Returns an example's crawl, and the URLs in its feed after the stored cursor. `None` without
    /// a cursor.
    fn kept(&self, language: Language) -> Option<(String, Vec<String>)> {
        let state = std::fs::read_to_string(self.state(language)).ok()?;
        let state: Value = serde_json::from_str(&state).unwrap();
        let (crawl, after) = (state["crawl"].as_str()?, state["after"].as_str()?);
        let after = (!after.is_empty()).then_some(after)?;
        let feed = self.client.get(&format!("/v1/crawls/{crawl}/feed?limit=1000&after={after}"));
        let fetches = feed["fetches"].as_array().unwrap().iter();
        let urls = fetches.map(|fetch| fetch["url"].as_str().unwrap().to_owned());
        Some((crawl.to_owned(), urls.collect()))
    }

    fn wait_for_requests(&self) {
        wait_for("some requests to each host", || {
            let log = self.internet.running.access_log();
            let requests = |host: usize| {
                let home = self.home(host);
                log.iter().filter(|(host, _)| home.split('/').nth(2) == Some(host.as_str())).count()
            };
            (0..Language::ALL.len()).all(|host| requests(host) > 3).then_some(())
        });
    }
}

#[test]
fn each_crawl_is_printed_to_its_end_through_an_interruption() {
    // Each host has so many pages that its crawl is still running when the others have started.
    let mut world = World::new(72, 1_200, &[]);
    world.internet.running.keep_access_log();
    // With this delay, each crawl has URLs left when the worker stops. A worker records its
    // finished fetches before it stops.
    world.client.post("/v1/rate", &json!({ "min_delay_ms": 1000 }));
    let started = Language::ALL.map(|language| (language, world.start_crawl(language)));
    world.wait_for_requests();
    world.worker.terminate();
    let interrupted = started.map(|(language, mut example)| {
        let first =
            wait_for("a URL that is printed", || urls(&example.stdout_text()).first().cloned());
        let crawl = wait_for("a cursor behind it", || {
            world.kept(language).filter(|(_, rest)| !rest.contains(&first)).map(|kept| kept.0)
        });
        assert!(!example.has_ended(), "the crawls ended before they were interrupted");
        example.kill();
        (language, crawl, urls(&example.stdout_text()))
    });
    let worker = crawler(&world.internet, &world.database, &[]);
    std::mem::replace(&mut world.worker, worker).finish().expect_code(4);
    world.client.post("/v1/rate", &json!({ "min_delay_ms": null }));
    let resumed = interrupted
        .map(|(language, crawl, before)| (language, crawl, before, world.start_crawl(language)));
    for (language, crawl, before, example) in resumed {
        let ended = example.finish().expect_code(0);
        assert!(ended.stderr.contains("ended ("), "{}", ended.stderr);
        assert!(!world.state(language).exists(), "{language:?} did not delete its state");
        let after = urls(&ended.stdout);
        assert!(!after.is_empty(), "{language:?} had already printed everything: {before:?}");
        assert!(
            !after.contains(&before[0]),
            "{language:?} started from the beginning: {before:?}, {after:?}"
        );
        let printed: BTreeSet<String> = before.into_iter().chain(after).collect();
        let rows = world.database.psql(&format!(
            "select f.url from everytab.fetches f join everytab.crawls c using (crawl) \
             where c.id = '{crawl}'"
        ));
        assert_eq!(
            printed,
            rows.lines().filter(|row| !row.is_empty()).map(str::to_owned).collect()
        );
    }
    let crawls = world.client.get("/v1/crawls");
    assert_eq!(crawls["crawls"].as_array().unwrap().len(), Language::ALL.len(), "{crawls}");
    world.end();
}

#[test]
fn each_schedule_is_added_once_and_listed_with_its_time() {
    let world = World::new(73, 60, &[]);
    for language in Language::ALL.into_iter().chain(Language::ALL) {
        let arguments = [format!("{language:?} nightly"), world.home(language as usize)];
        let listed = world.start(language, "schedule", &arguments).finish().expect_code(0).stdout;
        let schedules = world.client.get("/v1/url/schedule");
        let lines = schedules["schedules"].as_array().unwrap().iter().map(|schedule| {
            let word = |name: &str| schedule[name].as_str().unwrap().to_owned();
            assert!(word("next_at").contains("T03:00:00"), "{schedule}");
            format!("{}: due at {}, 0 crawls so far\n", word("name"), word("next_at"))
        });
        assert_eq!(listed, lines.collect::<String>());
        assert!(listed.contains(&arguments[0]), "{listed}");
    }
    let schedules = world.client.get("/v1/url/schedule");
    assert_eq!(schedules["schedules"].as_array().unwrap().len(), Language::ALL.len());
    let arguments = ["another", "ftp://a.test/"];
    for language in Language::ALL {
        let ended = world.start(language, "schedule", &arguments).finish().expect_code(1);
        assert!(ended.stderr.contains("nothing_to_crawl: "), "{}", ended.stderr);
    }
    world.end();
}
