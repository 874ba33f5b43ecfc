//! A writer in a separate process, which tests kill, run as another user, or run on a full disk.
//! The parent starts this same test program with the name of one ignored test.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use everytab_storage::{PutOptions, StoreSettings, open};

const URL: &str = "EVERYTAB_STORAGE_TEST_URL";
const FILE: &str = "EVERYTAB_STORAGE_TEST_FILE";
const ENDPOINT: &str = "EVERYTAB_STORAGE_TEST_ENDPOINT";
const RESULT: &str = "put_file: ";

pub(crate) fn writer(url: &str, file: &Path, endpoint: Option<&str>) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program is a file"));
    prepare(&mut command, url, file, endpoint);
    command
}

/// Runs `script` in a shell. In it, `"$@"` is the writer's command.
pub(crate) fn writer_in_shell(wrapper: &[&str], script: &str, url: &str, file: &Path) -> Command {
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).args(["sh", "-c", script, "sh"]);
    command.arg(std::env::current_exe().expect("this program is a file"));
    prepare(&mut command, url, file, None);
    command
}

fn prepare(command: &mut Command, url: &str, file: &Path, endpoint: Option<&str>) {
    command.args(["--exact", "child::writes_one_file", "--ignored", "--nocapture"]);
    command.env(URL, url).env(FILE, file).env(ENDPOINT, endpoint.unwrap_or_default());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

pub(crate) fn result_of(mut command: Command) -> String {
    let output = command.output().expect("the child can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once(RESULT));
    let errors = String::from_utf8_lossy(&output.stderr);
    line.unwrap_or_else(|| panic!("no result: {text}{errors}")).1.to_owned()
}

#[tokio::test]
#[ignore = "a part of other tests, which run it in a process of its own"]
async fn writes_one_file() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let endpoint = variable(ENDPOINT);
    let settings =
        if endpoint.is_empty() { StoreSettings::default() } else { super::s3_settings(&endpoint) };
    if variable(URL).is_empty() {
        return;
    }
    let store = open(&variable(URL), &settings).await.expect("open");
    let put = store.put_file("k", Path::new(&variable(FILE)), PutOptions::default()).await;
    match put {
        Ok(()) => println!("\n{RESULT}done"),
        Err(error) => println!("\n{RESULT}{}: {error}", error.kind()),
    }
}
