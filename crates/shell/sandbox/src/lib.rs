//! Runs a function on untrusted bytes in sandboxed child processes, because a bug in a decoder may
//! let an attacker's bytes take over its process.
//!
//! The child is this same program, started again without environment and files. It gives up the
//! network, the file system and every system call except for computing ([`serve`]), and receives
//! items in batches through a pipe ([`Sandbox`]).
//!
//! Invariants: if a process dies, the first item without a reply is retried alone. An item counts
//! as crashed after it has killed two processes. A process that is killed from outside or exceeds
//! its CPU time limit does not count against the item. Replies are not trusted to be well formed.

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
