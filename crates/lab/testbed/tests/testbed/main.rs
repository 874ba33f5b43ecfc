//! The small internet, asked as a client asks it. One program, for linking takes long.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod content;
mod faults_of_the_answer;
mod faults_of_the_wire;
mod graph_oracle;
mod graph_served;
mod program;
