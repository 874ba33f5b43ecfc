//! The rule of Amazon RDS that members of `rds_iam` sign in by token only, on servers of several
//! versions: the owner, who makes the workers' roles, must not become such a member.
//!
//! From Postgres 16 on, the creator of a role becomes its member. The servers are the system's and
//! those of npm's `@embedded-postgres`, which `scripts/install/test.sh` installs.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use everytab_coordinator::{ConnectSettings, Coordinator, JobKind};
use everytab_patience::until;
use everytab_postgres::shared_for_tests;
use serde_json::Value;

use crate::{session::Session, setup::Database};

/// Local connections as RDS has them: its own administrator, then no password for members of
/// rds_iam.
const RULES: &str = "local all rdsadmin trust\nlocal all +rds_iam reject\nlocal all all trust\n";
/// The versions that npm's packages bring.
const PACKAGED: [&str; 2] = ["16", "17"];

/// A server in a folder of its own, which ends with this value.
struct Server {
    folder: tempfile::TempDir,
    running: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, or ends now.
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

/// A command that runs as a user other than root, as Postgres demands.
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

impl Server {
    async fn start(bin: &Path) -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let data = folder.path().join("data");
        let made = unprivileged(&bin.join("initdb"))
            .args(["-U", "rdsadmin", "-A", "trust", "--no-sync", "-E", "UTF8", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(data.join("pg_hba.conf"), RULES).unwrap();
        let running = unprivileged(&bin.join("postgres"))
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"])
            .arg(folder.path())
            .arg("-D")
            .arg(&data)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { folder, running };
        let url = server.url("rdsadmin", "postgres");
        until(&format!("the start of {}", bin.display()), async || {
            tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_ok()
        })
        .await;
        server
    }

    fn url(&self, user: &str, database: &str) -> String {
        format!("postgres:///{database}?host={}&user={user}", self.folder.path().display())
    }

    async fn run(&self, user: &str, database: &str, sql: &str) {
        Session::connect(&self.url(user, database)).await.run(sql).await;
    }

    /// Whether the user may sign in.
    async fn admits(&self, user: &str) -> bool {
        tokio_postgres::connect(&self.url(user, "everytab"), tokio_postgres::NoTls).await.is_ok()
    }
}

/// A copy of the server programs of npm's package, with the links that npm would have made. None
/// where the package is not installed.
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

/// The five statements that lock the owner out where it is a member, around our migration; then a
/// scan by the worker's role.
async fn the_owner_stays_in(bin: &Path) {
    let server = Server::start(bin).await;
    let admin = "create role rds_iam; create role everytab_owner login createrole";
    server.run("rdsadmin", "postgres", admin).await;
    server.run("rdsadmin", "postgres", "create database everytab owner everytab_owner").await;
    let owner_url = server.url("everytab_owner", "everytab");
    let owner = Coordinator::connect(&owner_url, &ConnectSettings::default()).await.unwrap();
    owner.migrate().await.unwrap();
    let workers = "everytab_worker, everytab_worker_crawl, everytab_worker_icons, \
                   everytab_worker_site, everytab_api";
    server.run("rdsadmin", "everytab", &format!("grant rds_iam to {workers}")).await;
    assert!(server.admits("everytab_owner").await, "{}: the owner is locked out", bin.display());
    for worker in workers.split(", ") {
        assert!(!server.admits(worker).await, "{worker} signs in without a token");
    }
    // The owner's work goes on, and a later migration finds the roles.
    let session = Session::connect(&owner_url).await;
    session.run("update everytab.migrations set digest = 'another'").await;
    owner.migrate().await.unwrap();
    let change = "do $$ begin
        if to_regprocedure('everytab_roles.change(text)') is not null then
            perform everytab_roles.change('alter role everytab_worker connection limit 900');
        else
            alter role everytab_worker connection limit 900;
        end if;
    end $$";
    session.run(change).await;
    assert!(server.admits("everytab_owner").await);
    server.run("rdsadmin", "everytab", &format!("revoke rds_iam from {workers}")).await;
    let worker_url = server.url("everytab_worker", "everytab");
    let fills_the_disk = Session::connect(&worker_url).await.0;
    let refused = fills_the_disk.batch_execute("create temporary table t (a integer)").await;
    assert_eq!(refused.unwrap_err().code().unwrap().code(), "42501");
    let database = Database::at(owner_url, worker_url, "everytab".into()).await;
    let scan = database.start(2).await;
    database.work_on(&[JobKind::Index]).await;
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished", "{}", bin.display());
}

#[tokio::test]
async fn the_owner_is_not_locked_out_by_the_systems_postgres() {
    let bin = shared_for_tests()
        .psql("postgres", "select setting from pg_config where name = 'BINDIR'")
        .unwrap();
    the_owner_stays_in(Path::new(bin.trim())).await;
}

#[tokio::test]
async fn the_owner_is_not_locked_out_by_later_versions() {
    for version in PACKAGED {
        match packaged(version) {
            Some(copy) => the_owner_stays_in(&copy.path().join("native/bin")).await,
            None => {
                let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
                assert!(!is_ci, "Postgres {version} is not in $EVERYTAB_NODE");
                println!("skipped: no Postgres {version}: its roles");
            }
        }
    }
}
