//! Tests that a crawl's requests use the ports in its first seeds and in the worker's list, and no
//! others.

use everytab_testbed::{GraphSettings, Settings};
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, internet_with},
    live_crawls::{crawler, graph, graph_of_sites, recorded, sites, status},
    setup::{run, wait_for},
};

fn start(internet: &Internet, database: &Database, seeds: &[&str]) -> String {
    let store = internet.folder.path().join("crawls").display().to_string();
    let arguments = ["crawl", "start", "--to", &store, "--delay", "0ms", "--scope", "host"];
    let started = run(database.owner(&[&arguments[..], seeds].concat())).expect_code(0);
    started.stdout.split(' ').next().unwrap().to_owned()
}

fn ended(database: &Database, id: &str) -> Value {
    wait_for("the end of a crawl", || {
        let status = status(database, id);
        (status["state"] == "ended").then_some(status)
    })
}

#[test]
fn a_port_in_a_seed_is_crawled_and_other_ports_are_rejected() {
    let sites = GraphSettings { https: 0, ..sites(4, 60) };
    let internet = internet_with(|scratch| Settings::graph(33, sites, scratch));
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let name = graph(&internet).host_name(0);
    let named = format!("http://{name}:8081/");
    let odd = [format!("http://{name}:22/"), format!("http://{name}:10080/x")];
    let id = start(&internet, &database, &[&named, &odd[0], &odd[1]]);
    // These seeds contain no port.
    let usual = start(&internet, &database, &[&format!("http://{name}/")]);
    let added = run(database.owner(&["crawl", "add", &usual, &named])).expect_code(1);
    assert!(added.stderr.contains("port 8081 is not in the list of ports"), "{}", added.stderr);
    let forced = ["crawl", "add", &usual, &named, "--ports", "80,8081"];
    run(database.owner(&forced)).expect_code(0);

    let (_, http) =
        internet.running.client.dial_ports.iter().find(|(from, _)| *from == 80).unwrap();
    // The worker's `--ports` does not contain this port.
    let dial = format!("8081={http}");
    let worker = crawler(&internet, &database, &["--dial-port", &dial, "--exit-when-done"]);
    let (first, second) = (ended(&database, &id), ended(&database, &usual));
    worker.finish().expect_code(0);

    let found = recorded(&database, &id);
    assert_eq!(found.get(&named).map(String::as_str), Some("ok"), "{found:?}");
    assert!(found.keys().filter(|url| url.starts_with(&named)).count() > 3, "{found:?}");
    assert_eq!(first["settings"]["seed_ports"], serde_json::json!([8081]));
    let found = recorded(&database, &usual);
    assert!(found.len() > 3 && found.keys().all(|url| !url.contains(":8081")), "{found:?}");
    assert_eq!(second["links_refused"]["port"], 1, "{second}");
}

fn refusals(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.starts_with("refused: ")).collect()
}

/// Seeds from a pipe may arrive for hours, so a crawl's settings are frozen when its first seeds
/// are added.
#[test]
fn a_crawl_has_the_ports_in_its_first_seeds() {
    let internet = graph_of_sites(34, 2, 4);
    let folder = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, folder));
    let mut seeds: String = (0..19_999).map(|n| format!("host{n}.example\n")).collect();
    seeds.insert_str(0, "http://c.example:22/\nb.example:8080\nhttp://e.example:10080/\n");
    seeds.push_str("http://f.example:8081/\nhttp://f.example:8082/\n");
    let file = folder.join("seeds.txt");
    std::fs::write(&file, seeds).unwrap();
    let file = file.display().to_string();
    let store = folder.join("store").display().to_string();
    let named = "http://a.example:8081/";
    let arguments = ["crawl", "start", "--to", &store, "--seeds", &file, named];
    let started = run(database.owner(&arguments)).expect_code(0);
    let bad = "is never requested: it is a bad port of the Fetch standard";
    let expected = [
        format!("refused: {file}:1: \"http://c.example:22/\": port 22 {bad}"),
        format!("refused: {file}:3: \"http://e.example:10080/\": port 10080 {bad}"),
        format!(
            "refused: {file}:20004: \"http://f.example:8082/\": port 8082 is not in the list of \
             ports"
        ),
    ];
    assert_eq!(refusals(&started.stderr), expected);
    assert!(started.stderr.contains("20002 seeds, 3 refused"), "{}", started.stderr);
    let id = started.stdout.split(' ').next().unwrap();
    let settings = &status(&database, id)["settings"];
    assert_eq!(settings["seed_ports"], serde_json::json!([8080, 8081]));

    let add = |arguments: &[&str], code, expected: &str| {
        let added = run(database.owner(&[&["crawl", "add", id], arguments].concat()));
        assert_eq!(added.expect_code(code).stdout.trim(), expected);
    };
    let g = ["http://g.example:8081/", "https://g.example:8443/", "http://g.example:9000/"];
    add(&g, 0, "2 seeds added, 1 refused");
    add(&[g[2], "--ports", "80,9000"], 0, "1 seeds added, 0 refused");
    add(&[g[2], "--ports", "80,25"], 2, "");
}
