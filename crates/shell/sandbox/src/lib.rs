//! Runs a function on untrusted bytes in sandboxed child processes.
//!
//! A fault in a decoder may give an attacker's bytes control over its process. Such a process has
//! no access to anything: it is this same program, started again without environment and files. It
//! gives up the network, the file system and every system call except for computing ([`serve`]),
//! and gets items through a pipe, in batches ([`Sandbox`]).
//!
//! Invariants: if a process dies, the first item without a reply is retried alone, and counts as
//! crashed after it has killed two processes. If a process is killed from outside, or by the CPU
//! time limit, this does not count against the item. Replies from a process are not trusted to be
//! well formed.
//!
//! Does not depend on the type of items.

mod child;
mod confine;
mod frames;
mod process;
mod sandbox;

pub use child::{ProcessLimits, serve};
pub use confine::Confinement;
pub use sandbox::{Crash, Sandbox, SandboxError};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
