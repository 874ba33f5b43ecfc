//! Starts separate Postgres servers for tests of roles: one for each version on the system, and one
//! for each of npm's `@embedded-postgres` packages that `scripts/install/test.sh` installs.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use everytab_patience::until;
use everytab_postgres::shared_for_tests;
use serde_json::Value;

use crate::session::Session;

pub(crate) const ADMIN: &str = "rdsadmin";
const PACKAGED: [&str; 3] = ["16", "17", "18"];
const SYSTEM: &str = "/usr/lib/postgresql";

/// Dropping this value stops the server.
pub(crate) struct OwnServer {
    folder: tempfile::TempDir,
    running: Child,
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

/// Postgres refuses to run as root.
fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new(program);
    let id = |flag: &str, user: &[&str]| -> u32 {
        let said = Command::new("id").arg(flag).args(user).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
    };
    if id("-u", &[]) == 0 {
        command.uid(id("-u", &["postgres"])).gid(id("-g", &["postgres"]));
    }
    command.current_dir("/").stdin(Stdio::null());
    command
}

impl OwnServer {
    pub(crate) async fn start(bin: &Path, rules: &str) -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let data = folder.path().join("data");
        let made = unprivileged(&bin.join("initdb"))
            .args(["-U", ADMIN, "-A", "trust", "--no-sync", "-E", "UTF8", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(data.join("pg_hba.conf"), rules).unwrap();
        let running = unprivileged(&bin.join("postgres"))
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"])
            .arg(folder.path())
            .arg("-D")
            .arg(&data)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { folder, running };
        let url = server.url(ADMIN, "postgres");
        until(&format!("the start of {}", bin.display()), async || {
            tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_ok()
        })
        .await;
        server
    }

    pub(crate) fn url(&self, user: &str, database: &str) -> String {
        format!("postgres:///{database}?host={}&user={user}", self.folder.path().display())
    }

    pub(crate) async fn run(&self, user: &str, database: &str, sql: &str) {
        Session::connect(&self.url(user, database)).await.run(sql).await;
    }

    pub(crate) async fn admits(&self, user: &str) -> bool {
        tokio_postgres::connect(&self.url(user, "everytab"), tokio_postgres::NoTls).await.is_ok()
    }
}

/// Also adds the symbolic links that npm would have created. `None` if this package is not
/// installed.
fn packaged(version: &str) -> Option<tempfile::TempDir> {
    let installed = std::env::var_os("EVERYTAB_NODE").map(PathBuf::from);
    let package = installed?.join("node_modules").join(format!("postgres-{version}"));
    let links = fs::read(package.join("native/pg-symlinks.json")).ok()?;
    let copy = tempfile::TempDir::new().unwrap();
    let copied = Command::new("cp")
        .args(["-r", "--no-preserve=ownership"])
        .arg(package.join("native"))
        .arg(copy.path())
        .status();
    assert!(copied.unwrap().success());
    for link in serde_json::from_slice::<Vec<Value>>(&links).unwrap() {
        let place = |name: &str| copy.path().join(link[name].as_str().unwrap());
        if !place("target").exists() {
            std::os::unix::fs::symlink(place("source"), place("target")).unwrap();
        }
    }
    let readable = Command::new("chmod").args(["-R", "a+rX,u+x"]).arg(copy.path()).status();
    assert!(readable.unwrap().success());
    for program in ["initdb", "postgres"] {
        let path = copy.path().join("native/bin").join(program);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    Some(copy)
}

pub(crate) async fn on_each_version(test: impl AsyncFn(PathBuf)) {
    let query = "select setting from pg_config where name = 'BINDIR'";
    let shared = PathBuf::from(shared_for_tests().psql("postgres", query).unwrap().trim());
    let installed = fs::read_dir(SYSTEM).into_iter().flatten();
    let mut found: Vec<PathBuf> =
        installed.filter_map(|version| Some(version.ok()?.path().join("bin"))).collect();
    found.retain(|bin| bin.join("initdb").exists());
    if !found.contains(&shared) {
        found.push(shared);
    }
    for bin in found {
        test(bin).await;
    }
    for version in PACKAGED {
        match packaged(version) {
            Some(copy) => test(copy.path().join("native/bin")).await,
            None => {
                let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
                assert!(!is_ci, "Postgres {version} is not in $EVERYTAB_NODE");
                println!("skipped: no Postgres {version}: its roles");
            }
        }
    }
}
