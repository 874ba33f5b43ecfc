//! Tests the small internet as a client sees it. All tests are in one program, because linking
//! takes long.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod content;
mod faults_of_the_answer;
mod faults_of_the_wire;
mod graph_oracle;
mod graph_served;
mod program;
