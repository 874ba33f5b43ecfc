//! Tests that items that crash, allocate too much, or try forbidden calls only affect themselves.
#![allow(clippy::unwrap_used)]

use std::{process::Command, sync::Mutex, thread};

use everytab_sandbox::{Confinement, Crash, Sandbox, SandboxError};

/// Locked by the test that kills all child processes of this process, and by the tests that this
/// would disturb.
static ALONE: Mutex<()> = Mutex::new(());

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_everytab-sandbox-misbehaves"), Vec::new())
}

fn answers(sandbox: &Sandbox, items: &[&str]) -> Result<Vec<Result<String, Crash>>, SandboxError> {
    let bytes: Vec<&[u8]> = items.iter().map(|item| item.as_bytes()).collect();
    let mut answers = Vec::new();
    sandbox.perform(&bytes, |number, answer| {
        assert_eq!(number, answers.len(), "in order, each once");
        answers.push(answer.map(|bytes| String::from_utf8(bytes).unwrap()));
    })?;
    Ok(answers)
}

#[test]
fn replies_are_in_order_and_processes_are_kept() {
    let sandbox = sandbox();
    let many: Vec<String> = (0..500).map(|number| format!("item {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for _ in 0..3 {
        let answers = answers(&sandbox, &many).unwrap();
        for (item, answer) in many.iter().zip(answers) {
            assert_eq!(answer.unwrap(), item.to_uppercase());
        }
    }
    assert_eq!(answers(&sandbox, &[]).unwrap(), []);
    assert_eq!(answers(&sandbox, &["environment"]).unwrap(), [Ok("0".to_owned())]);
}

#[test]
fn a_process_is_replaced_after_1024_items() {
    let _alone = ALONE.lock().unwrap();
    let sandbox = sandbox();
    let last = |count: usize| {
        let answers = answers(&sandbox, &vec!["items"; count]).unwrap();
        answers.last().unwrap().clone().unwrap()
    };
    assert_eq!(last(1_023), "1023");
    assert_eq!(last(1), "1024", "the same process");
    assert_eq!(last(1), "1", "another one");
    assert_eq!(last(1_024 * 2 + 5), "6");
}

#[test]
fn an_item_that_kills_its_process_is_the_only_one_that_crashes() {
    let sandbox = sandbox();
    for (does, how) in [
        ("abort", "SIGABRT"),
        ("panic", "exit status"),
        ("exit", "exit status: 0"),
        ("null", "SIGSEGV"),
        ("stack", "SIGABRT"),
        ("allocate", "SIGABRT"),
        ("socket", "SIGSYS"),
        ("file", "SIGSYS"),
        ("thread", "SIGSYS"),
        ("program", "SIGSYS"),
        ("kill", "SIGSYS"),
        ("code", "SIGSYS"),
        ("long", "a malformed reply"),
    ] {
        let answers = answers(&sandbox, &["before", does, "between", does, "after"]).unwrap();
        let others: Vec<&str> =
            answers.iter().filter_map(|answer| answer.as_deref().ok()).collect();
        assert_eq!(others, ["BEFORE", "BETWEEN", "AFTER"], "{does}: {answers:?}");
        for crash in [&answers[1], &answers[3]] {
            let said = crash.as_ref().unwrap_err();
            assert!(said.how.contains(how), "{does}: {said:?}");
        }
    }
}

#[test]
fn what_takes_too_much_processor_time_says_nothing_about_the_item() {
    let sandbox = sandbox();
    let error = answers(&sandbox, &["before", "hang", "after"]).unwrap_err();
    assert!(matches!(&error, SandboxError::Ended(how) if how.contains("SIGXCPU")), "{error}");
    assert_eq!(answers(&sandbox, &["next"]).unwrap(), [Ok("NEXT".to_owned())]);
}

#[test]
fn a_process_that_is_killed_from_outside_crashes_no_item() {
    let _alone = ALONE.lock().unwrap();
    let sandbox = sandbox();
    answers(&sandbox, &["first"]).unwrap();
    let own = std::process::id().to_string();
    let killed = Command::new("pkill").args(["-KILL", "-P", &own, "everytab-sandbo"]).status();
    assert!(killed.unwrap().success());
    let two = answers(&sandbox, &["second", "third"]).unwrap();
    assert_eq!(two, [Ok("SECOND".to_owned()), Ok("THIRD".to_owned())]);
}

#[test]
fn threads_have_items_performed_at_once() {
    let sandbox = sandbox();
    thread::scope(|scope| {
        for number in 0..4 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for round in 0..20 {
                    let item = format!("{number} in {round}");
                    let answer = answers(sandbox, &[&item, "abort", &item]).unwrap();
                    assert_eq!(answer[0], Ok(item.to_uppercase()));
                    assert_eq!(answer[0], answer[2]);
                    assert!(answer[1].is_err());
                }
            });
        }
    });
}

#[test]
fn a_program_that_does_not_serve_is_an_error() {
    for program in ["/bin/true", "/no/such/program"] {
        let sandbox = Sandbox::new(program, Vec::new());
        assert!(matches!(sandbox.confinement(), Err(SandboxError::Start(_))), "{program}");
        assert!(matches!(answers(&sandbox, &["x"]), Err(SandboxError::Start(_))), "{program}");
    }
}

#[test]
fn a_process_reports_how_it_is_sandboxed() {
    let confinement = sandbox().confinement().unwrap();
    let is_listed = std::fs::read_to_string("/sys/kernel/security/lsm")
        .is_ok_and(|modules| modules.contains("landlock"));
    assert!(!is_listed || confinement == Confinement::SeccompAndLandlock);
    println!("{confinement:?}");
}
