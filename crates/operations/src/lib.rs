//! What operators run: plan, backup, restore, takedown, gc, doctor, blocklist.
//!
//! Must not know: how a job does its work.
