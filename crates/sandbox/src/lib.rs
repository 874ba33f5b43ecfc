//! Performs a function of bytes in processes of its own, which can do no harm.
//!
//! What decodes bytes of strangers may have a fault that gives these bytes the process. Such a
//! process holds nothing here: it is the same program, started anew without environment and files,
//! gives up network, file system and every system call but those that compute ([`serve`]), and gets
//! items over a pipe, in batches ([`Sandbox`]).
//!
//! Invariants: the first item without an answer when a process dies is tried again alone, and has
//! crashed when it has ended two processes by its own doing; a death by another hand, or by the
//! limit of processor time, is no statement about the item. Nothing that a process answers is
//! believed to be well formed.
//! Must not know: what an item is.

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
