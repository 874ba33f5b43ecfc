//! The loop of a worker: lease, heartbeat, perform, complete.
//!
//! Must not know: what a job does.
