//! Tests a worker's metrics for Prometheus, its metrics and traces for an OTLP collector, and its
//! log lines.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, routing::post};
use everytab_postgres::shared_for_tests;
use everytab_testbed::{Behaviour, Mix};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{KeyValue, any_value::Value as Any},
    trace::v1::Span,
};
use prost::Message as _;
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, internet},
    postgres_proxy::PostgresProxy,
    scrape::{address_of, documented, get, names, scrape, sum},
    setup::{Running, run, set_environment, wait_for},
};

/// Returns whether `scan status` serves this metric, and workers do not.
fn is_of_a_scan(name: &str) -> bool {
    name.starts_with("everytab_scan_")
}

/// Returns whether only live crawls and the HTTP service have this metric.
fn is_of_a_crawl(name: &str) -> bool {
    name.starts_with("everytab_crawl_") || name.starts_with("everytab_api_")
}

#[test]
fn a_running_scan_can_be_scraped_and_every_metric_is_documented() {
    let mix = Mix::none().with(Behaviour::NotFound, 100_000);
    let internet = internet(120, mix);
    let (proxy, database) = internet.held_scan();
    let postgres = PostgresProxy::before(&shared_for_tests().socket());
    let mut watching = database
        .owner(&["scan", "status", "--watch", "--json", "--metrics", "127.0.0.1:0"])
        .with_log();
    watching.env("DATABASE_URL", postgres.url(&database.name));
    let watching = Running::start(watching);
    let running = Running::start(database.worker(&["--metrics", "127.0.0.1:0"]));
    let address = address_of(&running);
    assert_eq!(get(&internet, &format!("http://{address}/healthz")), "ok\n");
    proxy.wait_until_held();
    wait_for("a warc job under way", || {
        let series = scrape(&internet, &address);
        (sum(&series, "everytab_jobs_running", &["kind=\"warc\""]) > 0.0).then_some(())
    });
    let in_scan = address_of(&watching);
    let of_scan = wait_for("leased jobs in the scan's metrics", || {
        let series = scrape(&internet, &in_scan);
        let leased = sum(&series, "everytab_scan_jobs", &["kind=\"warc\"", "state=\"leased\""]);
        (leased > 0.0).then_some(series)
    });
    assert!(sum(&of_scan, "everytab_scan_running", &[]) > 0.5);
    let counts = console_counts(internet.folder.path(), &database);
    assert_eq!((counts["Watching"], counts["Workers"], counts["MinutesStuck"]), (1, 1, 0));
    assert!(counts["Outstanding"] > 0, "{counts:?}");
    proxy.release();
    wait_for("the end of the scan", || (database.status()["state"] == "finished").then_some(()));
    let counts = console_counts(internet.folder.path(), &database);
    assert_eq!(counts, BTreeMap::from([("HoursSinceEnd".into(), 0), ("Watching".into(), 1)]));
    // The worker updates its counters slightly after the database.
    let series = wait_for("the last job's end in the metrics", || {
        let series = scrape(&internet, &address);
        let labels = ["kind=\"publish\"", "result=\"recorded\""];
        (sum(&series, "everytab_jobs_ended_total", &labels) > 0.0).then_some(series)
    });
    // The metrics agree with the rows in Postgres.
    for kind in ["index", "warc", "icon", "bundle-shard", "search", "map", "publish"] {
        let sql = format!(
            "select count(*) || ' ' || coalesce(sum((select sum(value::bigint) from jsonb_each_text(
                    stats -> 'outcomes'))), 0) from everytab.job_results where kind = '{kind}'");
        let counted = database.psql(&sql);
        let (jobs, items) = counted.trim().split_once(' ').unwrap();
        let label = format!("kind=\"{kind}\"");
        let ended = sum(&series, "everytab_jobs_ended_total", &[&label, "result=\"recorded\""]);
        assert_eq!(ended.to_string(), jobs, "{kind}");
        assert_eq!(sum(&series, "everytab_items_total", &[&label]).to_string(), items, "{kind}");
        assert!(sum(&series, "everytab_job_duration_seconds_count", &[&label]) >= ended);
    }
    let not_found = sum(&series, "everytab_fetches_total", &["outcome=\"http_404_410\""]);
    assert!(not_found > 0.0, "{series:?}");
    for name in ["everytab_fetch_body_bytes_total", "process_cpu_time_seconds_total"] {
        assert!(sum(&series, name, &[]) > 0.0, "{name}");
    }
    // The documents list exactly the metrics that exist.
    let mut seen = names(&series);
    seen.extend(names(&of_scan));
    seen.remove("target_info");
    let known = documented().into_values().filter(|name| !is_of_a_crawl(name));
    assert_eq!(seen, known.collect::<BTreeSet<String>>());
    assert!(
        !names(&series).iter().any(|name| is_of_a_scan(name)),
        "a worker must not serve a scan's metrics"
    );
    running.terminate();
    running.finish().expect_code(4);
    // The watching process survives an outage of Postgres and the end of the scan, and reports
    // both.
    outlives_an_outage(&watching, &postgres);
    wait_for("metrics that say that no scan runs", || {
        let series = scrape(&internet, &in_scan);
        (sum(&series, "everytab_scan_running", &[]) < 0.5).then_some(())
    });
    drop(watching);
}

