//! Tests signing in to Postgres over TCP: errors name the source of a missing or wrong password,
//! and a wrong clock.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use crate::{
    netns::in_own_namespaces,
    service_setup::cluster,
    setup::{Running, folder, run, wait_for, worker},
};

const URL: &str = "postgres://everytab_owner@127.0.0.1/everytab?sslmode=disable";

fn connects(url: &str, home: &Path, environment: &[(&str, &str)]) -> Command {
    let mut command = worker(["scan", "list", "--database-url", url]);
    in_home(&mut command, home);
    command.envs(environment.iter().copied());
    command
}

fn in_home(command: &mut Command, home: &Path) {
    command.env("HOME", home);
    for name in ["PGPASSWORD", "PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT"] {
        command.env_remove(name);
    }
}

#[test]
fn a_missing_or_wrong_password_is_reported_with_its_source() {
    let folder = folder();
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let postgres = cluster(folder.path());
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let make = "create role everytab_owner login password 'right'";
        postgres.psql("postgres", make).unwrap();
        postgres.psql("postgres", "create database everytab owner everytab_owner").unwrap();
        // Without a password, a worker waits, because one may be written later.
        let mut command = worker(["run", "--database-url", URL]);
        in_home(&mut command, &home);
        let running = Running::start(command);
        let line = wait_for("a line about the password", || {
            let said = running.stderr_text();
            said.lines().find(|line| line.contains("retrying")).map(str::to_owned)
        });
        let file = home.join(".pgpass");
        for part in [
            "set PGPASSWORD",
            "127.0.0.1:5432:everytab:everytab_owner:PASSWORD",
            file.to_str().unwrap(),
            "password everytab_owner",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
        running.terminate();
        running.finish().expect_code(4);
        let write = |path: &Path, password: &str| {
            fs::write(path, format!("*:*:*:everytab_owner:{password}\n")).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        };
        let other = folder.path().join("passwords");
        let in_url = URL.replace("owner@", "owner:wr0ng@");
        let says = |command: Command, expected: &str| {
            let said = run(command).expect_code(1).stderr;
            assert!(said.contains(expected) && !said.contains("wr0ng"), "{expected}: {said}");
        };
        says(connects(&in_url, &home, &[]), "which is from the database URL");
        says(connects(URL, &home, &[("PGPASSWORD", "wr0ng")]), "which is from PGPASSWORD");
        write(&file, "wr0ng");
        says(connects(URL, &home, &[]), &format!("which is from {}", file.display()));
        write(&other, "wr0ng");
        let named = [("PGPASSFILE", other.to_str().unwrap())];
        says(connects(URL, &home, &named), &format!("which is from {}", other.display()));
        let no_schema = "the database has no EveryTab schema";
        says(connects(URL, &home, &[("PGPASSWORD", "right")]), no_schema);
        write(&other, "right");
        says(connects(URL, &home, &named), no_schema);
        write(&file, "right");
        says(connects(URL, &home, &[]), no_schema);
        says(connects(&URL.replace("owner@", "owner:right@"), &home, &[]), no_schema);
        postgres.erase().unwrap();
    });
}

/// Returns PEM: an authority's certificate, and a server's certificate and key. The server's
/// certificate is for this name and these years.
fn certificates(name: &str, from: i32, to: i32) -> [String; 3] {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.distinguished_name.push(rcgen::DnType::CommonName, "an authority");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    authority.not_before = rcgen::date_time_ymd(2020, 1, 1);
    authority.not_after = rcgen::date_time_ymd(2090, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let authority = rcgen::CertifiedIssuer::self_signed(authority, key).unwrap();
    let mut server = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    server.not_before = rcgen::date_time_ymd(from, 1, 1);
    server.not_after = rcgen::date_time_ymd(to, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = server.signed_by(&key, &authority).unwrap();
    [authority.pem(), certificate.pem(), key.serialize_pem()]
}

#[test]
fn a_rejected_certificate_points_at_the_clock_or_at_the_name() {
    let folder = folder();
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let postgres = cluster(folder.path());
        postgres.psql("postgres", "create role everytab_owner login password 'right'").unwrap();
        postgres.psql("postgres", "create database everytab owner everytab_owner").unwrap();
        let data = postgres.psql("postgres", "show data_directory").unwrap();
        let authority = folder.path().join("ca.pem");
        let url = format!(
            "postgres://everytab_owner:right@127.0.0.1/everytab?sslmode=verify-full&sslrootcert={}",
            authority.display()
        );
        let own = "127.0.0.1";
        for (name, years, expected) in [
            (own, (2020, 2090), "the database has no EveryTab schema"),
            (own, (2020, 2021), "check this machine's clock, which shows 20"),
            (own, (2080, 2090), "check this machine's clock, which shows 20"),
            ("db.example", (2020, 2090), "connect to a hostname that is in the certificate"),
        ] {
            let [ca, certificate, key] = certificates(name, years.0, years.1);
            fs::write(&authority, ca).unwrap();
            // Postgres writes these files itself, because its user must own the key.
            for (name, pem) in [("server.crt", certificate), ("server.key", key)] {
                let path = format!("{}/{name}", data.trim());
                let sql = format!(
                    "copy (select regexp_split_to_table('{pem}', E'\\n')) \
                     to program 'umask 077; cat > {path}'"
                );
                postgres.psql("postgres", &sql).unwrap();
            }
            postgres.psql("postgres", "alter system set ssl = on").unwrap();
            postgres.psql("postgres", "select pg_reload_conf()").unwrap();
            let said = wait_for("the server's certificate", || {
                let said = run(connects(&url, folder.path(), &[])).expect_code(1).stderr;
                said.contains(expected).then_some(said)
            });
            assert!(!said.contains("?sslrootcert"), "{said}");
        }
        postgres.erase().unwrap();
    });
}

#[test]
fn a_missing_file_of_authorities_is_an_error_on_this_machine_too() {
    let folder = folder();
    let url = "postgres://me@localhost/x?sslrootcert=/nowhere/ca.pem";
    let said = run(connects(url, folder.path(), &[])).expect_code(1).stderr;
    assert!(said.contains("/nowhere/ca.pem"), "{said}");
    let url = "postgres://me@localhost/x?sslrotcert=/nowhere/ca.pem";
    let said = run(connects(url, folder.path(), &[])).expect_code(1).stderr;
    assert!(said.contains("did you mean sslrootcert?"), "{said}");
}
