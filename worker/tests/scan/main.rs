//! Whole scans by the real program: the same bytes however it is run, killed, stored and mended.
//!
//! Each test starts `everytab-worker` as a person or a unit file would, on a small internet on
//! loopback and a private Postgres, and looks only at what the program leaves: exit codes, lines,
//! objects. Everything waited for is bounded. Must not know the worker's modules.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed, and says where"
)]

mod archive;
mod bad_input;
mod ends;
mod gate;
mod kills;
mod outcomes;
mod over_the_wire;
mod places;
mod poison;
mod same_bytes;
mod setup;