/// Blocks a watching process's connections to Postgres until it logs this.
fn outlives_an_outage(watching: &Running, postgres: &PostgresProxy) {
    postgres.refuse();
    wait_for("a line that Postgres is away", || {
        watching.stderr_text().contains("cannot read the scan's status").then_some(())
    });
    postgres.restore();
}

/// Returns the counts that a console publishes to CloudWatch (packaging/lib/publish-counts). A
/// substitute for `aws` prints them.
fn console_counts(dir: &Path, database: &Database) -> BTreeMap<String, i64> {
    let dir = dir.join("console");
    std::fs::create_dir_all(&dir).unwrap();
    let aws = dir.join("aws");
    std::fs::write(&aws, "#!/bin/sh\nfor last; do :; done\necho \"$last\"\n").unwrap();
    std::fs::set_permissions(&aws, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_everytab-worker")).parent().unwrap();
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(python);
    set_environment(&mut command);
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/lib/publish-counts"))
        .env("PATH", format!("{}:{}:{path}", dir.display(), program.display()))
        .env("DATABASE_URL", &database.worker_url)
        .env("RUNTIME_FOLDER", &dir)
        .env("EVERYTAB_FLEET", "fleet")
        .env("EVERYTAB_NAMESPACE", "EveryTab");
    let said = run(command).expect_code(0).stdout;
    let counts: Value = serde_json::from_str(&said).unwrap();
    let pair = |one: &Value| {
        let name = one["MetricName"].as_str().unwrap().to_owned();
        (name, one["Value"].as_i64().unwrap())
    };
    counts.as_array().unwrap().iter().map(pair).collect()
}

/// Makes a `scan` command log the address of its metrics.
trait WithLog {
    fn with_log(self) -> Self;
}

impl WithLog for Command {
    fn with_log(mut self) -> Self {
        self.env("EVERYTAB_LOG", "info");
        self
    }
}

/// An OTLP collector that stores everything it receives.
#[derive(Clone, Default)]
struct Collector {
    metrics: Arc<Mutex<Vec<ExportMetricsServiceRequest>>>,
    traces: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl Collector {
    /// Returns its URL.
    fn serve(&self, internet: &Internet) -> String {
        let (metrics, traces) = (Arc::clone(&self.metrics), Arc::clone(&self.traces));
        let router = Router::new()
            .route(
                "/v1/metrics",
                post(async move |body: Bytes| {
                    metrics
                        .lock()
                        .unwrap()
                        .push(ExportMetricsServiceRequest::decode(body).unwrap());
                }),
            )
            .route(
                "/v1/traces",
                post(async move |body: Bytes| {
                    traces.lock().unwrap().push(ExportTraceServiceRequest::decode(body).unwrap());
                }),
            );
        internet.runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async { axum::serve(listener, router).await });
            format!("http://{address}")
        })
    }

    fn spans(&self) -> Vec<Span> {
        let traces = self.traces.lock().unwrap();
        let resources = traces.iter().flat_map(|request| &request.resource_spans);
        let scopes = resources.flat_map(|resource| &resource.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }
}

fn text_of(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Any::StringValue(text) => Some(text.clone()),
        Any::IntValue(number) => Some(number.to_string()),
        other => panic!("{key} is {other:?}"),
    }
}

