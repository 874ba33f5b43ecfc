//! Tests servers of the installed Postgres.

// clippy.toml allows unwrap in tests, but not in their helpers.
#![allow(clippy::unwrap_used)]

use std::{
    fs::{self, Permissions},
    io::{BufRead, BufReader},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use everytab_patience::wait_for;
use everytab_postgres::{PostgresSettings, PrivatePostgres, shared_for_tests};
use tempfile::TempDir;

fn open_folder() -> TempDir {
    folder_with_mode(0o755)
}

fn folder_with_mode(mode: u32) -> TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(mode)).tempdir().unwrap()
}

fn settings(dir: &Path) -> PostgresSettings {
    PostgresSettings { durable: false, max_connections: 20, ..PostgresSettings::new(dir) }
}

fn we_are_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    wait_for(what, || happened().then_some(()));
}

fn runs_postgres(pid: u32) -> bool {
    fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program.ends_with("postgres"))
}

struct Owner {
    process: Child,
}

impl Owner {
    fn spawn(dir: &Path) -> Self {
        let process = Command::new(env!("CARGO_BIN_EXE_with-postgres"))
            .arg("--dir")
            .arg(dir)
            .args(["--", "sh", "-c", "echo ready; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self { process }
    }

    fn wait_until_ready(&mut self) {
        let mut line = String::new();
        BufReader::new(self.process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
    }

    fn kill_9(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn postmaster_in(data: &Path) -> u32 {
    let text = fs::read_to_string(data.join("postmaster.pid")).unwrap();
    text.lines().next().unwrap().parse().unwrap()
}

#[test]
fn data_survives_a_stop_and_a_start() {
    let dir = open_folder();
    let server = PrivatePostgres::start(PostgresSettings::new(dir.path())).unwrap();
    server.psql("postgres", "create table t (n int); insert into t values (41), (42)").unwrap();
    let pid = server.pid();
    assert!(runs_postgres(pid));
    server.stop().unwrap();
    assert!(!runs_postgres(pid));
    let server = PrivatePostgres::start(PostgresSettings::new(dir.path())).unwrap();
    assert_eq!(server.psql("postgres", "select n from t order by n").unwrap(), "41\n42");
    assert_eq!(server.psql("postgres", "show fsync").unwrap(), "on");
    server.erase().unwrap();
    assert!(!dir.path().exists());
}

#[test]
fn a_promoted_standby_has_the_address_and_lacks_later_commits() {
    let dir = open_folder();
    let mut server = PrivatePostgres::start(settings(dir.path())).unwrap();
    server.psql("postgres", "create table t (n int)").unwrap();
    for round in 1..=2 {
        let url = server.admin_url();
        server.psql("postgres", &format!("insert into t values ({round})")).unwrap();
        let standby = server.standby().unwrap();
        server.psql("postgres", "insert into t values (99)").unwrap();
        server = server.fail_over(standby, settings(dir.path())).unwrap();
        assert_eq!(server.admin_url(), url);
        let found = server.psql("postgres", "select max(n), count(*) from t").unwrap();
        assert_eq!(found, format!("{round}|{round}"));
    }
    let sql = "select timeline_id > 1 from pg_control_checkpoint()";
    assert_eq!(server.psql("postgres", sql).unwrap(), "t");
    server.erase().unwrap();
}

#[test]
fn dropping_stops_and_frees_the_folder() {
    let dir = open_folder();
    let server = PrivatePostgres::start(settings(dir.path())).unwrap();
    let pid = server.pid();
    drop(server);
    assert!(!runs_postgres(pid));
    PrivatePostgres::start(settings(dir.path())).unwrap().stop().unwrap();
}

#[test]
fn the_error_for_a_second_owner_names_the_first() {
    let dir = open_folder();
    let server = PrivatePostgres::start(settings(dir.path())).unwrap();
    let error = PrivatePostgres::start(settings(dir.path())).unwrap_err().to_string();
    let expected = format!("is already in use by process {}", std::process::id());
    assert!(error.ends_with(&expected), "{error}");
    assert_eq!(server.psql("postgres", "select 1").unwrap(), "1");
}

#[test]
fn the_server_outlives_the_thread_that_started_it() {
    let dir = open_folder();
    let path = dir.path().to_path_buf();
    let server = std::thread::spawn(move || PrivatePostgres::start(settings(&path)).unwrap())
        .join()
        .unwrap();
    assert_eq!(server.psql("postgres", "select pg_sleep(0.2), 7").unwrap(), "|7");
    assert!(server.is_running());
}

#[test]
fn the_server_has_its_own_session_so_a_terminals_interrupt_does_not_reach_it() {
    let dir = open_folder();
    let server = PrivatePostgres::start(settings(dir.path())).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let fields: Vec<&str> = after_name.split(' ').collect();
    let own = server.pid().to_string();
    assert_eq!((fields[2], fields[3]), (own.as_str(), own.as_str()), "group, session");
}

#[test]
fn only_its_owner_can_enter_the_socket_folder_and_nothing_listens_on_tcp() {
    let dir = open_folder();
    let server = PrivatePostgres::start(settings(dir.path())).unwrap();
    let shown = server.psql("postgres", "show unix_socket_directories").unwrap();
    let folder = fs::metadata(&shown).unwrap();
    let server_user = fs::metadata(format!("/proc/{}", server.pid())).unwrap().uid();
    assert_eq!((folder.mode() & 0o777, folder.uid()), (0o700, server_user));
    assert_ne!(server_user, 0);
    assert_eq!(server.psql("postgres", "show listen_addresses").unwrap(), "");
    server.stop().unwrap();
    assert!(!Path::new(&shown).exists());
}

#[test]
fn a_server_stops_when_its_owner_is_killed() {
    let dir = open_folder();
    let mut owner = Owner::spawn(dir.path());
    owner.wait_until_ready();
    let postmaster = postmaster_in(&dir.path().join("data"));
    assert!(runs_postgres(postmaster));
    owner.kill_9();
    wait_until("the server ends", || !runs_postgres(postmaster));
    PrivatePostgres::start(settings(dir.path())).unwrap().erase().unwrap();
}

#[test]
fn after_kill_9_of_the_owner_the_next_owner_has_the_data() {
    let dir = open_folder();
    for round in 0..3 {
        let mut owner = Owner::spawn(dir.path());
        owner.wait_until_ready();
        owner.kill_9();
        let server = PrivatePostgres::start(PostgresSettings::new(dir.path())).unwrap();
        let sql = "create table if not exists t (n serial); insert into t default values;
                   select count(*) from t";
        assert_eq!(server.psql("postgres", sql).unwrap(), (round + 1).to_string());
    }
}

#[test]
fn the_next_server_stops_a_backend_that_outlived_its_killed_server() {
    let dir = open_folder();
    let server = PrivatePostgres::start(PostgresSettings::new(dir.path())).unwrap();
    server.psql("postgres", "create table t (n int)").unwrap();
    let postmaster = server.pid();
    let url = server.admin_url();
    // This query never waits, so its backend does not notice that the server is gone.
    let mut busy = Command::new("psql")
        .args([&url, "-c", "do 'begin loop perform 1; end loop; end'"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sql = "select pid from pg_stat_activity where query like 'do %'
               and state = 'active' and pid <> pg_backend_pid()";
    let mut backend = String::new();
    wait_until("the query runs", || {
        backend = server.psql("postgres", sql).unwrap();
        !backend.is_empty()
    });
    let backend: u32 = backend.parse().unwrap();
    Command::new("kill").args(["-9", &postmaster.to_string()]).status().unwrap();
    wait_until("its end is noticed", || !server.is_running());
    assert!(runs_postgres(backend), "the backend was to outlive its server");
    server.stop().unwrap();

    let server = PrivatePostgres::start(settings(dir.path())).unwrap();
    assert!(!runs_postgres(backend));
    assert_eq!(server.psql("postgres", "select count(*) from t").unwrap(), "0");
    busy.wait().unwrap();
}

#[test]
fn a_stale_pid_file_with_another_process_does_not_prevent_a_start() {
    let dir = open_folder();
    PrivatePostgres::start(settings(dir.path())).unwrap().stop().unwrap();
    let data = dir.path().join("data");
    let ours = std::process::id();
    let text = format!("{ours}\n{}\n1700000000\n5432\n/tmp\n\n  1 2\nready\n", data.display());
    fs::write(data.join("postmaster.pid"), text).unwrap();
    let server = PrivatePostgres::start(settings(dir.path())).unwrap();
    assert_eq!(server.psql("postgres", "select 1").unwrap(), "1");
}

#[test]
fn an_initdb_that_was_killed_is_repeated() {
    let dir = open_folder();
    let making = dir.path().join("data.making");
    for (round, milestone) in ["", "PG_VERSION", "base", "global/pg_control"].iter().enumerate() {
        let owner = Owner::spawn(dir.path());
        wait_until("initdb is on its way", || {
            making.join(milestone).exists() || dir.path().join("data").exists()
        });
        owner.kill_9();
        assert!(round > 0 || !dir.path().join("data").exists(), "the kill came too late");
    }
    let server = PrivatePostgres::start(settings(dir.path())).unwrap();
    assert!(!making.exists());
    assert_eq!(server.psql("postgres", "select count(*) from pg_database").unwrap(), "3");
}

#[test]
fn a_cluster_of_another_version_is_named_and_left_alone() {
    let dir = open_folder();
    PrivatePostgres::start(settings(dir.path())).unwrap().stop().unwrap();
    let version = dir.path().join("data/PG_VERSION");
    fs::write(&version, "9\n").unwrap();
    let error = PrivatePostgres::start(settings(dir.path())).unwrap_err().to_string();
    assert!(error.starts_with("the cluster was made by Postgres 9, installed is "), "{error}");
    assert_eq!(fs::read_to_string(&version).unwrap(), "9\n");
}

#[test]
fn a_setting_that_postgres_rejects_is_named_in_one_line() {
    let dir = open_folder();
    let extra = vec![("shared_buffers".to_owned(), "a lot".to_owned())];
    let error = PrivatePostgres::start(PostgresSettings { extra, ..settings(dir.path()) });
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("Postgres did not start: "), "{error}");
    assert!(error.contains("shared_buffers") && error.lines().count() == 1, "{error}");
    PrivatePostgres::start(settings(dir.path())).unwrap().stop().unwrap();
}

#[test]
fn a_directory_that_cannot_be_created_is_named() {
    let dir = open_folder();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = PrivatePostgres::start(settings(&file.join("below"))).unwrap_err().to_string();
    assert!(error.starts_with("cannot make ") && error.contains("file/below"), "{error}");
}

#[test]
fn a_full_disk_is_reported_in_one_line_and_survived() {
    let dir = open_folder();
    let script = r#"
        disk() { mount -t tmpfs -o "size=$1,mode=755" none "$DISK" 2>/dev/null || exit 77; }
        disk 20m; "$WITH_POSTGRES" --dir "$DISK/pg" -- true; umount "$DISK"
        disk 80m; "$WITH_POSTGRES" --dir "$DISK/pg" -- true && echo made
        dd if=/dev/zero of="$DISK/rest" bs=64k 2>/dev/null
        "$WITH_POSTGRES" --dir "$DISK/pg" -- true
        rm "$DISK/rest"; "$WITH_POSTGRES" --dir "$DISK/pg" -- echo goes on"#;
    let run = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .env("DISK", dir.path())
        .env("WITH_POSTGRES", env!("CARGO_BIN_EXE_with-postgres"))
        .output()
        .unwrap();
    if !we_are_root() || run.status.code() == Some(77) {
        eprintln!("skipped: cannot mount a small disk here");
        return;
    }
    let said = String::from_utf8_lossy(&run.stderr);
    let answered = run.stdout;
    let disk = dir.path().display();
    let expected = format!(
        "with-postgres: no space left on the disk of {disk}/pg/data.making\n\
         with-postgres: no space left on the disk of {disk}/pg/data\n"
    );
    assert_eq!((said.as_ref(), answered.as_slice()), (expected.as_str(), &b"made\ngoes on\n"[..]));
}

#[test]
fn a_cluster_is_created_elsewhere_if_the_servers_user_cannot_enter_the_directory() {
    if !we_are_root() {
        eprintln!("skipped: only root runs the server as another user");
        return;
    }
    let closed = folder_with_mode(0o700);
    let dir = closed.path().join("everytab-data");
    let server = PrivatePostgres::start(settings(&dir)).unwrap();
    server.psql("postgres", "create table t ()").unwrap();
    server.stop().unwrap();
    let home = PathBuf::from(fs::read_to_string(dir.join("LOCATION")).unwrap().trim_end());
    assert!(home.starts_with("/var/lib/everytab") && home.join("data/PG_VERSION").exists());

    let server = PrivatePostgres::start(settings(&dir)).unwrap();
    assert_eq!(server.psql("postgres", "select count(*) from t").unwrap(), "0");
    drop(server);

    fs::remove_dir_all(&dir).unwrap();
    let server = PrivatePostgres::start(settings(&dir)).unwrap();
    assert!(server.psql("postgres", "select count(*) from t").is_err());
    server.erase().unwrap();
    assert!(!home.exists() && !dir.exists());
}

#[test]
fn a_cluster_that_root_copied_starts_again() {
    if !we_are_root() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let dir = open_folder();
    let original = dir.path().join("original");
    PrivatePostgres::start(settings(&original)).unwrap().stop().unwrap();
    let copy = dir.path().join("copy");
    assert!(Command::new("cp").arg("-r").args([&original, &copy]).status().unwrap().success());
    assert_eq!(fs::metadata(copy.join("data")).unwrap().uid(), 0);
    let server = PrivatePostgres::start(settings(&copy)).unwrap();
    assert_eq!(server.psql("postgres", "select 1").unwrap(), "1");
}

#[test]
fn the_error_contains_psqls_message() {
    let server = shared_for_tests();
    let error = server.psql("postgres", "select 1; select nonsense").unwrap_err().to_string();
    assert_eq!(error, "psql: column \"nonsense\" does not exist");
}

#[test]
fn a_template_is_prepared_once_and_copies_are_independent() {
    let server = shared_for_tests();
    let prepared = std::sync::atomic::AtomicU32::new(0);
    let name = format!("template_{}", std::process::id());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                server.template(&name, |url| {
                    prepared.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    assert!(url.starts_with(&format!("postgres:///{name}?host=")), "{url}");
                    server.psql(&name, "create table t (n int)").unwrap();
                });
                let database = server.fresh_database(Some(&name));
                server.psql(&database, "insert into t values (1)").unwrap();
                assert_eq!(server.psql(&database, "select count(*) from t").unwrap(), "1");
            });
        }
    });
    assert_eq!(prepared.into_inner(), 1);
    assert!(server.psql(&name, "select 1").is_err(), "a template takes no connections");
}
