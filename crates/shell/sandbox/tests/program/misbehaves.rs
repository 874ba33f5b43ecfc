//! The program for `tests/sandbox.rs`. Its sandboxed function misbehaves as each item specifies.
#![allow(clippy::disallowed_methods, clippy::panic, unsafe_code)]

use std::{fs, hint, net, process, thread, time::Duration};

use everytab_sandbox::{ProcessLimits, serve};

const LIMITS: ProcessLimits =
    ProcessLimits { address_space: 512 << 20, processor_time: Duration::from_secs(1) };

fn main() -> process::ExitCode {
    let mut items = 0;
    serve(LIMITS, move |item| {
        items += 1;
        let said = match item {
            b"items" => items.to_string(),
            b"abort" => process::abort(),
            b"panic" => panic!("as a decoder may"),
            b"exit" => process::exit(0),
            b"null" => read_null(),
            b"stack" => overflow(1).to_string(),
            b"hang" => loop {
                hint::spin_loop();
            },
            b"allocate" => vec![1_u8; 1 << 30].len().to_string(),
            b"socket" => format!("{:?}", net::TcpStream::connect("127.0.0.1:9")),
            b"file" => format!("{:?}", fs::read("/etc/hostname")),
            b"thread" => format!("{:?}", thread::spawn(|| 1).join().is_ok()),
            b"program" => format!("{:?}", process::Command::new("/bin/true").status()),
            b"kill" => signal_parent(),
            b"code" => executable_memory(),
            b"long" => "x".repeat(1 << 21),
            b"environment" => format!("{:?}", std::env::vars_os().count()),
            other => String::from_utf8_lossy(other).to_uppercase(),
        };
        said.into_bytes()
    })
}

#[allow(unconditional_recursion)]
fn overflow(depth: u64) -> u64 {
    let frame = hint::black_box([depth; 64]);
    overflow(depth + 1) + frame[3]
}

fn read_null() -> String {
    let null: *const u8 = hint::black_box(std::ptr::null());
    // SAFETY: not safe. The fault is intended.
    unsafe { null.read_volatile() }.to_string()
}

fn signal_parent() -> String {
    // SAFETY: the call only takes numbers. Signal 0 has no effect if the sandbox allows it.
    unsafe { libc::kill(libc::getppid(), 0) }.to_string()
}

fn executable_memory() -> String {
    let (flags, rights) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_EXEC);
    // SAFETY: this is a new mapping that nothing uses.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), 4_096, rights, flags, -1, 0) };
    format!("{memory:?}")
}
