//! Tests the Python client that openapi-python-client generates from docs/openapi.json, from a
//! submitted URL to a captured page, and from a crawl to its feed's end. A missing program is a
//! failure, because scripts/install/test.sh installs it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    api_walkthrough::{key, service},
    environment::{Database, Stores},
    live_crawls::{crawler, graph, graph_of_sites},
    setup::run,
};

fn python() -> PathBuf {
    std::env::var_os("EVERYTAB_PYTHON").map_or_else(
        || {
            let program = Path::new(env!("CARGO_BIN_EXE_everytab-worker"));
            program.ancestors().nth(2).unwrap().join("python/bin/python")
        },
        PathBuf::from,
    )
}

fn make_client(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut generate = Command::new(python());
    generate.args(["-m", "openapi_python_client", "generate", "--meta", "none"]);
    generate.arg("--path").arg(root.join("../docs/openapi.json"));
    generate.arg("--config").arg(root.join("tests/fixtures/openapi_python_client.yaml"));
    generate.arg("--output-path").arg(folder.join("everytab_client")).arg("--fail-on-warning");
    run(generate).expect_code(0);
}

#[test]
fn a_generated_client_goes_from_a_url_to_its_page_and_from_a_crawl_to_its_end() {
    let internet = graph_of_sites(24, 6, 120);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let folder = internet.folder.path();
    let store = internet.folder.path().join("crawls");
    make_client(folder);
    let (service, address) = service(&database, &store, &[]);
    let worker = crawler(&internet, &database, &[]);
    let mut journey = Command::new(python());
    journey.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/generated_client.py"));
    let site = |host| graph(&internet).url(graph(&internet).home(host));
    journey.arg(site(0)).arg(site(1));
    journey.env("PYTHONPATH", folder).env("API", format!("http://{address}"));
    journey.env("KEY", key(&database, "a client", &[]));
    let went = run(journey).expect_code(0);
    assert_eq!(went.stdout.trim(), "the whole way", "{}", went.stderr);
    worker.terminate();
    worker.finish().expect_code(4);
    service.terminate();
    service.finish().expect_code(4);
}
