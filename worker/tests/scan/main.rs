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
mod backup;
mod bad_input;
mod books;
mod chaos;
mod cloud;
mod dashboards;
mod drain;
mod ends;
mod gate;
mod guard;
mod idle;
mod instance_metadata;
mod kills;
mod migrating;
mod netns;
mod older_backup;
mod operator;
mod orders;
mod outcomes;
mod over_the_wire;
mod own_link;
mod picture;
mod places;
mod poison;
mod pooler;
mod public_source;
mod reconnects;
mod roles;
mod same_bytes;
mod scrape;
mod setup;
mod telemetry;
mod terminal;
mod wire;
mod zombie;
