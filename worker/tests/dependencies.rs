//! Tests which packages the program contains with each feature.

use std::{collections::BTreeSet, path::Path, process::Command};

fn packages(features: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--package", "everytab-worker"])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--no-default-features", "--features", features])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree: {complaint}");
    let tree = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    assert!(names.contains("everytab-runner"), "not the tree of the program: {tree}");
    names
}

fn found(features: &str, is_banned: impl Fn(&str) -> bool) -> Vec<String> {
    packages(features).into_iter().filter(|name| is_banned(name)).collect()
}

/// Excludes `aws-lc-rs`, which is rustls's cryptography.
fn is_aws_sdk(name: &str) -> bool {
    name.starts_with("aws-") && !name.starts_with("aws-lc-")
}

#[test]
fn the_fleets_program_contains_no_test_internet_and_no_test_servers() {
    let of_local = ["everytab-local", "everytab-testbed", "everytab-postgres", "image", "rcgen"];
    let is_banned = |name: &str| of_local.contains(&name) || name.starts_with("arrow-");
    assert_eq!(found("cloudfront ec2 https otlp s3", is_banned), [""; 0]);
    // These names are real packages, because this list is not empty.
    let with_local = found("local", is_banned);
    assert!(of_local.iter().all(|name| with_local.iter().any(|one| one == name)), "{with_local:?}");
}

#[test]
fn a_local_scan_needs_no_aws_sdk_and_no_exporter_of_telemetry() {
    let is_banned = |name: &str| is_aws_sdk(name) || name == "opentelemetry-otlp";
    assert_eq!(found("local", is_banned), [""; 0]);
    let all = found("cloudfront ec2 https local otlp s3", is_banned);
    assert!(all.iter().any(|name| name == "aws-sdk-s3") && all.len() > 5, "{all:?}");
}
