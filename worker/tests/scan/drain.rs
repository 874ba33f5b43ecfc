//! Tests draining a worker: after a notice from EC2, after a second signal, and before it has a
//! database.

use everytab_testbed::Mix;

use crate::{
    environment::{Database, Stores, internet, stage, unused_address},
    instance_metadata::InstanceMetadata,
    setup::{Running, published, run, wait_for, worker},
};

const SPOT: &str = "spot/instance-action";
const LIFECYCLE: &str = "autoscaling/target-lifecycle-state";

#[test]
fn a_spot_notice_drains_a_worker_as_a_signal_does() {
    let internet = internet(150, Mix::none());
    let (metadata, address) = InstanceMetadata::start(&internet.runtime);
    metadata.set(LIFECYCLE, "InService");
    let (proxy, database) = internet.held_scan();
    let url = format!("http://{address}");
    let more = ["--exit-when-done", "--drain", "300ms", "--instance-metadata", &url];
    let mut running = Running::start(database.worker(&more));
    proxy.wait_until_held();
    // A token is valid for three requests. The fourth is rejected, and repeated with a new token.
    wait_for("a second token", || (metadata.counts().1 >= 2).then_some(()));
    assert!(!running.has_ended(), "{}", running.stderr_text());
    assert!(stage(&database.status(), "warc")["leased"].as_u64() > Some(0));
    metadata.set(SPOT, r#"{"action": "terminate", "time": "2030-01-01T00:02:00Z"}"#);
    let ended = running.finish().expect_code(4);
    let why = "received a request to stop: spot notice: EC2 will terminate this instance at \
               2030-01-01T00:02:00Z";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    assert_eq!(metadata.counts().2, 0, "a request had no token");
    let status = database.status();
    assert_eq!(stage(&status, "warc")["leased"], 0, "{status}\n{}", ended.stderr);
    assert!(status["events"]["release"].as_u64() > Some(0), "{}", status["events"]);
    let counted = "select coalesce(sum(attempts), 0) || ' ' || coalesce(sum(crashes), 0)
                     from everytab.jobs";
    assert_eq!(database.psql(counted).trim(), "0 0");
    proxy.release();
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert!(!published(&internet.folder.path().join("site")).is_empty());
}

#[test]
fn an_auto_scaling_group_that_terminates_the_instance_drains_an_idle_worker() {
    let internet = internet(20, Mix::none());
    let (metadata, address) = InstanceMetadata::start(&internet.runtime);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    metadata.set(LIFECYCLE, "Terminated");
    let mut command = database.worker(&["--instance-metadata", "auto"]);
    command.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", format!("http://{address}/"));
    let ended = Running::start(command).finish().expect_code(4);
    let why = "received a request to stop: the Auto Scaling group wants this instance Terminated";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);

    let asked = metadata.counts();
    let mut command = database.worker(&["--exit-when-done", "--instance-metadata", "auto"]);
    command
        .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", format!("http://{address}/"))
        .env("AWS_EC2_METADATA_DISABLED", "true");
    database.start_scan(internet.crawl(), &[]);
    run(command).expect_code(0);
    assert_eq!(metadata.counts(), asked, "requests were sent although this is disabled");
}