#[test]
fn a_collector_gets_the_metrics_and_a_trace_of_each_job() {
    let internet = internet(80, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    let collector = Collector::default();
    let mut command = database.worker(&["--exit-when-done"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.serve(&internet));
    run(command).expect_code(0);

    // The traces have the same jobs as Postgres.
    let sql = "select kind || ' ' || job_id || ' ' || lease_number from everytab.job_results";
    let jobs: BTreeSet<String> = database.psql(sql).lines().map(str::to_owned).collect();
    let spans = collector.spans();
    let roots: Vec<&Span> = spans.iter().filter(|span| span.name == "job").collect();
    let field = |span: &Span, key: &str| text_of(&span.attributes, key).unwrap_or_default();
    let traced: BTreeSet<String> = roots
        .iter()
        .map(|span| ["kind", "job", "lease"].map(|key| field(span, key)).join(" "))
        .collect();
    assert_eq!(traced, jobs);
    let scan = database.status()["scan"].as_str().unwrap().to_owned();
    for root in &roots {
        assert_eq!(field(root, "scan"), scan);
        assert_eq!(field(root, "end"), "recorded");
        let has_shard = ["warc", "icon", "bundle-shard"].contains(&field(root, "kind").as_str());
        assert_eq!(text_of(&root.attributes, "shard").is_some(), has_shard, "{root:?}");
        let children: BTreeSet<&str> = spans
            .iter()
            .filter(|span| span.parent_span_id == root.span_id && span.trace_id == root.trace_id)
            .map(|span| span.name.as_str())
            .collect();
        assert_eq!(children, BTreeSet::from(["load", "perform", "complete"]), "{root:?}");
    }

    // The last export happens when the process ends, so it has every metric.
    let requests = collector.metrics.lock().unwrap();
    let last = requests.last().unwrap();
    let resource = last.resource_metrics[0].resource.as_ref().unwrap();
    assert_eq!(text_of(&resource.attributes, "service.name").unwrap(), "everytab-worker");
    assert!(text_of(&resource.attributes, "service.instance.id").is_some());
    let metrics: BTreeMap<&str, &str> = last
        .resource_metrics
        .iter()
        .flat_map(|resource| &resource.scope_metrics)
        .flat_map(|scope| &scope.metrics)
        .map(|metric| (metric.name.as_str(), metric.unit.as_str()))
        .collect();
    let known = documented();
    let expected: BTreeSet<&str> = known
        .iter()
        .filter(|(_, prometheus)| !is_of_a_scan(prometheus) && !is_of_a_crawl(prometheus))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(metrics.keys().copied().collect::<BTreeSet<_>>(), expected);
    assert_eq!((metrics["everytab.job.duration"], metrics["everytab.fetch.body"]), ("s", "By"));
}

#[test]
fn traces_are_sampled_as_the_standard_variables_say() {
    let internet = internet(40, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    let collector = Collector::default();
    let mut command = database.worker(&["--exit-when-done"]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.serve(&internet))
        .env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
        .env("OTEL_TRACES_SAMPLER_ARG", "0");
    run(command).expect_code(0);
    assert!(collector.spans().is_empty());
    assert!(!collector.metrics.lock().unwrap().is_empty());
}

#[test]
fn a_collector_that_hangs_costs_a_worker_only_its_last_export() {
    let internet = internet(40, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    // This listener accepts connections and never responds.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = database.worker(&["--exit-when-done"]);
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    let ended = run(command).expect_code(0);
    assert!(ended.stderr.contains("cannot send the last telemetry"), "{}", ended.stderr);
    assert_eq!(database.status()["state"], "finished");
}

#[test]
fn telemetry_that_cannot_be_exported_or_served_is_reported_before_any_work() {
    let internet = internet(40, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let says = |variables: &[(&str, &str)], arguments: &[&str], code: i32, what: &str| {
        let mut command = database.worker(arguments);
        command.envs(variables.iter().copied());
        let ended = run(command).expect_code(code);
        assert!(ended.stderr.contains(what), "{}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    };
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
    says(
        &[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
        &[],
        2,
        "only supports http/protobuf",
    );
    says(&[("EVERYTAB_LOG_LIMIT", "few")], &[], 2, "EVERYTAB_LOG_LIMIT=few");
    says(&[], &["--metrics", "nowhere"], 2, "--metrics");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    says(&[], &["--metrics", &address], 1, &format!("cannot listen on {address}"));
}

#[test]
fn log_lines_of_a_job_contain_its_id_shard_and_scan() {
    let internet = internet(60, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    let mut command = database.worker(&["--exit-when-done"]);
    command.env("EVERYTAB_LOG_FORMAT", "json");
    let ended = run(command).expect_code(0);
    let scan = database.status()["scan"].clone();
    let lines: Vec<Value> =
        ended.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let completions: Vec<&Value> =
        lines.iter().filter(|line| line["fields"]["verb"] == "complete").collect();
    let sql = "select j.job_id || ' ' || case when kind in ('index', 'search', 'map', 'publish')
                      then 'null' else part::text end from everytab.job_results j";
    let expected: BTreeSet<String> = database.psql(sql).lines().map(str::to_owned).collect();
    let logged: BTreeSet<String> = completions
        .iter()
        .map(|line| format!("{} {}", line["span"]["job"], line["span"]["shard"]))
        .collect();
    assert_eq!(logged, expected);
    for line in completions {
        assert_eq!(line["span"]["scan"], scan, "{line}");
        assert_eq!(line["fields"]["outcome"], "recorded", "{line}");
    }
}
