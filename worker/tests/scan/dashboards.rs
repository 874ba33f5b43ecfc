//! Tests the dashboard and the alert rules with a real Prometheus that scrapes a real scan and a
//! real live crawl.

use std::{
    collections::BTreeSet,
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use everytab_testbed::{Behaviour, Mix};
use serde_json::Value;

use crate::{
    api_walkthrough::service,
    dashboard_svg,
    environment::{Database, Internet, Stores, internet},
    live_crawls::{crawler, graph_of_sites, start_crawl},
    scrape::{address_of, documented, get},
    setup::{Running, wait_for},
};

fn telemetry(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry").join(name)
}

fn expressions() -> Vec<(String, String)> {
    let text = fs::read_to_string(telemetry("dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let of = |panel: &Value| {
        let title = panel["title"].as_str().unwrap().to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        targets
            .into_iter()
            .map(move |target| (title.clone(), target["expr"].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    panels.iter().flat_map(of).collect()
}

fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_part(c));
    let ours = words.filter(|word| word.starts_with("everytab_") || word.starts_with("process_"));
    let plain = |word: &str| {
        let cut = ["_bucket", "_sum", "_count"].iter().find_map(|end| word.strip_suffix(end));
        match cut {
            Some(cut) if cut.ends_with("_seconds") => cut.to_owned(),
            _ => word.to_owned(),
        }
    };
    ours.map(plain).collect()
}

#[test]
fn dashboard_and_rules_use_only_existing_metrics_and_the_dashboard_shows_all() {
    let known: BTreeSet<String> = documented().into_values().collect();
    let rules = metrics_in(&fs::read_to_string(telemetry("alerts.yml")).unwrap());
    let shown: BTreeSet<String> =
        expressions().iter().flat_map(|(_, expression)| metrics_in(expression)).collect();
    assert!(rules.len() > 5, "{rules:?}");
    assert_eq!(rules.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(shown, known);
}

/// Returns whether `prometheus` and `promtool` are installed. Fails if they are missing and
/// `EVERYTAB_DASHBOARDS` is set.
fn has_prometheus() -> bool {
    let have = |name: &str| Command::new(name).arg("--version").output().is_ok();
    if have("prometheus") && have("promtool") {
        return true;
    }
    assert!(std::env::var_os("EVERYTAB_DASHBOARDS").is_none(), "no prometheus and promtool");
    println!("skipped: no prometheus (make dashboards-check installs it)");
    false
}

fn promtool(arguments: &[&str]) {
    let output =
        Command::new("promtool").args(arguments).current_dir(telemetry("")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    println!("promtool {}: {}", arguments.join(" "), said.trim().replace('\n', "; "));
}

#[test]
fn promtool_accepts_the_rules_and_they_fire_when_they_should() {
    if !has_prometheus() {
        return;
    }
    promtool(&["check", "config", "prometheus.yml"]);
    promtool(&["check", "rules", "alerts.yml"]);
    promtool(&["test", "rules", "alerts-test.yml"]);
}

fn start_prometheus(dir: &Path, targets: &[String]) -> (Running, SocketAddr) {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let targets: Vec<String> = targets.iter().map(|target| format!("'{target}'")).collect();
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
         rule_files: ['{}']\n\
         scrape_configs:\n- job_name: everytab\n  static_configs:\n  - targets: [{}]\n",
        telemetry("alerts.yml").canonicalize().unwrap().display(),
        targets.join(", ")
    );
    fs::write(dir.join("prometheus.yml"), config).unwrap();
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", dir.join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", dir.join("prometheus").display()))
        .arg(format!("--web.listen-address={address}"));
    (Running::start(command), address)
}

fn ask_more(
    internet: &Internet,
    address: SocketAddr,
    path: &str,
    query: &str,
    more: &str,
) -> Value {
    let encoded: String = query
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let text = get(internet, &format!("http://{address}/api/v1/{path}?query={encoded}{more}"));
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{query}: {text}"))
}

fn ask(internet: &Internet, address: SocketAddr, path: &str, query: &str) -> Value {
    ask_more(internet, address, path, query, "")
}

/// Draws the dashboard as SVG, from `start` (seconds since 1970) to now.
fn draw_the_dashboard(internet: &Internet, address: SocketAddr, start: f64) -> String {
    let text = fs::read_to_string(telemetry("dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let end = now();
    let range = format!("&start={start}&end={end}&step=1");
    let lines = |target: &Value| -> Vec<dashboard_svg::Line> {
        // Grafana's $__rate_interval covers at least four scrapes, and ten seconds do here.
        let expression = target["expr"].as_str().unwrap().replace("$__rate_interval", "10s");
        let answer = ask_more(internet, address, "query_range", &expression, &range);
        let series = answer["data"]["result"].as_array().unwrap();
        let line = |one: &Value| dashboard_svg::Line {
            name: dashboard_svg::legend(target["legendFormat"].as_str().unwrap(), &one["metric"]),
            points: one["values"].as_array().unwrap().iter().filter_map(point).collect(),
        };
        series.iter().map(line).collect()
    };
    let panel = |panel: &Value| {
        let at = |name: &str| panel["gridPos"][name].as_f64().unwrap();
        dashboard_svg::Panel {
            title: panel["title"].as_str().unwrap().to_owned(),
            rectangle: [at("x"), at("y"), at("w"), at("h")],
            unit: panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap_or_default().to_owned(),
            lines: panel["targets"].as_array().into_iter().flatten().flat_map(lines).collect(),
        }
    };
    let panels: Vec<_> = dashboard["panels"].as_array().unwrap().iter().map(panel).collect();
    dashboard_svg::draw(dashboard["title"].as_str().unwrap(), &panels, (start, end))
}

/// Returns a time in seconds and its value. `None` for NaN, the quantile over no samples.
fn point(pair: &Value) -> Option<(f64, f64)> {
    let value: f64 = pair[1].as_str()?.parse().ok()?;
    value.is_finite().then_some((pair[0].as_f64()?, value))
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// A live crawl in its own environment: a worker, a process that watches the crawl, and the HTTP
/// service. Its delay makes it last for many scrapes.
struct LiveCrawl {
    running: [Running; 3],
    service: String,
    _internet: Internet,
}

impl LiveCrawl {
    fn start() -> Self {
        let internet = graph_of_sites(6, 20, 2_000);
        let stores = Stores::folders(&internet, internet.folder.path());
        let database = Database::new(&internet, stores);
        let id = start_crawl(&internet, &database, "1s");
        let mut watching = database.owner(&["crawl", "status", &id, "--watch", "--json"]);
        watching.args(["--metrics", "127.0.0.1:0"]).env("EVERYTAB_LOG", "info");
        let worker = crawler(&internet, &database, &["--metrics", "127.0.0.1:0"]);
        let store = internet.folder.path().join("crawls");
        let (api, service) = service(&database, &store, &["--metrics", "127.0.0.1:0"]);
        Self { running: [worker, Running::start(watching), api], service, _internet: internet }
    }
}

#[test]
fn every_expression_in_the_dashboard_has_data_from_a_real_scan_or_crawl() {
    if !has_prometheus() {
        return;
    }
    let mix = Mix::none().with(Behaviour::Slow, 100_000).with(Behaviour::NotFound, 100_000);
    let internet = internet(400, mix);
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    database.start_scan(internet.crawl(), &["--entries-per-bundle", "20"]);
    let mut watching =
        database.owner(&["scan", "status", "--watch", "--json", "--metrics", "127.0.0.1:0"]);
    watching.env("EVERYTAB_LOG", "info");
    let watching = Running::start(watching);
    // This rate makes the scan last for several scrapes.
    crate::setup::run(database.owner(&["scan", "set", "rate=60"])).expect_code(0);
    let workers: Vec<Running> =
        (0..2).map(|_| Running::start(database.worker(&["--metrics", "127.0.0.1:0"]))).collect();
    let mut targets: Vec<String> = workers.iter().map(address_of).collect();
    targets.push(address_of(&watching));
    let crawling = LiveCrawl::start();
    targets.extend(crawling.running.iter().map(address_of));
    let (mut prometheus, address) = start_prometheus(dir, &targets);
    wait_for("a Prometheus that answers", || {
        assert!(!prometheus.has_ended(), "{}", prometheus.stderr_text());
        std::net::TcpStream::connect(address).ok()?;
        get(&internet, &format!("http://{address}/-/ready")).contains("is Ready").then_some(())
    });
    let has_data = |expression: &str| {
        let expression = expression.replace("$__rate_interval", "1m");
        let answer = ask(&internet, address, "query", &expression);
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        let series = answer["data"]["result"].as_array().unwrap();
        let number = |one: &Value| one["value"][1].as_str().is_some_and(|value| value != "NaN");
        series.iter().filter(|one| number(one)).count()
    };
    let began = now();
    let (mut left, all) = (expressions(), expressions().len());
    wait_for("data for every expression", || {
        get(&internet, &format!("http://{}/healthz", crawling.service));
        left.retain(|(title, expression)| match has_data(expression) {
            0 => true,
            series => {
                println!("{series:>3} series  {title}: {expression}");
                false
            }
        });
        if left.is_empty() {
            Some(())
        } else {
            // The message names the expressions that still have no data.
            let state = database.status()["state"].clone();
            assert!(state == "running" || state == "finished", "{state}: {left:?}");
            std::thread::sleep(std::time::Duration::from_millis(500));
            None
        }
    });
    println!("{all} expressions have data");
    let rules = ask(&internet, address, "rules", "");
    let groups = rules["data"]["groups"].as_array().unwrap();
    let loaded = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
    for rule in loaded.clone() {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
    assert!(loaded.count() > 8);
    if let Some(file) = std::env::var_os("EVERYTAB_DASHBOARD_PICTURE") {
        wait_for("the scan's end", || (database.status()["state"] == "finished").then_some(()));
        fs::write(&file, draw_the_dashboard(&internet, address, began)).unwrap();
        println!("drawn: {}", Path::new(&file).display());
    }
    for worker in workers {
        worker.terminate();
        worker.finish().expect_code(4);
    }
}
