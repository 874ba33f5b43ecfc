//! A whole scan on one machine: a private Postgres, worker processes and, for samples, the small
//! internet.
//!
//! Must not know: how a job does its work.