#[test]
fn a_metadata_service_that_does_not_respond_is_named_once_and_delays_nothing() {
    let internet = internet(20, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    // This listener accepts connections and never responds.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    run(database.worker(&["--exit-when-done", "--instance-metadata", &url])).expect_code(0);
    assert_eq!(database.status()["state"], "finished");

    let url = format!("http://{}", unused_address());
    let running = Running::start(database.worker(&["--instance-metadata", &url]));
    let warnings = || running.stderr_text().matches("cannot read instance metadata").count();
    wait_for("the warning", || (warnings() > 0).then_some(()));
    wait_for("an idle worker", || running.stderr_text().contains("no work now").then_some(()));
    running.terminate();
    let ended = running.finish().expect_code(4);
    assert_eq!(ended.stderr.matches("cannot read instance metadata").count(), 1);
    run(worker(["run", "--instance-metadata", "https://x"])).expect_code(2);
}

#[test]
fn a_terminal_that_closes_drains_a_worker_unless_it_runs_under_nohup() {
    let internet = internet(150, Mix::none());
    let (proxy, database) = internet.held_scan();
    let worker = database.worker(&["--exit-when-done", "--drain", "300ms"]);
    let mut under_nohup = std::process::Command::new("nohup");
    under_nohup.arg(worker.get_program()).args(worker.get_args());
    for (name, value) in worker.get_envs() {
        match value {
            Some(value) => under_nohup.env(name, value),
            None => under_nohup.env_remove(name),
        };
    }
    let closed = Running::start(worker);
    proxy.wait_until_held();
    closed.signal("HUP");
    closed.finish().expect_code(4);
    let status = database.status();
    assert_eq!(stage(&status, "warc")["leased"], 0, "{status}");
    assert!(status["events"]["release"].as_u64() > Some(0), "{}", status["events"]);
    // Under nohup the worker ignores the signal, and continues to the scan's end.
    let kept = Running::start(under_nohup);
    wait_for("its start", || kept.stderr_text().contains("worker started").then_some(()));
    kept.signal("HUP");
    proxy.release();
    kept.finish().expect_code(0);
}

#[test]
fn a_second_signal_stops_immediately_and_the_leases_expire() {
    let internet = internet(150, Mix::none());
    let (proxy, database) = internet.held_scan();
    let running = Running::start(database.worker(&["--exit-when-done", "--drain", "1h"]));
    proxy.wait_until_held();
    running.terminate();
    wait_for("the drain", || running.stderr_text().contains("draining").then_some(()));
    running.terminate();
    // The drain may last an hour, so only the second signal can have ended the worker.
    running.finish().expect_code(4);
    let status = database.status();
    assert!(stage(&status, "warc")["leased"].as_u64() > Some(0), "{status}");
    proxy.release();
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let status = database.status();
    assert_eq!(status["state"], "finished", "{status}");
    assert!(status["events"]["expired"].as_u64() > Some(0), "{status}");
    assert!(!published(&internet.folder.path().join("site")).is_empty());
}

#[test]
fn the_first_signal_after_a_notice_still_lets_the_drain_finish() {
    let internet = internet(150, Mix::none());
    let (metadata, address) = InstanceMetadata::start(&internet.runtime);
    let (proxy, database) = internet.held_scan();
    let url = format!("http://{address}");
    let more = ["--exit-when-done", "--drain", "1h", "--instance-metadata", &url];
    let mut running = Running::start(database.worker(&more));
    proxy.wait_until_held();
    metadata.set(SPOT, r#"{"action": "terminate", "time": "2030-01-01T00:02:00Z"}"#);
    wait_for("the drain", || running.stderr_text().contains("draining").then_some(()));
    running.terminate();
    wait_for("the signal's line", || {
        running.stderr_text().contains("a second signal").then_some(())
    });
    assert!(!running.has_ended(), "{}", running.stderr_text());
    proxy.release();
    running.finish().expect_code(4);
    let status = database.status();
    assert_eq!(stage(&status, "warc")["leased"], 0, "{status}");
    assert_eq!(status["events"]["release"], serde_json::Value::Null, "{}", status["events"]);
    assert!(stage(&status, "warc")["done"].as_u64() > Some(0), "{status}");
}

#[test]
fn a_worker_that_waits_for_its_database_stops_at_a_signal() {
    let url = format!("postgres://nobody@{}/none", unused_address());
    let running = Running::start(worker(["run", "--database-url", &url]));
    wait_for("its first warning", || running.stderr_text().contains("retrying").then_some(()));
    running.terminate();
    running.finish().expect_code(4);
}
